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
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collector/contents/asked_contents.h"
#include "collector/contents/memory_plan.h"
#include "collector/contents/page_finder.h"
#include "collector/contents/repeated_calls.h"
#include "collector/contents/snapshot_pages.h"
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
  // The host must outlive it, and so must the header, which says what memory is the recorder's.
  SnapshotTaker(pid_t pid, SnapshotHost& host, const wire::Header* header = nullptr);

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
  bool look_quickly(const Request& request);
  // False: the program is gone.
  bool drop_secrets_of(std::vector<PageRange>& pages, bool at_once);
  bool read_regions();
  std::optional<MemoryWishes> read_wishes() const; // none: it is gone
  std::uint64_t resident_bytes() const;
  SnapshotMethod choose(const Request& request);
  bool can_inject() const;
  // What is left for the stop is little then; else the method becomes Twin.
  bool copy_while_running(SnapshotMethod& method);
  bool twin_takes_less(std::uint64_t pages);
  std::optional<SnapshotCut> find_cut(StoppedProcess& stopped);
  struct Moment;
  // The program stands still, but for the end of a twin.
  Result<> take_moment(const Request& request, Moment& moment);
  Result<> copy_in_stop(StoppedProcess& stopped, const Request& request, Moment& moment);
  bool leave_to_twin_if_less_trouble(StoppedProcess& stopped, std::vector<PageRange>& pages);
  Result<> finish_twin(SnapshotMethod method);
  bool leave_out_secrets(); // false: they are not known

  pid_t pid_;
  pid_t memory_pid_ = 0; // the process, or a thread that lasts longer than its first
  SnapshotHost& host_;
  const wire::Header* header_;
  MapNames names_;
  RepeatedCalls calls_;
  SnapshotPages pages_;
  PageFinder finder_;
  std::vector<PlannedRegion> plan_;
  MemoryWishes wishes_;
  bool wishes_are_new_ = false; // they were asked since this snapshot began
  std::uint64_t copied_ = 0;    // pages, some of them more than once
  StoppedProcess::Twin twin_{};
  std::vector<PageRange> of_twin_; // to be read from it
  std::vector<PageRun> last_runs_;
  std::uint64_t number_ = 0;
  bool anew_ = true; // the next one is whole
};

} // namespace heaptape
