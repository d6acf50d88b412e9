// The snapshots of memory that statements ask about. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "report/contents/opened_snapshot.h"
#include "report/view/tape_view.h"
#include "sql/table.h"

namespace heaptape {

// What all tables say about their hidden column "at".
inline constexpr std::string_view kSnapshotArgument =
    "the moment: the last snapshot with memory up to it; without it the end, or --at";

class AskedSnapshots {
public:
  // `at` is the moment that is meant where a statement names none; empty: the end. The view must outlive it.
  AskedSnapshots(const TapeView& view, std::string at) : view_(view), at_(std::move(at)) {}

  // The last snapshot with memory up to this moment, opened; "snapshot:2" is that one. The Error says what there is instead.
  Result<std::shared_ptr<OpenedSnapshot>> at(const std::optional<std::string>& moment);
  // Of the moment that is meant where a statement names none. nullptr: the tape holds no memory at all.
  Result<std::shared_ptr<OpenedSnapshot>> usual();

private:
  struct Open {
    std::size_t snapshot = 0;
    std::shared_ptr<OpenedSnapshot> opened{};
  };
  std::shared_ptr<OpenedSnapshot> opened(std::size_t snapshot);

  const TapeView& view_;
  const std::string at_;
  std::deque<Open> open_; // the last ones that were asked for; a large heap takes a gigabyte
};

} // namespace heaptape
