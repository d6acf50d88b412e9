#include "report/changes/change_holders.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/contents/root_names.h"
#include "report/contents/root_owners.h"

namespace heaptape {
namespace {

constexpr std::size_t kMostWays = 3;       // that are named of a block that is held in several
constexpr std::size_t kMostReferrers = 64; // that are looked at for them
constexpr std::size_t kMostThrough = 6;    // kinds of blocks on the way
constexpr std::uint32_t kMostSteps = 64;   // up a tree
constexpr std::uint32_t kMostStepsToRoot = 10'000;

class HolderFinder {
public:
  HolderFinder(const TapeReader& tape, SnapshotHeap& heap, const BlockTypes& types, ProgramSymbols& symbols,
               const HoldersQuestion& question)
      : tape_(tape), heap_(heap), view_(heap.view()), types_(types), symbols_(symbols), question_(question),
        owners_(RootOwners::of(heap, symbols)), dominators_(owners_.dominators()),
        tree_(RetainedTree::of(dominators_, heap.ranks(), tree_question())) {}

  NewBlockHolders run() {
    const std::vector<NewHolding> all = new_holdings(view_, dominators_, tree_, question_.blocks);
    std::vector<HoldersOfRow> rows;
    std::vector<const NewHolding*> shown;
    for (const std::uint32_t what : question_.wanted) {
      const auto first = std::ranges::lower_bound(all, what, {}, &NewHolding::what);
      const auto last = std::ranges::upper_bound(all, what, {}, &NewHolding::what);
      const auto count = static_cast<std::size_t>(last - first);
      HoldersOfRow& row = rows.emplace_back();
      row.more = count - std::min(count, question_.most);
      for (std::size_t i = 0; i < std::min(count, question_.most); ++i) {
        const NewHolding& holding = first[static_cast<std::ptrdiff_t>(i)];
        shown.push_back(&holding);
        row.list.push_back(words_of(holding));
      }
    }
    add_places(shown, rows);
    add_ways(shown, rows);
    return {std::move(rows), sums_of(all)};
  }

private:
  RetainedQuestion tree_question() {
    return {.kind_of = types_.by_block(),
            .is_type = [this](std::uint32_t kind) { return types_[kind].is_known(); },
            .holder_of = [this](std::uint32_t node) { return root_number(node); }};
  }
  // Above all numbers of types.
  std::uint32_t root_number(std::uint32_t node) {
    const auto [place, is_new] = root_numbers_.try_emplace(root_words(tape_, heap_, owners_, node),
                                                           static_cast<std::uint32_t>(types_.size() + roots_.size()));
    if (is_new) roots_.push_back(place->first);
    return place->second;
  }
  const RetainedGroup& group(std::uint32_t number) const { return tree_.groups()[number]; }
  const std::string& root_above(std::uint32_t number) const {
    while (!group(number).is_root() && number != 0)
      number = group(number).parent; // towards the first, which is its own parent
    return roots_[group(number).kind - types_.size()];
  }
  std::string kind_words(const BlockType& type) const {
    if (type.is_known()) return printable(type.name);
    return type.source == TypeSource::Function ? "block of " + printable(type.name.substr(1, type.name.size() - 2))
                                               : std::string("block");
  }

  std::vector<RootSum> sums_of(const std::vector<NewHolding>& all) const {
    std::map<std::string, BlockSum> by_root;
    for (const NewHolding& holding : all) {
      BlockSum& sum = by_root[holding.group == NewHolding::kNone ? std::string() : root_above(holding.first)];
      sum.blocks += holding.blocks;
      sum.bytes += holding.bytes;
    }
    std::vector<RootSum> sums;
    for (const auto& [root, held] : by_root) sums.push_back({root, held});
    std::ranges::stable_sort(sums, std::ranges::greater(), [](const RootSum& sum) { return sum.held.bytes; });
    return sums;
  }

  HeldBy words_of(const NewHolding& holding) const {
    HeldBy words;
    words.held = {holding.blocks, holding.bytes};
    words.example = heap_.ranks().begin(holding.example);
    words.is_lost = holding.group == NewHolding::kNone;
    if (words.is_lost) return words;
    const RetainedGroup& holder = group(group(holding.first).parent);
    words.root = root_above(holding.first);
    if (!holder.is_root()) {
      words.holder = kind_words(types_[holder.kind]);
      // Blocks that hang on older ones of their kind have these as holders: the group's only block is above them all.
      const bool holds_all = holding.holder != NewHolding::kNone &&
                             tree_.group_of(dominators_.node_of(holding.holder)) == group(holding.first).parent;
      const std::uint32_t block = holds_all            ? holding.holder
                                  : holder.blocks == 1 ? dominators_.block_of(holder.largest)
                                                       : NewHolding::kNone;
      if (block != NewHolding::kNone) words.holder_at = heap_.ranks().begin(block);
    }
    for (std::uint32_t at = holding.group; at != holding.first && at != 0;) {
      at = group(at).parent;
      if (group(at).is_root()) break; // it was taken together with blocks elsewhere
      words.through.push_back(kind_words(types_[group(at).kind]));
      if (words.through.size() == kMostThrough) break;
    }
    std::ranges::reverse(words.through);
    return words;
  }

