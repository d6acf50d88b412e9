#include "report/leaks/leak_holders.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

namespace heaptape {
namespace {

constexpr std::string_view kOther = "what was released later, or is held in ways that are not seen";

// For each block the one that a root leads to and through which it is reached.
std::vector<std::uint32_t> first_blocks(const ShortestPaths& paths, std::uint32_t count) {
  std::vector<std::uint32_t> first(count, BlockRanks::kNone);
  std::vector<std::uint32_t> way;
  for (std::uint32_t block = 0; block < count; ++block) {
    std::uint32_t at = block;
    for (; first[at] == BlockRanks::kNone; at = paths.before(at)) {
      way.push_back(at);
      if (paths.before(at) == at || paths.before(at) == BlockRanks::kNone) break;
    }
    const std::uint32_t found = first[at] != BlockRanks::kNone ? first[at] : at;
    for (const std::uint32_t each : way) first[each] = found;
    way.clear();
  }
  return first;
}

// Registers of one thread are one holder, and so is a stack; a variable is named by its symbol.
std::string holder_name(SnapshotMemory& memory, ProgramSymbols& symbols, const RootRange& range, const RootWord& word) {
  const std::string where = root_text(memory, range, word.address);
  if (range.kind == RootKind::Registers)
    return "registers" + where.substr(std::min(where.size(), where.find(" of thread")));
  if (range.kind != RootKind::Globals) return where;
  const auto symbol = symbols.at(word.address, memory.facts().time_us);
  return symbol ? symbol->name + " (" + where + ")" : where;
}

std::vector<LeakHolder> by_bytes(const std::map<std::string, LeakTotals>& sums) {
  std::vector<LeakHolder> list;
  for (const auto& [root, held] : sums) list.push_back({root, held});
  std::ranges::stable_sort(list, std::greater(), [](const LeakHolder& each) { return each.held.bytes; });
  return list;
}

} // namespace

LeakHolders leak_holders(SnapshotHeap& heap, const Reachability& reach, ProgramSymbols& symbols) {
  // The same choice as that of a path: strong roots before weak ones, then words that lead to the start.
  std::unordered_map<std::uint32_t, const RootWord*> root_of;
  const auto rank = [&](const RootWord& word) { return std::pair(heap.roots().is_weak(word), word.offset != 0); };
  for (const RootWord& word : heap.roots().words()) {
    const RootWord*& best = root_of[word.block];
    if (best == nullptr || rank(word) < rank(*best)) best = &word;
  }
  const std::uint32_t count = heap.ranks().size();
  const std::vector<std::uint32_t> first = first_blocks(heap.paths(), count);
  std::unordered_map<std::uint32_t, LeakTotals> all, weak; // by first block
  for (std::uint32_t block = 0; block < count; ++block) {
    if (reach.class_of(block) != LeakClass::Reachable) continue;
    const auto add = [&](LeakTotals& sum) {
      ++sum.blocks;
      sum.bytes += heap.ranks().bytes(block);
    };
    add(all[first[block]]);
    if (reach.only_from_stacks(block)) add(weak[first[block]]);
  }
  const auto named = [&](const std::unordered_map<std::uint32_t, LeakTotals>& sums) {
    std::map<std::string, LeakTotals> by_name;
    for (const auto& [block, held] : sums) {
      const auto root = root_of.find(block);
      LeakTotals& sum =
          by_name[root == root_of.end()
                      ? std::string(kOther)
                      : holder_name(heap.memory(), symbols, heap.roots().ranges()[root->second->range], *root->second)];
      sum.blocks += held.blocks;
      sum.bytes += held.bytes;
    }
    return by_bytes(by_name);
  };
  return {named(all), named(weak)};
}

} // namespace heaptape
