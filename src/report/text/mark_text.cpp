#include "report/text/mark_text.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include "base/number_text.h"

namespace heaptape {
namespace {

std::vector<Mark> of_kind(const std::vector<Mark>& marks, MarkKind kind) {
  std::vector<Mark> found;
  std::copy_if(marks.begin(), marks.end(), std::back_inserter(found),
               [&](const Mark& mark) { return mark.kind == kind; });
  return found;
}

std::string value_text(const Mark& mark) {
  return mark.value == MarkValue::Integer ? std::to_string(mark.integer) : fmt::format("{}", mark.real);
}

} // namespace

std::string_view mark_kind_name(MarkKind kind) {
  switch (kind) {
  case MarkKind::Mark: return "mark";
  case MarkKind::Snapshot: return "snapshot";
  case MarkKind::Text: return "text";
  case MarkKind::Number: return "number";
  case MarkKind::CheckPoint: return "check point";
  case MarkKind::ScopeBegin: return "scope begin";
  case MarkKind::ScopeEnd: return "scope end";
  }
  return "mark"; // of a later version
}

std::string mark_words(const Mark& mark) {
  std::string words = mark.name.empty() ? "(no name)" : printable(mark.name);
  if (mark.kind == MarkKind::Number && mark.value != MarkValue::None) words += " = " + value_text(mark);
  if (!mark.detail.empty()) words += "  " + printable(mark.detail);
  if (mark.kind == MarkKind::CheckPoint && mark.value == MarkValue::Real && mark.real >= 0 && mark.real < 1e9) {
    words += " (" + duration_text(static_cast<std::uint64_t>(mark.real * 1e6 + 0.5)) + ")";
  }
  return words;
}

bool is_moment(const Mark& mark) { return mark.kind != MarkKind::Text && mark.kind != MarkKind::Number; }

std::vector<Mark> moments_of(const std::vector<Mark>& marks) {
  std::vector<Mark> found;
  std::copy_if(marks.begin(), marks.end(), std::back_inserter(found), [](const Mark& mark) {
    return is_moment(mark) && mark.kind != MarkKind::ScopeBegin && mark.kind != MarkKind::ScopeEnd;
  });
  return found;
}

std::vector<Mark> numbered(std::vector<Mark> marks) {
  struct Times {
    std::size_t all = 0, seen = 0;
  };
  std::unordered_map<std::string, Times> times;
  for (const Mark& mark : marks) ++times[mark.name].all;
  for (Mark& mark : marks) {
    Times& of = times[mark.name];
    if (of.all > 1 && !mark.name.empty()) mark.name += "#" + std::to_string(++of.seen);
  }
  return marks;
}

std::vector<Mark> snapshots_of(const std::vector<Mark>& marks) {
  for (const MarkKind kind : {MarkKind::Snapshot, MarkKind::CheckPoint}) {
    if (std::vector<Mark> found = of_kind(marks, kind); !found.empty()) return found;
  }
  return moments_of(marks);
}

std::string moments_text(const std::vector<Mark>& marks, const TextStyle& style) {
  constexpr std::size_t kFirst = 5, kLast = 3;
  const std::vector<Mark> moments = moments_of(numbered(marks));
  if (moments.empty()) return {};
  std::string out = style.bold("Moments that the program named") + "\n";
  const bool all = moments.size() <= kFirst + kLast + 1;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    if (!all && i == kFirst) {
      const std::size_t left_out = moments.size() - kFirst - kLast;
      out += style.dim(fmt::format("  {:>12}    and {} more", "...", with_separators(left_out))) + "\n";
      i += left_out;
    }
    const std::string words = mark_words(moments[i]);
    out += fmt::format("  {:>12} s  {:<11}  {}\n", seconds_text(moments[i].time_us), mark_kind_name(moments[i].kind),
                       style.width > 50 ? shortened(words, style.width - 31) : words);
  }
  return out + style.dim("  'heaptape checkpoints' shows the heap at and between them") + "\n";
}

void write_mark_fields(JsonWriter& json, const Mark& mark) {
  json.field("kind", mark_kind_name(mark.kind)).field("name", std::string_view(mark.name)).field("event", mark.event);
  json.field("time_us", mark.time_us).field("thread", mark.thread.value);
  if (!mark.detail.empty()) json.field("detail", std::string_view(mark.detail));
  if (mark.value == MarkValue::Integer) json.field("value", mark.integer);
  if (mark.value == MarkValue::Real) {
    // JSON cannot express infinity or NaN.
    if (std::isfinite(mark.real))
      json.key("value").number(value_text(mark));
    else
      json.field("value", std::string_view(value_text(mark)));
  }
}

std::string mark_row(const Mark& mark) {
  const std::string thread = mark.thread.value != 0 ? "T" + std::to_string(mark.thread.value) : "-";
  return fmt::format("{:>14}  {:>12} s  {:<5} {:<11}  {}", with_separators(mark.event), seconds_text(mark.time_us),
                     thread, mark_kind_name(mark.kind), mark_words(mark));
}

} // namespace heaptape
