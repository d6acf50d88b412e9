// Takes snapshots of memory beside the recording: a thread for each, so that the rings never wait for pages to be packed. What only the
// recording's own thread can do comes to it through serve(): finding the place between two events, and writing to the tape.
//
//   recording     serve ......... serve: attended, drains on | cut | serve ... serve: pages onto the tape ... the snapshot
//   taker's       copy while it runs |       stop the program | wait | the rest | let it go | pack pages
//
// All calls but those of SnapshotHost come from the recording's thread.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "collector/contents/snapshot_taker.h"

namespace heaptape {

// What the recording does when the taker asks for it.
class SnapshotWork {
public:
  // Takes in what the threads of the program publish, and returns soon.
  virtual void drain_a_little() = 0;
  virtual SnapshotCut cut() = 0;
  // The program runs again; what cut() gave last is the moment, if it was called at all.
  virtual void moment_is_over(const std::string& name, const std::optional<SnapshotCut>& cut) = 0;
  // It may end, for its memory has been copied. `number`: of the snapshot, if nothing goes wrong any more.
  virtual void is_copied(const SnapshotTaker::Request& request, std::uint64_t number) = 0;
  // False: the tape takes no more pages.
  virtual bool write_pages(std::vector<std::byte> payload) = 0;

protected:
  ~SnapshotWork() = default;
};

class SnapshotDesk final : private SnapshotHost {
public:
  // `wake` makes the recording's thread call serve() soon; it is called from any thread. The header must outlive it.
  SnapshotDesk(pid_t pid, std::function<void()> wake, const wire::Header& header);
  // Ends what is under way.
  ~SnapshotDesk();

  // One at a time; further ones wait. False: too many wait already.
  bool ask(SnapshotTaker::Request request);
  // Something is under way or waits.
  bool working() const { return thread_.joinable() || !waiting_.empty(); }

  // Does what the taker waits for.
  void serve(SnapshotWork& work);
  // The program is not needed any more for the one under way.
  bool is_copied();
  // What has ended, if something has. The pages of a snapshot have been written by then.
  struct Ended {
    SnapshotTaker::Request request;
    Result<MemorySnapshot> snapshot;
  };
  std::optional<Ended> take_ended();
  // The snapshot was not written after all: the next one is whole.
  void refuse_last();
  // Only while nothing is under way, but for the one that take_ended() gave.
  const MapNames& names() const { return taker_->names(); }

private:
  enum class Phase : std::uint8_t { Running, WantsAttention, Attended, WantsCut, HasCut, Closed };

  bool attend() override;
  std::optional<SnapshotCut> cut() override;
  void let_go() override;
  void let_end() override;
  bool write(std::vector<std::byte> pages) override;

  void start_next();
  void attend_to(SnapshotWork& work, std::unique_lock<std::mutex>& lock);
  void write_some(SnapshotWork& work, std::unique_lock<std::mutex>& lock);

  std::function<void()> wake_;
  std::unique_ptr<SnapshotTaker> taker_;
  std::deque<SnapshotTaker::Request> waiting_;
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::Running;
  SnapshotTaker::Request request_; // of the one under way
  std::optional<SnapshotCut> cut_;
  std::uint64_t number_ = 0; // of the one under way
  bool is_copied_ = false;
  bool copied_is_told_ = false;
  std::deque<std::vector<std::byte>> pages_;
  std::size_t page_bytes_ = 0;
  bool refused_ = false; // the tape took no more
  std::optional<Ended> ended_;
};

} // namespace heaptape
