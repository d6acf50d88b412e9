#include "report/pages/odd_calls.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "analysis/moment/event_search.h"
#include "base/number_text.h"
#include "base/path_text.h"
#include "report/names/stack_text.h"
#include "tape/event.h"

namespace heaptape {
namespace {

std::string asked_for(std::uint64_t size) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return size == kMost ? "more bytes than there are numbers for" : count_of(size, "byte");
}

// "free", "delete[]".
std::string_view call_name(EventKind call) {
  constexpr std::string_view kOperator = "operator ";
  const std::string_view name = kind_name(call);
  return name.starts_with(kOperator) ? name.substr(kOperator.size()) : name;
}

// "releases 0x1000 by free", "reallocates 0x1000 to 50 bytes".
std::string releasing(const OddCall& call) {
  if (is_reallocation(call.call)) {
    return fmt::format("reallocates {:#x} to {}", call.address, asked_for(call.size));
  }
  return fmt::format("releases {:#x} by {}", call.address, call_name(call.call));
}

std::string failed_sentence(const OddCall& call) {
  std::string text = asked_text(call) + " failed";
  if (call.address != 0) text += fmt::format(" for {:#x}", call.address);
  if (call.error != 0) text += fmt::format(" ({})", std::strerror(static_cast<int>(call.error)));
  return text;
}

bool begins_with_operator(StackNames& names, StackId stack, std::string_view what) {
  const std::vector<FrameId> frames = names.frames_of(stack);
  return !frames.empty() && names.function(frames.front()).starts_with(what);
}

// What all lines of one sort have in common.
std::string line_begin(const OddLine& line) {
  const std::string blocks = count_of(line.count, "block");
  const char* const were = line.count == 1 ? "was" : "were";
  switch (line.sort) {
  case OddSort::ReleasedTwice: return fmt::format("{} {} released twice", blocks, were);
  case OddSort::InsideBlock:
    return count_of(line.count, "release") + (line.count == 1 ? " of an address" : " of addresses") + " inside a block";
  case OddSort::OnStack: return count_of(line.count, "release") + " of memory on a stack";
  case OddSort::InModule: return count_of(line.count, "release") + " of static memory";
  case OddSort::NotKnown: return count_of(line.count, "release") + " of what was not a live block of this tape";
  case OddSort::Mismatch:
    return fmt::format("{} from {} {} released by {}", blocks, family_name(line.first.call.family), were,
                       call_name(line.first.call.call));
  case OddSort::WrongSize: return fmt::format("{} {} released with another size than made", blocks, were);
  case OddSort::Failed: return fmt::format("{} failed", count_of(line.count, "allocation"));
  }
  return count_of(line.count, "odd call");
}

std::string function_of(StackNames& names, StackId stack) {
  const std::vector<FrameId> frames = names.frames_of(stack);
  if (frames.empty()) return {};
  Plumbing plumbing(names);
  return std::string(names.function(frames[charged_frame(plumbing, frames)]));
}

} // namespace

std::string asked_text(const OddCall& call) {
  return fmt::format("{} of {}", call_name(call.call), asked_for(call.size));
}

const char* odd_sort_name(OddSort sort) {
  switch (sort) {
  case OddSort::ReleasedTwice: return "double-free";
  case OddSort::InsideBlock: return "free-inside-block";
  case OddSort::OnStack: return "free-of-stack";
  case OddSort::InModule: return "free-of-static";
  case OddSort::NotKnown: return "free-of-unknown";
  case OddSort::Mismatch: return "mismatch";
  case OddSort::WrongSize: return "wrong-size";
  case OddSort::Failed: return "failed";
  }
  return "odd";
}

const char* family_name(Family family) {
  switch (family) {
  case Family::C: return "malloc";
  case Family::New: return "new";
  case Family::NewArray: return "new[]";
  case Family::Unknown: break;
  }
  return "elsewhere";
}

std::string odd_place(const OddCall& call) {
  return (is_event(call.kind) ? "event " : "after event ") + std::to_string(call.event);
}

std::string odd_sentence(const OddFinding& finding) {
  const OddCall& call = finding.call;
  if (finding.sort == OddSort::Failed) return failed_sentence(call);
  std::string text = releasing(call);
  switch (finding.sort) {
  case OddSort::ReleasedTwice: text += fmt::format(", which event {} already released", finding.other); break;
  case OddSort::InsideBlock: text += fmt::format(", which lies inside the block of event {}", finding.other); break;
  case OddSort::OnStack: text += fmt::format(", which lies on the stack of thread {}", finding.stack_of.value); break;
  case OddSort::InModule:
    text += fmt::format(", which lies in {} and is not a block", printable(base_name(finding.module->path)));
    break;
  case OddSort::Mismatch:
    text += fmt::format(", a block of {} that {} made (event {})", count_of(call.block_size, "byte"),
                        family_name(call.family), finding.other);
    break;
  case OddSort::WrongSize:
    text += fmt::format(" as {}, but event {} made it with {}", count_of(call.size, "byte"), finding.other,
                        count_of(call.block_size, "byte"));
    break;
  case OddSort::NotKnown:
  case OddSort::Failed: text += ", at which this tape knows of no block"; break;
  }
  if (call.kind == OddKind::Unfinished) text += "; the call never returned, or gave nothing";
  return text;
}

