#include "cli/event_filter.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace heaptape::cli {
namespace {

constexpr auto kKinds = static_cast<unsigned>(EventKind::TapeKinds);

std::uint64_t bits_where(auto predicate) {
  std::uint64_t bits = 0;
  for (unsigned kind = 1; kind < kKinds; ++kind) {
    if (predicate(static_cast<EventKind>(kind))) bits |= std::uint64_t{1} << kind;
  }
  return bits;
}

std::uint64_t bits_of(std::string_view name) {
  if (name == "alloc") return bits_where([](EventKind k) { return is_allocation(k) || is_reallocation(k); });
  if (name == "release") return bits_where([](EventKind k) { return is_release(k) || is_reallocation(k); });
  if (name == "map") return bits_where(is_mapping);
  return bits_where([&](EventKind kind) {
    constexpr std::string_view kOperator = "operator ";
    std::string_view whole = kind_name(kind);
    if (whole == name) return true;
    return whole.starts_with(kOperator) && whole.substr(kOperator.size()) == name;
  });
}

std::string all_kind_names() {
  std::string names;
  for (unsigned kind = 1; kind < kKinds; ++kind) {
    if (!names.empty()) names += ", ";
    names += kind_name(static_cast<EventKind>(kind));
  }
  return names;
}

bool is_before(const Event& event, const Position& position) {
  return (position.is_time ? event.time_us : event.number) < position.value;
}

bool is_after(const Event& event, const Position& position) {
  return (position.is_time ? event.time_us : event.number) > position.value;
}

} // namespace

Result<KindSet> KindSet::parse(const std::string& names) {
  KindSet set;
  set.bits_ = 0;
  std::string_view rest = names;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    const std::uint64_t bits = bits_of(name);
    if (bits == 0) {
      return Error{ErrorCode::Usage, "'" + std::string(name) + "' is no kind of event; there are " + all_kind_names() +
                                         ", and the groups alloc, release and map"};
    }
    set.bits_ |= bits;
    if (comma == rest.npos) return set;
    rest.remove_prefix(comma + 1);
  }
}

Result<std::vector<ThreadId>> find_threads(const std::vector<Thread>& threads, const std::string& text) {
  std::uint32_t number = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || rest != text.data() + text.size()) {
    return Error{ErrorCode::Usage, "'" + text + "' is not a thread's number"};
  }
  std::vector<ThreadId> found;
  for (const Thread& thread : threads) {
    if (thread.id.value == number) return std::vector{thread.id};
    if (thread.tid == number) found.push_back(thread.id);
  }
  if (found.empty()) {
    return Error{ErrorCode::NotFound, "no thread " + text + " on this tape; 'heaptape info' lists them"};
  }
  return found;
}

bool EventFilter::accepts(const Event& event) const {
  if (!kinds.contains(event.kind)) return false;
  if (threads && std::find(threads->begin(), threads->end(), event.thread) == threads->end()) return false;
  return !(from && is_before(event, *from)) && !is_past(event);
}

bool EventFilter::is_past(const Event& event) const { return to && is_after(event, *to); }

} // namespace heaptape::cli
