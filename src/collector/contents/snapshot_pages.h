// The pages of a snapshot in the making, read from the program: some wait in our memory, others are packed for the tape at once. What is known of
// a page stays known from one snapshot to the next. One thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "collector/contents/copied_pages.h"
#include "collector/contents/memory_plan.h"
#include "collector/contents/page_store.h"
#include "collector/contents/page_table.h"
#include "tape/memory_snapshot.h"

namespace heaptape {

class SnapshotPages {
public:
  explicit SnapshotPages(PageStore::Write write) : store_(std::move(write)) {}

  // Nothing of what was written before is referred to from now on.
  void begin_anew();
  // Until store_copied() at most this much waits in our memory.
  void begin(std::uint64_t most_copied);
  std::uint64_t most_copied() const { return copied_.most_bytes(); }

  // Reads pages of a process, this program or its twin, to be packed later, or, of what is too much to be kept, at once. False: it is gone.
  bool copy(pid_t from, std::span<const PageRange> ranges);
  // The same, and packs all at once.
  bool store(pid_t from, std::span<const PageRange> ranges);
  void refuse(std::uint64_t address);
  // What is known of these pages does not count any more.
  void forget(PageRange range);

  // Packs what waits, but for secrets. False: the tape takes no more.
  bool store_copied(std::span<const PageRange> secrets);
  bool failed() const { return store_.failed(); }
  std::uint64_t written() const { return store_.pages_written(); }

  // All pages of these regions, by address. Other regions are gone.
  std::vector<PageRun> runs(std::span<const PlannedRegion> plan);

private:
  void put(std::uint64_t address, std::span<const std::byte> bytes);

  PageStore store_;
  PageTable table_;
  CopiedPages copied_; // of the snapshot that is being taken; they count, whatever the table says
};

} // namespace heaptape
