#include "report/errors/sweep_list.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/number_text.h"

namespace heaptape {

bool SweepList::add(RunOutcome outcome, std::uint64_t number, const std::string& what, const std::string& call,
                    const std::string& stack) {
  ++counts_[static_cast<std::size_t>(outcome)];
  if (outcome == RunOutcome::SameStatus || outcome == RunOutcome::OtherStatus || outcome == RunOutcome::NotReached)
    return false;
  const std::string key = what + '\n' + stack;
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const auto& one) { return one.first == key; });
  if (known != known_.end()) {
    findings_[known->second].numbers.push_back(number);
    return false;
  }
  last_ = findings_.size();
  known_.emplace_back(key, last_);
  findings_.push_back({.outcome = outcome, .what = what, .call = call, .tape = {}, .numbers = {number}});
  return true;
}

std::uint64_t SweepList::runs() const {
  return std::accumulate(std::begin(counts_), std::end(counts_), std::uint64_t{0});
}

std::vector<std::uint64_t> numbers_to_try(std::uint64_t count, std::uint64_t most) {
  const std::uint64_t runs = std::min(count, most);
  const std::uint64_t gaps = runs > 1 ? runs - 1 : 1;
  // In two parts, so that no product is too large.
  const std::uint64_t step = count != 0 ? (count - 1) / gaps : 0, rest = count != 0 ? (count - 1) % gaps : 0;
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < runs; ++i) numbers.push_back(1 + i * step + i * rest / gaps);
  return numbers;
}

std::string ranges_text(const std::vector<std::uint64_t>& numbers, std::size_t most) {
  std::string text;
  std::size_t parts = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    if (parts++ == most) return text + fmt::format(" and {} more", with_separators(numbers.size() - i));
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(numbers[i]);
    if (last != i) text += (last == i + 1 ? ", " : "-") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string sweep_text(const SweepList& list, std::uint64_t counted) {
  constexpr std::size_t kParts = 12;
  std::string text = fmt::format(
      "{} with one of {} failing in each: {} ended as without a failure, {} with another exit status",
      count_of(list.runs(), "run"), count_of(counted, "allocation"),
      with_separators(list.count(RunOutcome::SameStatus)), with_separators(list.count(RunOutcome::OtherStatus)));
  const auto add = [&](RunOutcome outcome, const char* words) {
    if (list.count(outcome) != 0) text += fmt::format(", {} {}", with_separators(list.count(outcome)), words);
  };
  add(RunOutcome::Crashed, "crashed");
  add(RunOutcome::Hung, "did not end");
  add(RunOutcome::Errors, "went on with memory errors");
  add(RunOutcome::NotReached, "did not get so far");
  text += "\n";
  for (const SweepFinding& finding : list.findings()) {
    text += fmt::format("{} {}: {} after {}\n", finding.numbers.size() == 1 ? "allocation" : "allocations",
                        ranges_text(finding.numbers, kParts), finding.what, finding.call);
    if (!finding.tape.empty()) text += fmt::format("  {}\n", printable(finding.tape));
  }
  return text;
}

} // namespace heaptape
