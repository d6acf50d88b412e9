// What the encoder and the decoder of an EVENTS chunk both know at each event, and what they expect of the next one.
// Both keep the same state by seeing the same events, so an expectation that comes true costs a few bits. Everything is
// forgotten at the start of a block. All of this is part of the tape format; docs/tape-format.md says it in words.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tape/event_chunk.h"
#include "tape/freed_list.h"
#include "wire/event_kind.h"

namespace heaptape::codec {

// One byte per event in column Ops:
//   bits 0..2  Place of an allocation's or reallocation's address, or Origin of a released block
//   bits 3..4  SizeCode, 0 for releases
//   bits 5..6  SiteCode
//   bit  7     another thread than the event before: column Threads
inline constexpr unsigned kSizeShift = 3;
inline constexpr unsigned kSiteShift = 5;
inline constexpr unsigned kThreadBit = 0x80;

// The stack and kind of an event together are its site.
enum class SiteCode : std::uint8_t {
  AfterThree = 0, // what followed the thread's last three sites last time
  AfterOne = 1,   // what followed its last site last time
  Known = 2,      // column Sites
  New = 3,        // column NewSites; kind 0 there: the whole event is in column Others
};

enum class SizeCode : std::uint8_t {
  Last = 0,   // as last time at this site
  Before = 1, // as the last time it was different
  Written = 2,
};

// Where a block was put.
enum class Place : std::uint8_t {
  Freed = 0,       // what the list of freed blocks of this size gives next
  Behind = 1,      // behind the last block from fresh memory
  BehindOther = 2, // behind the one before that
  InList = 3,      // elsewhere in the list of freed blocks: column Positions
  Stray = 4,       // released in this EVENTS chunk, but made before it: column Strays
  Written = 5,     // column Addresses
  Same = 6,        // a reallocation that did not move
  Nowhere = 7,     // a reallocation that gave address 0
};

// Which block was released.
enum class Origin : std::uint8_t {
  Newest = 0,  // the newest live one of the site that made the last one released here
  SameAge = 1, // made as many events ago as the last one released here
  Age = 2,     // column Ages
  Written = 3, // made before this EVENTS chunk: column Releases
  None = 4,    // realloc(NULL)
};

// The last two are the same as the first two inside a pool of the program's own.
enum class Shape : std::uint8_t { Other, Allocation, Release, Reallocation, PoolAllocation, PoolRelease };

constexpr std::array<Shape, 256> make_shapes() {
  std::array<Shape, 256> shapes{};
  for (unsigned i = 0; i < static_cast<unsigned>(EventKind::TapeKinds); ++i) {
    const auto kind = static_cast<EventKind>(i);
    if (is_allocation(kind)) shapes[i] = Shape::Allocation;
    if (is_release(kind)) shapes[i] = Shape::Release;
    if (is_reallocation(kind)) shapes[i] = Shape::Reallocation;
    if (kind == EventKind::PoolAlloc) shapes[i] = Shape::PoolAllocation;
    if (kind == EventKind::PoolFree) shapes[i] = Shape::PoolRelease;
  }
  return shapes;
}
inline constexpr std::array<Shape, 256> kShapes = make_shapes();

struct Site {
  std::uint64_t key;         // site_key()
  std::uint32_t last_size;   // remember_size()
  std::uint32_t size_before; // the one before it that was different
  std::uint32_t newest;      // 1 + index of the newest block made here, maybe released since; 0: none
  std::uint32_t age;         // of the block released here last, in events
  std::uint16_t made_by;     // site of that block
};
static_assert(sizeof(Site) == 32);

// The block made by the event with the same index.
struct Made {
  std::uint64_t address;
  std::uint32_t older; // 1 + index of the block made before it at the same site
  std::uint16_t site;
  std::uint16_t size_class; // 0: released, or the event made none
};

inline constexpr std::uint64_t kMix = 0x9e37'79b9'7f4a'7c15; // part of the tape format, unlike base/mix.h
inline constexpr unsigned kContextBits = 14;
inline constexpr std::uint32_t kLastSite = 0xffff; // shared by all sites that come when the numbers are used up
inline constexpr std::uint32_t kThreadSlots = 256;
inline constexpr std::uint32_t kListStep = 131; // lists of one thread; the next thread's overlap those beyond
inline constexpr std::uint32_t kListSlots = 2048;
inline constexpr std::uint32_t kSizeClasses = 131;
inline constexpr std::uint32_t kStrays = 4096;

// A site of a pool belongs to that pool alone. Events of pools with larger numbers have no site.
inline constexpr std::uint64_t kMostSitePool = (std::uint64_t{1} << 24) - 1;

constexpr std::uint64_t site_key(std::uint32_t stack, EventKind kind, std::uint64_t pool = 0) {
  return stack | static_cast<std::uint64_t>(kind) << 32 | pool << 40;
}
constexpr std::uint64_t pool_of_site(std::uint64_t key) { return key >> 40; }

// 21 bits.
constexpr std::uint32_t hash_of_site(std::uint64_t key) { return static_cast<std::uint32_t>((key * kMix) >> 43); }

constexpr std::uint64_t history_with(std::uint64_t history, std::uint32_t hash) { return history << 21 | hash; }
// Where a history leads in the tables of what to expect.
constexpr std::size_t after_three_sites(std::uint64_t history) {
  return ((history << 1) * kMix) >> (64 - kContextBits);
}
constexpr std::size_t after_one_site(std::uint64_t history) { return history & ((1u << kContextBits) - 1); }

// What glibc's malloc takes for a request.
constexpr std::uint64_t footprint_bytes(std::uint64_t size) {
  return std::max<std::uint64_t>((size + 23) & ~std::uint64_t{15}, 32);
}

// 2..66: the chunk in units of 16 bytes. 67..130: larger ones, by a hash of it.
constexpr std::uint16_t size_class_of(std::uint64_t size) {
  const std::uint64_t units = footprint_bytes(size) >> 4;
  return static_cast<std::uint16_t>(units <= 66 ? units : 67 + ((units * kMix) >> 58));
}

constexpr std::uint32_t remember_size(std::uint64_t size) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(size, 0xffff'ffff));
}

struct ThreadContext {
  std::uint64_t history;      // the hashes of the last three sites, 21 bits each, the last one lowest
  std::uint64_t behind;       // end of the last block from fresh memory
  std::uint64_t behind_other; // the same, when another place was used last

