// A pass over the events of a tape on all processors. Chunks of events can be decoded alone, so each worker thread
// takes the next one; what it found there is handed over in the order of the tape. For questions that each chunk
// answers for itself, such as who ever touched an address: about as many times faster than one cursor as there are
// processors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "tape/reader.h"

namespace heaptape {

struct ParallelEvents {
  std::uint64_t first = 1; // numbers of the first and the last event that are wanted
  std::uint64_t last = ~std::uint64_t{0};
  unsigned threads = 0; // 0: one per processor, but no more than 8
  // Asked by the calling thread, about every 20 ms; true ends the pass.
  std::function<bool()> stop{};
};

struct EventsPass {
  bool stopped = false;
  std::vector<Damage> damage{};     // of chunks that could not be decoded, in whole or in part; in order
  std::uint64_t unknown_stacks = 0; // as EventCursor says it
};

namespace parallel {

// What the template below is made of. A chunk is worked on in one of slots(threads) slots.
using Look = std::function<void(std::size_t slot, std::span<const Event> events)>;
using Done = std::function<void(std::size_t slot)>;
unsigned threads(const ParallelEvents& options);
std::size_t slots(unsigned threads);
EventsPass run(const TapeReader& tape, const ParallelEvents& options, const Look& look, const Done& done);

} // namespace parallel

// For each chunk of events, makes a Part, calls look(part, events) for the wanted events in it, a run at a time and in
// order, and then done(part). look() is called from worker threads, for different chunks at the same time; done() is
// called from the calling thread, in the order of the chunks. Only a few parts exist at a time: workers wait for
// done(). Of a chunk that is damaged look() sees what can be read. When the pass is stopped, parts that were not done
// yet are dropped.
template <class Part, class LookAt, class WhenDone>
EventsPass parallel_events(const TapeReader& tape, const ParallelEvents& options, LookAt&& look, WhenDone&& done) {
  std::vector<Part> parts(parallel::slots(parallel::threads(options)));
  return parallel::run(
      tape, options, [&](std::size_t slot, std::span<const Event> events) { look(parts[slot], events); },
      [&](std::size_t slot) {
        done(parts[slot]);
        parts[slot] = Part();
      });
}

} // namespace heaptape
