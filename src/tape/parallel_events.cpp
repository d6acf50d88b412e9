#include "tape/parallel_events.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace heaptape::parallel {

namespace {

constexpr unsigned kMostThreads = 8;
constexpr std::chrono::milliseconds kAskEvery{20};

class Pass {
public:
  Pass(const TapeReader& tape, const ParallelEvents& options, const Look& look)
      : tape_(tape), options_(options), look_(look), slots_(slots(threads(options))) {
    const auto& chunks = tape.event_chunks();
    const auto begin = std::partition_point(chunks.begin(), chunks.end(), [&](const EventChunkInfo& chunk) {
      return chunk.first_number + chunk.count <= options.first;
    });
    const auto end = std::partition_point(
        begin, chunks.end(), [&](const EventChunkInfo& chunk) { return chunk.first_number <= options.last; });
    handed_over_ = next_ = static_cast<std::size_t>(begin - chunks.begin());
    end_ = static_cast<std::size_t>(end - chunks.begin());
  }

  EventsPass run(const Done& done) {
    const std::size_t useful = std::min<std::size_t>(threads(options_), end_ - next_);
    std::vector<std::thread> workers;
    for (std::size_t i = 0; i < useful; ++i) workers.emplace_back([this] { work(); });
    hand_over(done);
    for (std::thread& worker : workers) worker.join();
    return std::move(pass_);
  }

private:
  struct Slot {
    bool ready = false;
    std::vector<Damage> damage;
    std::uint64_t unknown_stacks = 0;
  };

  Slot& slot_of(std::size_t chunk) { return slots_[chunk % slots_.size()]; }

  void work() {
    EventCursor cursor = tape_.events(options_.first);
    std::unique_lock lock(mutex_);
    for (;;) {
      room_.wait(lock, [&] { return stop_ || next_ == end_ || next_ < handed_over_ + slots_.size(); });
      if (stop_ || next_ == end_) return;
      const std::size_t chunk = next_++;
      lock.unlock();
      cursor.read_chunk(chunk);
      for (auto run = cursor.next_run_until(options_.last); !run.empty() && !stop_.load(std::memory_order_relaxed);
           run = cursor.next_run_until(options_.last))
        look_(chunk % slots_.size(), run);
      lock.lock();
      slot_of(chunk) = {true, cursor.damage(), cursor.unknown_stacks()};
      ready_.notify_one();
    }
  }

  void hand_over(const Done& done) {
    std::unique_lock lock(mutex_);
    while (handed_over_ != end_) {
      Slot& slot = slot_of(handed_over_);
      const bool ready = ready_.wait_until(lock, next_ask_, [&] { return slot.ready; });
      lock.unlock();
      pass_.stopped = asked_to_stop();
      if (ready && !pass_.stopped) {
        done(handed_over_ % slots_.size());
        pass_.damage.insert(pass_.damage.end(), slot.damage.begin(), slot.damage.end());
        pass_.unknown_stacks += slot.unknown_stacks;
      }
      lock.lock();
      if (pass_.stopped) break;
      if (!ready) continue;
      slot = {};
      ++handed_over_;
      room_.notify_all();
    }
    stop_ = pass_.stopped;
    room_.notify_all();
  }

  bool asked_to_stop() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_ask_) return false;
    next_ask_ = now + kAskEvery;
    return options_.stop && options_.stop();
  }

  const TapeReader& tape_;
  const ParallelEvents& options_;
  const Look& look_;
  EventsPass pass_;
  std::chrono::steady_clock::time_point next_ask_ = std::chrono::steady_clock::now();

  std::mutex mutex_; // of all below; a slot that is ready is the calling thread's
  std::condition_variable room_, ready_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0; // chunk that a worker takes next
  std::size_t end_ = 0;
  std::size_t handed_over_ = 0;    // chunks before it are
  std::atomic<bool> stop_ = false; // also read without the mutex
};

} // namespace

unsigned threads(const ParallelEvents& options) {
  if (options.threads != 0) return options.threads;
  return std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
}

std::size_t slots(unsigned threads) { return 4 * std::size_t{threads}; }

EventsPass run(const TapeReader& tape, const ParallelEvents& options, const Look& look, const Done& done) {
  return Pass(tape, options, look).run(done);
}

} // namespace heaptape::parallel
