#include "report/errors/failures.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/signal_name.h"
#include "report/pages/odd_calls.h"

namespace heaptape {
namespace {

// The number at the begin of a text, which goes on with what follows it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

// "allocation 17 failed on purpose" (recorder/check/failing.cpp).
std::optional<std::uint64_t> number_of_failed(std::string_view text) {
  constexpr std::string_view kBegin = "allocation ";
  if (!text.starts_with(kBegin)) return std::nullopt;
  text.remove_prefix(kBegin.size());
  const std::optional<std::uint64_t> number = take_number(text);
  return text == " failed on purpose" ? number : std::nullopt;
}

// "40 allocations could have failed, 1 did": both numbers.
std::optional<std::pair<std::uint64_t, std::uint64_t>> numbers_at_end(std::string_view text) {
  constexpr std::string_view kMiddle = " allocations could have failed, ";
  const std::optional<std::uint64_t> counted = take_number(text);
  if (!counted || !text.starts_with(kMiddle)) return std::nullopt;
  text.remove_prefix(kMiddle.size());
  const std::optional<std::uint64_t> failed = take_number(text);
  if (!failed || text != " did") return std::nullopt;
  return std::pair(*counted, *failed);
}

} // namespace

Failures find_failures(const TapeReader& tape, const std::vector<Mark>& marks) {
  Failures found;
  for (const Mark& mark : marks) {
    if (mark.kind != MarkKind::Text) continue;
    if (const auto number = number_of_failed(mark.name)) {
      found.failures.push_back({.number = *number,
                                .stack = mark.stack,
                                .call = {.event = mark.event, .time_us = mark.time_us, .thread = mark.thread}});
    } else if (const auto numbers = numbers_at_end(mark.name)) {
      found.counted = numbers->first;
      found.failed = numbers->second;
    }
  }
  found.failed = std::max<std::uint64_t>(found.failed, found.failures.size());
  // The note comes right before the call that it speaks of.
  const std::vector<OddCall>& calls = tape.odd_calls().calls;
  std::size_t from = 0;
  for (Failure& failure : found.failures) {
    constexpr std::size_t kMostLookedAt = 1000;
    while (from < calls.size() && calls[from].time_us < failure.call.time_us) ++from;
    for (std::size_t i = from; i < calls.size() && i < from + kMostLookedAt; ++i) {
      const OddCall& call = calls[i];
      if (call.kind != OddKind::Failed || call.thread != failure.call.thread || call.stack != failure.stack) continue;
      failure.call = call;
      break;
    }
  }
  return found;
}

Failures find_failures(const TapeView& view) { return find_failures(view.tape(), view.marks()); }

std::string failure_text(StackText& stacks, const Failure& failure) {
  return (failure.call.size != 0 ? asked_text(failure.call) : "a call") + " in " + stacks.site(failure.stack);
}

std::string failures_text(StackText& stacks, const Failures& failures, std::size_t rows) {
  const std::string of = failures.counted ? " of " + with_separators(*failures.counted) : "";
  if (failures.failed == 0)
    return "no allocation failed on purpose" +
           (failures.counted ? fmt::format("; {} could have", with_separators(*failures.counted)) : "");
  if (failures.failures.size() == 1 && failures.failed == 1) {
    const Failure& only = failures.failures.front();
    return fmt::format("1 allocation failed on purpose: {} (allocation {}{})", failure_text(stacks, only),
                       with_separators(only.number), of);
  }
  std::string text = fmt::format("{}{} failed on purpose:", count_of(failures.failed, "allocation"), of);
  const std::size_t shown = std::min(rows, failures.failures.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Failure& failure = failures.failures[i];
    text += fmt::format("\n  allocation {}: {}", with_separators(failure.number), failure_text(stacks, failure));
  }
  if (shown < failures.failed) text += fmt::format("\n  and {} more", with_separators(failures.failed - shown));
  return text;
}

std::string ending_text(const std::optional<Summary>& summary) {
  if (summary) {
    switch (summary->ending) {
    case Ending::Exited: return fmt::format("the program went on and exited with status {}", summary->ending_detail);
    case Ending::Killed: return "the program died of " + signal_name(summary->ending_detail);
    case Ending::Replaced: return "the program went on and became another one (exec)";
    case Ending::CollectorStopped:
    case Ending::Unknown: break;
    }
  }
  return "how the program ended is not known";
}

} // namespace heaptape
