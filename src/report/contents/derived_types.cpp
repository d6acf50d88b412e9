#include "report/contents/derived_types.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <span>
#include <unordered_map>

#include "analysis/memory/block_walk.h"
#include "analysis/memory/word_batch.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kFarthestField = 1024; // in a block
constexpr std::uint64_t kFarthestStart =
    64;                                // behind the start of the block that a field leads to, for a header in front
constexpr std::uint32_t kRarest = 100; // a field that fewer than one in so many blocks of the type use is an accident

// A reference from a field of a known type to a block that is not known.
struct Hit {
  std::uint32_t block = 0, field = 0;
  friend auto operator<=>(const Hit&, const Hit&) = default;
};

class Search {
public:
  Search(const HeapView& heap, const DeriveFrom& from) : heap_(heap), from_(from) {}

  DerivedTypes run() { return keep_likely(choose(find_hits())); }

private:
  bool is_known(std::uint32_t block) const { return from_.type_of[block] != DeriveFrom::kNotKnown; }
  bool leads_on(std::uint32_t block) const {
    if (!is_known(block) || from_.type_of[block] < from_.first_type || from_.types[from_.type_of[block]].is_end)
      return false;
    return std::ranges::any_of(heap_.graph.targets(block), [&](std::uint32_t to) { return !is_known(to); });
  }

  std::uint64_t key_of(std::uint32_t type, std::uint64_t offset) const {
    const bool is_item = from_.types[type].is_array || offset > kFarthestField;
    return std::uint64_t{type} << 32 | (is_item ? BlockField::kItems : offset);
  }
  std::uint32_t number_of(std::uint64_t key) {
    const auto [found, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(made_.fields.size()));
    if (is_new) made_.fields.push_back({static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key)});
    return found->second;
  }

  std::vector<Hit> find_hits() {
    std::vector<Hit> hits;
    const auto hit = [&](std::uint64_t key, std::uint32_t to, std::uint64_t inside) {
      const bool certain = from_.types[key >> 32].certain;
      if (!is_known(to) && inside <= (certain ? 0 : kFarthestStart)) hits.push_back({to, number_of(key)});
    };
    WordBatch batch(heap_.ranks, heap_.graph.options().form, hit);
    MemoryCursor cursor(heap_.image);
    walk_blocks(
        cursor, heap_.ranks, 0, heap_.ranks.size(), [&](std::uint32_t block) { return leads_on(block); },
        [&](std::uint32_t block, std::uint64_t address, std::span<const std::byte> bytes) {
          const std::uint64_t begin = heap_.ranks.begin(block);
          const std::uint32_t type = from_.type_of[block];
          batch.look_at_all(address, bytes, [&](std::uint64_t word) { return key_of(type, word - begin); });
          return true;
        });
    batch.drain();
    std::ranges::sort(hits);
    return hits;
  }

  bool is_certain(const Hit& hit) const { return from_.types[made_.fields[hit.field].type].certain; }

  // For each block a field that is certain, or that from which most references come if these are at least half of all.
  std::vector<Hit> choose(const std::vector<Hit>& hits) const {
    TableVector<std::uint32_t> references(heap_.ranks.size());
    for (std::uint32_t edge = 0; edge < heap_.graph.edges(); ++edge) ++references[heap_.graph.target(edge)];
    std::vector<Hit> chosen;
    for (auto hit = hits.begin(); hit != hits.end();) {
      const Hit* best = nullptr;
      std::ptrdiff_t most = 0;
      for (const std::uint32_t block = hit->block; hit != hits.end() && hit->block == block;) {
        const auto behind = std::find_if(hit, hits.end(), [&](const Hit& each) { return each != *hit; });
        if (best == nullptr || is_certain(*hit) || (behind - hit > most && !is_certain(*best))) {
          most = behind - hit;
          best = &*hit;
        }
        hit = behind;
      }
      if (is_certain(*best) || static_cast<std::uint64_t>(most) * 2 >= references[best->block]) chosen.push_back(*best);
    }
    return chosen;
  }

  // Leaves out what hangs on fields that only few blocks have, or on which hang blocks of different kinds.
  DerivedTypes keep_likely(const std::vector<Hit>& chosen) {
    std::vector<std::uint32_t> blocks_of_type(from_.types.size());
    for (const std::uint32_t type : from_.type_of)
      if (type != DeriveFrom::kNotKnown) ++blocks_of_type[type];
    std::vector<std::uint32_t> users(made_.fields.size());
    std::unordered_map<std::uint64_t, std::uint32_t> of_kind; // by field and kind
    const auto kind = [&](const Hit& hit) { return std::uint64_t{hit.field} << 32 | from_.kind_of[hit.block]; };
    for (const Hit& hit : chosen) {
      ++users[hit.field];
      ++of_kind[kind(hit)];
    }
    for (const Hit& hit : chosen) {
      const BlockField& field = made_.fields[hit.field];
      if (is_certain(hit)) {
        made_.blocks.emplace_back(hit.block, hit.field);
        continue;
      }
      const std::uint32_t having = blocks_of_type[field.type];
      if (users[hit.field] < (having == 1 ? 1 : 2) || users[hit.field] < having / kRarest) continue;
      const bool alike = of_kind[kind(hit)] * 5 >= users[hit.field] * 4;
      if (alike || from_.types[field.type].mixed) made_.blocks.emplace_back(hit.block, hit.field);
    }
    return std::move(made_);
  }

  const HeapView& heap_;
  const DeriveFrom& from_;
  DerivedTypes made_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_; // of fields, by type and offset
};

} // namespace

DerivedTypes derive_types(const HeapView& heap, const DeriveFrom& from) { return Search(heap, from).run(); }

} // namespace heaptape
