// Whether a thread waits for the collector in vain, because somebody has written over the memory between them.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

// A thread waits for something that only the collector can do: take records out of its ring, or free a slot. While the
// collector does not get to run (stopped, or waiting for a disk), the thread waits too: that is what the user asked for.
// But a collector that goes round and round without doing it no longer sees this thread. It gives up on one that holds up
// all the others after two seconds, so after ten this ring is not among those it reads. One object per wait.
class InVain {
public:
  static constexpr std::uint64_t kLongestNs = 10'000'000'000;
  static constexpr std::uint32_t kFewestRounds = 100; // a collector that does not get to run makes none

  // `done` changes whenever the collector has done some of what is waited for, `rounds` with each of its rounds. `blind`:
  // the collector's death would go unnoticed, so the lack of rounds does not count in its favour.
  bool operator()(std::uint64_t now_ns, std::uint64_t done, std::uint32_t rounds, bool blind) noexcept {
    if (!waiting_ || done != done_) {
      waiting_ = true;
      since_ns_ = now_ns;
      done_ = done;
      rounds_ = rounds;
      return false;
    }
    return now_ns - since_ns_ >= kLongestNs && (blind || rounds - rounds_ >= kFewestRounds);
  }

private:
  bool waiting_ = false;
  std::uint64_t since_ns_ = 0;
  std::uint64_t done_ = 0;
  std::uint32_t rounds_ = 0;
};

} // namespace heaptape::recorder