  void add_places(const std::vector<const NewHolding*>& shown, std::vector<HoldersOfRow>& rows) {
    std::vector<std::uint32_t> firsts;
    for (const NewHolding* const holding : shown)
      if (holding->first != NewHolding::kNone) firsts.push_back(holding->first);
    std::ranges::sort(firsts);
    firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
    std::vector<HeldAt> places = held_at(view_, dominators_, tree_, question_.blocks.is_new, firsts);
    add_places_in_variables(firsts, places);
    std::size_t next = 0;
    for (HoldersOfRow& row : rows) {
      for (HeldBy& words : row.list) {
        const std::uint32_t first = shown[next++]->first;
        if (words.is_lost || words.root == kHeldInManyWays) continue;
        words.at = places[static_cast<std::size_t>(std::ranges::lower_bound(firsts, first) - firsts.begin())];
      }
    }
  }
  // Where in a variable the words lie that lead to the first new blocks.
  void add_places_in_variables(const std::vector<std::uint32_t>& firsts, std::vector<HeldAt>& places) {
    for (const RootWord& word : heap_.roots().words()) {
      const std::uint32_t node = dominators_.node_of(word.block);
      if (node == Dominators::kNone || !question_.blocks.is_new[word.block]) continue;
      const RootOwner* const owner = owners_.owner_of(dominators_.dominator(node));
      const std::uint32_t number = tree_.group_of(node);
      const auto found = std::ranges::lower_bound(firsts, number);
      if (owner == nullptr || owner->symbol.empty() || found == firsts.end() || *found != number) continue;
      if (heap_.roots().ranges()[word.range].kind != RootKind::Globals) continue;
      const auto symbol = symbols_.at(word.address, heap_.memory().facts().time_us);
      if (!symbol || symbol->name != owner->symbol) continue;
      HeldAt& at = places[static_cast<std::size_t>(found - firsts.begin())];
      at.lowest = std::min(at.lowest, word.address - symbol->address);
      at.highest = std::max(at.highest, word.address - symbol->address);
    }
  }

  // The block below the root that holds this one; kNone: it is far away.
  std::uint32_t topmost(std::uint32_t block) const {
    std::uint32_t node = dominators_.node_of(block);
    for (std::uint32_t i = 0; i < kMostStepsToRoot; ++i) {
      const std::uint32_t above = dominators_.dominator(node);
      if (above == Dominators::kRoot) return dominators_.block_of(node);
      node = above;
    }
    return Dominators::kNone;
  }
  // Of what no variable holds alone: what leads there.
  void add_ways(const std::vector<const NewHolding*>& shown, std::vector<HoldersOfRow>& rows) {
    std::vector<std::pair<HeldBy*, std::uint32_t>> asked;
    std::size_t next = 0;
    for (HoldersOfRow& row : rows) {
      for (HeldBy& words : row.list) {
        const NewHolding& holding = *shown[next++];
        if (words.root != kHeldInManyWays) continue;
        if (const std::uint32_t block = topmost(holding.outermost); block != Dominators::kNone)
          asked.emplace_back(&words, block);
      }
    }
    std::vector<std::uint32_t> blocks;
    for (const auto& [words, block] : asked) blocks.push_back(block);
    std::ranges::sort(blocks);
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    const std::vector<std::vector<std::uint32_t>> referrers = referrers_of(view_, blocks, kMostReferrers);
    for (const auto& [words, block] : asked) {
      const auto place = static_cast<std::size_t>(std::ranges::lower_bound(blocks, block) - blocks.begin());
      words->ways = ways_to(block, referrers[place]);
    }
  }
  std::vector<std::string> ways_to(std::uint32_t block, const std::vector<std::uint32_t>& referrers) {
    std::vector<std::string> ways;
    const auto add = [&](std::string way) {
      if (ways.size() < kMostWays && std::ranges::find(ways, way) == ways.end()) ways.push_back(std::move(way));
    };
    for (const RootWord& word : heap_.roots().words()) {
      if (word.block != block || heap_.roots().is_weak(word)) continue;
      const RootRange& range = heap_.roots().ranges()[word.range];
      const auto symbol =
          range.kind == RootKind::Globals ? symbols_.at(word.address, heap_.memory().facts().time_us) : std::nullopt;
      add(symbol ? printable(symbol->name) : root_group_text(tape_, heap_.memory(), range));
    }
    const std::uint32_t own = dominators_.node_of(block);
    for (const std::uint32_t referrer : referrers) {
      const std::uint32_t node = dominators_.node_of(referrer);
      if (node == Dominators::kNone || holds(own, node) || tree_.group_of(node) == tree_.group_of(own)) continue;
      const std::string& root = root_above(tree_.group_of(node));
      add(kind_words(types_.of_block(referrer)) + (root == kHeldInManyWays ? "" : " in " + root));
    }
    return ways;
  }
  // Whether the first node is the other or above it, as far as that can be seen from nearby.
  bool holds(std::uint32_t above, std::uint32_t node) const {
    for (std::uint32_t i = 0; i < kMostSteps && node > above; ++i) node = dominators_.dominator(node);
    return node == above;
  }

  const TapeReader& tape_;
  SnapshotHeap& heap_;
  const HeapView view_;
  const BlockTypes& types_;
  ProgramSymbols& symbols_;
  const HoldersQuestion& question_;
  std::vector<std::string> roots_{};
  std::map<std::string, std::uint32_t> root_numbers_{};
  RootOwners owners_;
  const Dominators& dominators_;
  RetainedTree tree_;
};

} // namespace

NewBlockHolders holders_of(const TapeReader& tape, SnapshotHeap& heap, const BlockTypes& types, ProgramSymbols& symbols,
                           const HoldersQuestion& question) {
  return HolderFinder(tape, heap, types, symbols, question).run();
}

} // namespace heaptape
