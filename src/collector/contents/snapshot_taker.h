// Copies the memory of a running program, at one moment, onto its tape.
//
//   live    program runs   |copy all|copy what changed|...|stop, copy the rest|   runs on
//   twin    program runs   |stop, fork|   runs on; the twin is copied and killed
//   stop    program runs   |stop, copy all|   runs on
//
// From one snapshot to the next it remembers which page of the program is which on the tape, so that only new ones are written; after a live
// one it also knows which have changed since. One thread at a time; nobody else stops the program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "collector/contents/asked_contents.h"
#include "collector/contents/copied_pages.h"
#include "collector/contents/memory_plan.h"
#include "collector/contents/page_store.h"
#include "collector/contents/page_table.h"
#include "collector/contents/page_tracker.h"
#include "collector/contents/program_memory.h"
#include "collector/contents/stopped_process.h"
#include "tape/memory_snapshot.h"

namespace heaptape {

// The recording's place between two events.
struct SnapshotCut {
  std::uint64_t event = 0;
  std::uint64_t time_us = 0;
  LiveSum live{};
  struct Moving { // a realloc that has begun
    pid_t thread = 0;
    std::uint64_t block = 0;
  };
  std::vector<Moving> moving{};
};

// What the recording does for a snapshot.
class SnapshotHost {
public:
  // Until cut() or let_go() the recording's own thread does nothing that takes long. False: the recording ends.
  virtual bool attend() = 0;
  // The program stands still: everything that it has done is put in order. May be called again when some of it ran on.
  virtual std::optional<SnapshotCut> cut() = 0;
  // It runs again.
  virtual void let_go() = 0;
  // It is not needed any more and may end: nothing but our own memory, or a twin's, is read from now on.
  virtual void let_end() = 0;
  // A PAGES payload for the tape. False: it takes no more, or the recording ends.
  virtual bool write(std::vector<std::byte> pages) = 0;

protected:
  ~SnapshotHost() = default;
};

class SnapshotTaker {
public:
  // The host must outlive it.
  SnapshotTaker(pid_t pid, SnapshotHost& host);

  struct Request {
    std::string name{};
    SnapshotMethod method = SnapshotMethod::Unknown; // whichever disturbs least
    bool with_not_dumped = false;                    // also what the program asked not to have in dumps
    std::optional<AskingThread> asked_by{};          // it waits, in the recorder
    bool ends = false;                               // it waits until all is written, and then ends
    std::uint64_t most_copied = std::uint64_t{1}
                                << 30; // kept in our memory until the program runs again; the rest is packed at once
  };
  // Refused with a sentence; then nothing of it counts. names() are those of its regions.
  Result<MemorySnapshot> take(const Request& request);
  const MapNames& names() const { return names_; }
  // Of the snapshot that is taken next, or is being taken.
  std::uint64_t next_number() const { return number_ + 1; }
  // The tape did not take what was written last: the next snapshot begins anew.
  void begin_anew();

private:
  bool look(bool with_not_dumped);
  bool read_regions();
  std::optional<MemoryWishes> read_wishes() const; // none: it is gone
  std::uint64_t resident_bytes() const;
  SnapshotMethod choose(const Request& request);
  bool can_inject() const;
  bool make_tracker();
  // What is left for the stop is little then; else the method becomes Twin.
  bool copy_while_running(SnapshotMethod& method);
  bool twin_takes_less(std::uint64_t pages);
  std::vector<PageRange> take_changed(bool stands_still);
  static bool may_watch(PageRange mapping, std::span<const PageRange> touched);
  // Whether it was there at an earlier call.
  bool is_known_constant(PageRange mapping);
  std::vector<PageRange> touched(const PlannedRegion& region);
  // Of all private mappings, or of those that the twin has; they are unknown from now on.
  std::vector<PageRange> all_touched();
  std::vector<PageRange> touched_but_not_in_twin();
  std::vector<PageRange> shared_pages();
  std::optional<SnapshotCut> find_cut(StoppedProcess& stopped);
  bool copy(std::span<const PageRange> ranges);
  bool store(pid_t from, std::span<const PageRange> ranges);
  void store_copied();
  void put(std::uint64_t address, std::span<const std::byte> bytes);
  void forget(std::uint64_t begin, std::uint64_t end);
  struct Moment;
  // The program stands still, but for the end of a twin.
  Result<> take_moment(const Request& request, Moment& moment);
  Result<> copy_in_stop(StoppedProcess& stopped, const Request& request, Moment& moment);
  // Of the program that was there at first: no other was executed in its place.
  bool is_there() const;
  void leave_to_twin_if_less_trouble(StoppedProcess& stopped, std::vector<PageRange>& pages);
  Result<> finish_twin(SnapshotMethod method);
  bool leave_out_secrets(); // false: they are not known
  std::vector<PageRun> all_runs();

  pid_t pid_;
  SnapshotHost& host_;
  UniqueFd pagemap_;
  PageStore store_;
  PageTable table_;
  CopiedPages copied_; // of the snapshot that is being taken; they count, whatever the table says
  std::optional<PageTracker> tracker_;
  bool tried_tracker_ = false;
  MapNames names_;
  std::vector<PlannedRegion> plan_;
  MemoryWishes wishes_;
  std::map<std::uint64_t, std::uint64_t> constants_; // mappings that were read once for all: begin and end
  std::map<std::uint64_t, std::uint64_t> watched_;   // mappings that the tracker watches: begin and end
  StoppedProcess::Twin twin_{};
  std::vector<PageRange> of_twin_; // to be read from it
  std::vector<PageRun> last_runs_;
  std::uint64_t number_ = 0;
  bool anew_ = true; // the next one is whole
};

} // namespace heaptape
