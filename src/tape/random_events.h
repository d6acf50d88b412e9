// Made-up events for tests: the same ones from the same seed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tape/event.h"

namespace heaptape::test {

struct KnownEvent {
  Event event;
  std::uint64_t allocated_at = 0;
};

// A program with a few threads that allocate, reallocate and release in all ways, reuse addresses, map memory, and now
// and then do what no sane program does (release what they never got, sizes of 2^48, odd addresses).
class EventMaker {
public:
  explicit EventMaker(std::uint64_t seed) : random_(seed), stacks_(1 + random_() % 200), threads_(1 + random_() % 5) {}

  KnownEvent next() {
    KnownEvent made;
    Event& event = made.event;
    event.number = ++number_;
    time_us_ += chance(70) ? 0 : chance(95) ? random_() % 4 : random_() % 5'000'000;
    event.time_us = time_us_;
    if (chance(10)) thread_ = static_cast<std::uint32_t>(1 + random_() % threads_);
    event.thread = ThreadId(thread_);
    event.stack = StackId(static_cast<std::uint32_t>(chance(2) ? random_() : random_() % stacks_));
    switch (random_() % 20) {
    case 0: map(event); break;
    case 4: pool(made); break;
    case 1: odd(event); break;
    case 2:
    case 3: reallocate(made); break;
    default:
      if (live_.empty() || chance(52))
        allocate(event);
      else
        release(made);
    }
    return made;
  }

  std::vector<KnownEvent> take(std::size_t count) {
    std::vector<KnownEvent> events;
    for (std::size_t i = 0; i < count; ++i) events.push_back(next());
    return events;
  }

private:
  struct Block {
    std::uint64_t address;
    std::uint64_t made_by;
  };

  struct PoolBlocks {
    std::uint64_t top = 0;
    std::vector<Block> live;
  };

  bool chance(unsigned percent) { return random_() % 100 < percent; }
  template <std::size_t N>
  EventKind one_of(const EventKind (&kinds)[N]) {
    return kinds[random_() % N];
  }

  std::uint64_t any_size() {
    return chance(80) ? 8 * (1 + random_() % 12) : chance(90) ? random_() % 5000 : random_() >> 16;
  }
  std::uint64_t any_place(std::uint64_t size) {
    if (!free_.empty() && chance(70)) {
      const std::size_t at = chance(80) ? free_.size() - 1 : random_() % free_.size();
      const std::uint64_t address = free_[at];
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(at));
      return address;
    }
    top_ += chance(95) ? 0 : 16 * (random_() % 1000);
    const std::uint64_t address = top_;
    top_ += ((size % 100'000) + 23) & ~std::uint64_t{15};
    return chance(1) ? address + 1 + random_() % 15 : address;
  }

  void allocate(Event& event) {
    event.kind = one_of({EventKind::Malloc, EventKind::Malloc, EventKind::Calloc, EventKind::New, EventKind::NewArray,
                         EventKind::Memalign, EventKind::PosixMemalign, EventKind::AlignedAlloc, EventKind::Valloc,
                         EventKind::Pvalloc});
    event.size = any_size();
    event.address = any_place(event.size);
    live_.push_back({event.address, event.number});
  }

  Block take_live() {
    const std::size_t recent = std::min<std::size_t>(live_.size(), 4);
    const std::size_t at = chance(70) ? live_.size() - 1 - random_() % recent : random_() % live_.size();
    const Block block = live_[at];
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(at));
    return block;
  }

  void release(KnownEvent& made) {
    made.event.kind = one_of({EventKind::Free, EventKind::Free, EventKind::FreeSized, EventKind::FreeAlignedSized,
                              EventKind::Cfree, EventKind::Delete, EventKind::DeleteArray, EventKind::ReallocRelease});
    const Block block = take_live();
    made.event.address = block.address;
    made.allocated_at = chance(95) ? block.made_by : 0;
    free_.push_back(block.address);
  }

  void reallocate(KnownEvent& made) {
    Event& event = made.event;
    event.kind = one_of({EventKind::Realloc, EventKind::ReallocArray});
    event.size = any_size();
    if (!live_.empty() && chance(80)) {
      const Block block = take_live();
      event.old_address = block.address;
      made.allocated_at = block.made_by;
      event.old_released = chance(5);
      if (chance(10)) return; // to address 0
      if (chance(50)) {
        event.address = block.address;
      } else {
        event.address = any_place(event.size);
        free_.push_back(block.address);
      }
    } else {
      event.address = any_place(event.size);
    }
    live_.push_back({event.address, event.number});
  }

  void map(Event& event) {
    event.kind = one_of({EventKind::MmapAnonymous, EventKind::MmapFile, EventKind::Munmap, EventKind::Mremap});
    event.address = random_() >> 16 & ~std::uint64_t{4095};
    event.size = 4096 * (random_() % 100);
    if (event.kind != EventKind::Mremap) return;
    event.old_address = random_() >> 16;
    event.old_size = random_();
  }

  // Bump allocation, releases in any order, and a reset now and then.
  void pool(KnownEvent& made) {
    Event& event = made.event;
    const std::size_t which = random_() % 3;
    PoolBlocks& blocks = pools_[which];
    event.old_address = chance(2) ? random_() : which + 1;
    if (blocks.live.empty() || chance(55)) {
      event.kind = EventKind::PoolAlloc;
      event.size = any_size();
      event.address = chance(90) ? 0x7000'0000'0000 + (which << 32) + blocks.top : random_() >> 16;
      blocks.top += (event.size % 5000 + 7) & ~std::uint64_t{7};
      blocks.live.push_back({event.address, event.number});
      return;
    }
    event.kind = EventKind::PoolFree;
    if (chance(5)) { // everything at once
      blocks = {};
      return;
    }
    const std::size_t at = chance(70) ? blocks.live.size() - 1 : random_() % blocks.live.size();
    event.address = blocks.live[at].address;
    made.allocated_at = chance(95) ? blocks.live[at].made_by : 0;
    blocks.live.erase(blocks.live.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void odd(Event& event) {
    event.kind = static_cast<EventKind>(1 + random_() % (static_cast<unsigned>(EventKind::TapeKinds) - 1));
    event.address = random_();
    if (chance(50)) event.size = random_();
    if (chance(20)) event.old_address = random_();
    if (chance(20)) event.old_size = random_();
    event.old_released = chance(20);
  }

  std::mt19937_64 random_;
  std::uint64_t stacks_;
  std::uint64_t threads_;
  std::uint64_t number_ = 0;
  std::uint64_t time_us_ = 0;
  std::uint32_t thread_ = 1;
  std::uint64_t top_ = 0x5555'5555'4000;
  std::vector<Block> live_;
  std::array<PoolBlocks, 3> pools_;
  std::vector<std::uint64_t> free_;
};

} // namespace heaptape::test
