#include "report/figures/worst.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace heaptape {
namespace {

struct Charged {
  std::vector<FrameId> frames;
  std::size_t at = 0; // in frames; == size: there are none
  Cost cost;
};

class Ranking {
public:
  Ranking(StackNames& names, const WorstOptions& options) : names_(names), plumbing_(names), options_(options) {}

  Worst rank(std::span<const StackCost> costs) {
    std::map<std::uint64_t, std::vector<Charged>> functions; // by name; one more than all for none
    Worst worst;
    for (const StackCost& cost : costs) {
      Charged charged{names_.frames_of(cost.stack), 0, cost.cost};
      charged.at = charged_frame(plumbing_, charged.frames);
      const bool none = charged.frames.empty();
      const std::uint64_t key = none ? ~std::uint64_t{0} : names_[charged.frames[charged.at]].function.value;
      functions[key].push_back(std::move(charged));
      worst.total += cost.cost;
    }
    for (auto& [key, stacks] : functions) worst.rows.push_back(row_of(stacks));
    std::stable_sort(worst.rows.begin(), worst.rows.end(),
                     [&](const WorstRow& a, const WorstRow& b) { return weight(a.cost) > weight(b.cost); });
    const auto is_small = [&](const WorstRow& row) {
      return static_cast<double>(weight(row.cost)) * 100 <
             options_.least_percent * static_cast<double>(weight(worst.total));
    };
    while (worst.rows.size() > options_.rows || (worst.rows.size() > 1 && is_small(worst.rows.back()))) {
      worst.others_cost += worst.rows.back().cost;
      ++worst.others;
      worst.rows.pop_back();
    }
    return worst;
  }

private:
  std::uint64_t weight(const Cost& cost) const { return measured(cost, options_.measure); }

  WorstRow row_of(std::vector<Charged>& stacks) {
    WorstRow row;
    for (const Charged& each : stacks) row.cost += each.cost;
    row.has_frame = !stacks.front().frames.empty();
    if (!row.has_frame) return row;
    row.frame = heaviest(stacks);
    if (options_.nouns) row.noun = noun_of(stacks);
    row.lines = lines_of(stacks, names_[row.frame].file);
    while (row.callers.size() < options_.callers) {
      std::erase_if(stacks, [&](Charged& each) { return !go_outwards(each); });
      if (stacks.empty()) break;
      row.callers.push_back(heaviest(stacks));
      const NameId chosen = names_[row.callers.back()].function;
      std::erase_if(stacks, [&](const Charged& each) { return names_[each.frames[each.at]].function != chosen; });
    }
    return row;
  }

  // What two thirds of the blocks are; "block" when there is no such thing.
  std::string_view noun_of(const std::vector<Charged>& stacks) {
    std::map<std::string_view, std::uint64_t> nouns;
    std::uint64_t all = 0;
    for (const Charged& each : stacks) {
      nouns[made_in(plumbing_, each.frames)] += each.cost.blocks;
      all += each.cost.blocks;
    }
    for (const auto& [noun, blocks] : nouns)
      if (blocks * 3 >= all * 2) return noun;
    return "block";
  }

  std::vector<LineCost> lines_of(const std::vector<Charged>& stacks, NameId file) const {
    std::unordered_map<std::uint32_t, Cost> by_line;
    for (const Charged& each : stacks) {
      const NamedFrame& frame = names_[each.frames[each.at]];
      if (frame.line != 0 && frame.file == file) by_line[frame.line] += each.cost;
    }
    return lines_by_cost(by_line, options_.measure);
  }

  // The next caller that is another function, and no plumbing.
  bool go_outwards(Charged& stack) {
    const FrameId from = stack.frames[stack.at];
    while (++stack.at < stack.frames.size()) {
      const FrameId frame = stack.frames[stack.at];
      if (starts_thread(names_, frame)) return false;
      if (names_[frame].function != names_[from].function && !plumbing_.between(from, frame)) return true;
    }
    return false;
  }

  // The function that most is charged to, and of its frames the heaviest.
  FrameId heaviest(const std::vector<Charged>& stacks) const {
    std::map<NameId, Cost> functions;
    std::map<FrameId, Cost> frames;
    for (const Charged& each : stacks) {
      functions[names_[each.frames[each.at]].function] += each.cost;
      frames[each.frames[each.at]] += each.cost;
    }
    const auto function = std::max_element(functions.begin(), functions.end(), [&](const auto& a, const auto& b) {
      return weight(a.second) < weight(b.second);
    });
    FrameId best;
    std::uint64_t most = 0;
    bool any = false;
    for (const auto& [frame, cost] : frames) {
      if (names_[frame].function != function->first || (any && weight(cost) <= most)) continue;
      best = frame;
      most = weight(cost);
      any = true;
    }
    return best;
  }

  StackNames& names_;
  Plumbing plumbing_;
  const WorstOptions& options_;
};

} // namespace

std::unordered_map<NameId, Cost> costs_by_function(StackNames& names, std::span<const StackCost> costs) {
  Plumbing plumbing(names);
  std::unordered_map<NameId, Cost> sums;
  for (const StackCost& cost : costs) {
    const std::vector<FrameId> frames = names.frames_of(cost.stack);
    if (!frames.empty()) sums[names[frames[charged_frame(plumbing, frames)]].function] += cost.cost;
  }
  return sums;
}

Worst worst_functions(StackNames& names, std::span<const StackCost> costs, const WorstOptions& options) {
  return Ranking(names, options).rank(costs);
}

} // namespace heaptape
