#include "sql/asked_snapshot.h"

#include <algorithm>

#include "report/leaks/leak_report.h"

namespace heaptape {

namespace {

constexpr std::size_t kKept = 2; // a statement may compare two

} // namespace

Result<std::shared_ptr<OpenedSnapshot>> AskedSnapshots::at(const std::optional<std::string>& moment) {
  const std::string& text = moment ? *moment : at_;
  const Result<std::size_t> found = chosen_snapshot(view_, text.empty() ? "end" : text);
  if (!found) return found.error();
  return opened(found.value());
}

Result<std::shared_ptr<OpenedSnapshot>> AskedSnapshots::usual() {
  if (view_.tape().snapshots().empty()) return std::shared_ptr<OpenedSnapshot>();
  return at(std::nullopt);
}

std::shared_ptr<OpenedSnapshot> AskedSnapshots::opened(std::size_t snapshot) {
  const auto known = std::ranges::find(open_, snapshot, &Open::snapshot);
  if (known != open_.end()) return known->opened;
  if (open_.size() == kKept) open_.pop_front();
  open_.push_back({snapshot, std::make_shared<OpenedSnapshot>(view_.tape(), view_.index(), view_.names(), snapshot)});
  return open_.back().opened;
}

} // namespace heaptape
