#include "report/contents/root_owners.h"

#include <algorithm>
#include <tuple>

#include "analysis/memory/word_batch.h"

namespace heaptape {
namespace {

class OwnerFinder {
public:
  OwnerFinder(SnapshotHeap& heap, ProgramSymbols& symbols) : heap_(heap), symbols_(symbols) {}

  std::vector<OwnedRoot> run() {
    const HeapView view = heap_.view();
    const std::span<const RootRange> ranges = view.roots.ranges();
    for (std::uint32_t range = 0; range < ranges.size(); ++range) {
      if (is_weak(ranges[range].kind)) continue;
      variable_end_ = 0;
      WordBatch batch(
          view.ranks, view.graph.options().form, [&](std::uint64_t address, std::uint32_t block, std::uint64_t offset) {
            const auto inside = static_cast<std::uint32_t>(std::min<std::uint64_t>(offset, ~std::uint32_t{}));
            if (view.roots.is_borrowed(place_in(block, inside))) return;
            roots_.push_back({owner_at(ranges[range], range, address), block});
            if (roots_.size() >= most_) shrink();
          });
      for_each_root_word(ranges.subspan(range, 1), view.threads, view.image, view.ranks,
                         [&](std::uint32_t, std::uint64_t address, std::uint64_t word) { batch.look(word, address); });
      batch.drain();
    }
    shrink();
    return std::move(roots_);
  }

  std::vector<RootOwner> owners{};

private:
  // Words come by address: as long as they lie in the variable of the one before, they have its owner.
  std::uint32_t owner_at(const RootRange& range, std::uint32_t number, std::uint64_t address) {
    if (address < variable_end_) return owner_;
    variable_end_ = address + 1;
    std::string symbol;
    if (range.kind == RootKind::Globals) {
      if (const auto found = symbols_.at(address, heap_.memory().facts().time_us)) {
        symbol = found->name;
        variable_end_ = std::max(variable_end_, found->address + found->symbol->size);
      }
    }
    return owner_ = number_of({std::move(symbol), number}, range);
  }
  // What a module has without names is one owner, wherever it lies; of variables with names each.
  std::uint32_t number_of(RootOwner owner, const RootRange& range) {
    const std::uint32_t place = range.kind == RootKind::Globals ? name_of(range) : owner.range;
    const auto [found, is_new] =
        numbers_.try_emplace({range.kind, place, owner.symbol}, static_cast<std::uint32_t>(owners.size()));
    if (is_new) owners.push_back(std::move(owner));
    return found->second;
  }
  std::uint32_t name_of(const RootRange& range) const {
    const std::vector<MappedRange>& regions = heap_.memory().facts().regions;
    return range.region < regions.size() ? regions[range.region].name : range.region;
  }
  void shrink() {
    std::ranges::sort(roots_);
    roots_.erase(std::unique(roots_.begin(), roots_.end()), roots_.end());
    most_ = std::max(most_, 2 * roots_.size());
  }

  SnapshotHeap& heap_;
  ProgramSymbols& symbols_;
  std::map<std::tuple<RootKind, std::uint32_t, std::string>, std::uint32_t> numbers_;
  std::uint64_t variable_end_ = 0;
  std::uint32_t owner_ = 0; // of the word before
  std::vector<OwnedRoot> roots_;
  std::size_t most_ = std::size_t{1} << 20; // before the same ones are taken out
};

} // namespace

RootOwners RootOwners::of(SnapshotHeap& heap, ProgramSymbols& symbols) {
  OwnerFinder finder(heap, symbols);
  const std::vector<OwnedRoot> roots = finder.run();
  RootOwners made;
  made.owners_ = std::move(finder.owners);
  made.dominators_ = Dominators::of(heap.view(), roots);
  return made;
}

const RootOwner* RootOwners::owner_of(std::uint32_t node) const {
  const auto found = std::ranges::lower_bound(dominators_.owners(), node, {}, &Dominators::OwnerNode::node);
  return found != dominators_.owners().end() && found->node == node ? &owners_[found->owner] : nullptr;
}

std::uint32_t RootOwners::node_of_variable(SnapshotHeap& heap, std::string_view symbol, std::uint64_t address) const {
  const std::span<const RootRange> ranges = heap.roots().ranges();
  const auto range_of = std::ranges::find_if(ranges, [&](const RootRange& range) {
    return range.kind == RootKind::Globals && range.begin <= address && address < range.end;
  });
  if (range_of == ranges.end()) return Dominators::kNone;
  const std::string where = root_text(heap.memory(), *range_of, address);
  for (const Dominators::OwnerNode& each : dominators_.owners()) {
    const RootOwner& owner = owners_[each.owner];
    const RootRange& range = ranges[owner.range];
    if (owner.symbol == symbol && range.kind == RootKind::Globals && root_text(heap.memory(), range, 0) == where)
      return each.node;
  }
  return Dominators::kNone;
}

} // namespace heaptape