std::vector<OddFinding> without_other_runtimes(const TapeReader& tape, StackNames& names,
                                               std::vector<OddFinding> findings) {
  constexpr std::size_t kMostMakers = 200; // each is read from the tape
  std::map<std::pair<std::uint32_t, Family>, bool> known;
  std::size_t makers = 0;
  const auto is_of_other_runtime = [&](const OddFinding& finding) {
    const OddCall& call = finding.call;
    if (finding.sort != OddSort::Mismatch) return false;
    const auto [found, is_new] = known.try_emplace({call.stack.value, call.family}, false);
    if (!is_new) return found->second;
    if (family_of(call.call) == Family::C) {
      found->second = begins_with_operator(names, call.stack, "operator delete");
    } else if (call.family == Family::C && ++makers <= kMostMakers) {
      const std::optional<Event> maker = event_numbered(tape, call.maker);
      found->second = maker && begins_with_operator(names, maker->stack, "operator new");
    }
    return found->second;
  };
  std::erase_if(findings, is_of_other_runtime);
  return findings;
}

std::vector<std::pair<const char*, std::uint64_t>> odd_counts(const OddCalls& odd) {
  std::vector<std::pair<const char*, std::uint64_t>> counts{{"failed", 0},     {"not_live", 0},
                                                            {"mismatch", 0},   {"wrong_size", 0},
                                                            {"unfinished", 0}, {"left_out", odd.left_out}};
  for (const OddCall& call : odd.calls) {
    const auto kind = static_cast<std::size_t>(call.kind);
    if (kind >= 1 && kind < counts.size()) ++counts[kind - 1].second;
  }
  std::erase_if(counts, [](const auto& count) { return count.second == 0; });
  return counts;
}

std::string odd_counts_text(const OddCalls& odd) {
  std::string text;
  for (const auto& [name, count] : odd_counts(odd)) {
    const std::string_view which = name;
    text += text.empty() ? "" : ", ";
    text += which == "failed"       ? count_of(count, "failed allocation")
            : which == "not_live"   ? count_of(count, "release") + " of what was not a live block"
            : which == "mismatch"   ? count_of(count, "mismatched pair")
            : which == "wrong_size" ? count_of(count, "release") + " with another size"
            : which == "unfinished" ? count_of(count, "realloc") + " of no block"
                                    : with_separators(count) + " more that are only counted";
  }
  return text;
}

std::vector<OddLine> odd_lines(StackNames& names, const std::vector<OddFinding>& findings) {
  std::map<std::tuple<OddSort, Family, EventKind>, OddLine> by_sort;
  for (const OddFinding& finding : findings) {
    const bool paired = finding.sort == OddSort::Mismatch;
    const std::tuple key(finding.sort, paired ? finding.call.family : Family::C,
                         paired ? finding.call.call : EventKind::None);
    OddLine& line = by_sort[key];
    if (line.count++ == 0) {
      line.sort = finding.sort;
      line.first = finding;
    }
  }
  std::vector<OddLine> lines;
  StackText stacks(names);
  for (auto& [key, line] : by_sort) {
    line.sentence = line_begin(line) + "; ";
    if (line.count != 1) line.sentence += "first ";
    line.sentence += is_event(line.first.call.kind) ? "at " : "";
    line.sentence += odd_place(line.first.call);
    if (line.sort == OddSort::Failed) line.sentence += ", " + failed_sentence(line.first.call) + ",";
    line.sentence += " in " + stacks.site(line.first.call.stack);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<OddLine> odd_lines(const TapeView& view) {
  if (view.tape().odd_calls().calls.empty()) return {};
  return odd_lines(view.names(), without_other_runtimes(view.tape(), view.names(), odd_findings(view.tape())));
}

void write_odd_lines(JsonWriter& json, StackNames& names, const std::vector<OddLine>& lines) {
  json.begin_array();
  for (const OddLine& line : lines) {
    json.begin_object().field("sort", std::string_view(odd_sort_name(line.sort))).field("count", line.count);
    json.field("event", line.first.call.event).field("is_event", is_event(line.first.call.kind));
    json.field("function", std::string_view(function_of(names, line.first.call.stack)));
    json.field("sentence", std::string_view(line.sentence)).end_object();
  }
  json.end_array();
}

} // namespace heaptape
