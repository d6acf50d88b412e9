#include "report/text/snapshot_names.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/number_text.h"

namespace heaptape {
namespace {

constexpr std::size_t kListed = 8; // in an error

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc{} || rest != end) return std::nullopt;
  return number;
}

const NamedSnapshot* numbered(const std::vector<NamedSnapshot>& snapshots, std::uint64_t number) {
  const auto found = std::ranges::find(snapshots, number, &NamedSnapshot::number);
  return number == 0 || found == snapshots.end() ? nullptr : &*found;
}

// The nth of that name, from 1 on.
const NamedSnapshot* named(const std::vector<NamedSnapshot>& snapshots, std::string_view name, std::uint64_t nth) {
  const auto found = std::ranges::find_if(
      snapshots, [&](const NamedSnapshot& snapshot) { return snapshot.name == name && --nth == 0; });
  return found == snapshots.end() ? nullptr : &*found;
}

const NamedSnapshot* meant(const std::vector<NamedSnapshot>& snapshots, std::string_view which) {
  if (const auto number = number_in(which)) {
    if (const NamedSnapshot* const found = numbered(snapshots, *number)) return found;
  }
  if (const NamedSnapshot* const found = named(snapshots, which, 1)) return found;
  if (const std::size_t sign = which.rfind('#'); sign != which.npos) {
    const auto nth = number_in(which.substr(sign + 1));
    if (nth && *nth != 0) return named(snapshots, which.substr(0, sign), *nth);
  }
  if (snapshots.empty()) return nullptr;
  return which == "first" ? &snapshots.front() : which == "last" ? &snapshots.back() : nullptr;
}

std::string listed(const std::vector<NamedSnapshot>& snapshots) {
  std::string text;
  for (std::size_t i = 0; i < snapshots.size() && i < kListed; ++i) {
    const NamedSnapshot& each = snapshots[i];
    text += i == 0 ? "" : ", ";
    if (each.number != 0) text += std::to_string(each.number) + (each.name.empty() ? "" : " ");
    if (!each.name.empty()) text += "'" + printable(each.name) + "'";
  }
  if (snapshots.size() > kListed) text += " and " + std::to_string(snapshots.size() - kListed) + " more";
  return text;
}

} // namespace

std::vector<NamedSnapshot> named_snapshots(const TapeReader& tape, const std::vector<Mark>& marks) {
  std::vector<NamedSnapshot> list;
  std::set<std::tuple<std::uint64_t, std::uint64_t, std::string_view>> with_memory;
  for (const MemorySnapshot& snapshot : tape.snapshots()) {
    list.push_back({snapshot.number, snapshot.name, snapshot.event, snapshot.time_us, &snapshot});
    with_memory.insert({snapshot.event, snapshot.time_us, snapshot.name});
  }
  for (const Mark& mark : marks) {
    if (mark.kind == MarkKind::Snapshot && !with_memory.contains({mark.event, mark.time_us, mark.name}))
      list.push_back({.name = mark.name, .event = mark.event, .time_us = mark.time_us});
  }
  std::ranges::stable_sort(list, {}, [](const NamedSnapshot& one) { return std::pair(one.event, one.time_us); });
  if (with_memory.empty()) {
    std::uint64_t number = 0;
    for (NamedSnapshot& each : list) each.number = ++number;
  }
  return list;
}

Result<NamedSnapshot> find_snapshot_named(const std::vector<NamedSnapshot>& snapshots, std::string_view which) {
  if (const NamedSnapshot* const found = meant(snapshots, which)) return *found;
  if (snapshots.empty())
    return Error{ErrorCode::NotFound, "the tape has no snapshots; take some with 'heaptape record --snapshot WHEN' or "
                                      "heaptape_snapshot()"};
  return Error{ErrorCode::NotFound, "there is no snapshot '" + printable(which) + "' on the tape; " +
                                        (snapshots.size() == 1 ? "the only one is " : "those there are: ") +
                                        listed(snapshots)};
}

std::string numbered_snapshot_text(std::uint64_t number, std::string_view name) {
  return "snapshot " + std::to_string(number) + (name.empty() ? "" : " ('" + printable(name) + "')");
}

std::string_view snapshot_word(std::string_view position) {
  constexpr std::string_view kWord = "snapshot";
  const bool is_one = position.size() > kWord.size() + 1 && position.starts_with(kWord) &&
                      (position[kWord.size()] == ':' || position[kWord.size()] == ' ');
  return is_one ? position.substr(0, kWord.size() + 1) : std::string_view();
}

} // namespace heaptape