  // A block from fresh memory somewhere else than expected.
  void went_elsewhere(std::uint64_t address, std::uint64_t size) {
    behind_other = behind;
    behind = address + footprint_bytes(size);
  }
};

// About 7 MB, of which blocks of the usual size touch one. Has no initial state: call reset() first.
struct EventModel {
  std::uint32_t site_count; // site 0 is none
  std::uint32_t last_new_stack;
  std::uint64_t last_release; // last address in column Releases
  std::uint32_t stray_count;
  std::uint32_t thread;
  ThreadContext* context; // of that thread
  FreedList* lists;       // of that thread, by size class

  std::uint16_t after_three[std::size_t{1} << kContextBits];
  std::uint16_t after_one[std::size_t{1} << kContextBits];
  ThreadContext contexts[kThreadSlots];
  FreedList all_lists[kListSlots + kSizeClasses];
  std::uint64_t strays[kStrays]; // ring of released blocks that were made before this EVENTS chunk
  Site sites[kLastSite + 1];
  Made made[format::kMaxEventsPerChunk]; // valid below the current event

  void reset() {
    site_count = 1;
    sites[0] = {};
    last_new_stack = 0;
    last_release = 0;
    stray_count = 0;
    std::memset(after_three, 0, sizeof after_three);
    std::memset(after_one, 0, sizeof after_one);
    std::memset(contexts, 0, sizeof contexts);
    std::memset(all_lists, 0, sizeof all_lists);
    std::memset(strays, 0, sizeof strays);
    set_thread(0);
  }

  void set_thread(std::uint32_t id) {
    thread = id;
    context = &context_of(id);
    lists = lists_of(id);
  }
  ThreadContext& context_of(std::uint32_t id) { return contexts[id % kThreadSlots]; }
  FreedList* lists_of(std::uint32_t id) { return &all_lists[id % kThreadSlots * kListStep % kListSlots]; }

  // A pool has lists and fresh memory as a thread has: those of the threads that are counted from the other end.
  static constexpr std::uint32_t pool_slot(std::uint64_t pool) {
    return kThreadSlots - 1 - static_cast<std::uint32_t>(pool % kThreadSlots);
  }
  void set_pool(std::uint64_t pool) {
    context = &context_of(pool_slot(pool));
    lists = lists_of(pool_slot(pool));
  }

  // The site to expect next; the caller stores into it the one that came.
  std::uint16_t& after_three_sites() { return after_three[codec::after_three_sites(context->history)]; }
  std::uint16_t& after_one_site() { return after_one[codec::after_one_site(context->history)]; }

  std::uint16_t add_site(std::uint64_t key) {
    const auto site = static_cast<std::uint16_t>(site_count);
    if (site_count < kLastSite) ++site_count;
    sites[site] = {};
    sites[site].key = key;
    return site;
  }

  // 1 + index of the newest live block made at a site; 0: none.
  std::uint32_t newest(Site& site) const {
    while (site.newest != 0 && made[site.newest - 1].size_class == 0) site.newest = made[site.newest - 1].older;
    return site.newest;
  }

  void make(std::uint32_t index, std::uint16_t site, std::uint64_t address, std::uint16_t size_class) {
    made[index] = {address, sites[site].newest, site, size_class};
    sites[site].newest = index + 1;
  }
  void make_nothing(std::uint32_t index) { made[index].size_class = 0; }

  // The block of event `made_at`, live so far, is released by event `index` at `site`. Gives its size class.
  std::uint16_t release(std::uint32_t index, std::uint32_t made_at, Site& site) {
    Made& block = made[made_at];
    site.age = index - made_at;
    site.made_by = block.site;
    const std::uint16_t size_class = block.size_class;
    block.size_class = 0;
    return size_class;
  }

  void remember(Site& site, std::uint64_t size) {
    const std::uint32_t now = remember_size(size);
    site.size_before = site.last_size == now ? site.size_before : site.last_size;
    site.last_size = now;
  }

  void add_stray(std::uint64_t address) { strays[stray_count++ % kStrays] = address; }
};

} // namespace heaptape::codec
