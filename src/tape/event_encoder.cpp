// How an event shrinks to a byte, and a run of them to nothing.
//
// Encoder and decoder keep the same model (event_model.h) by seeing the same events. An event is written as one byte, its op, that
// says which of the model's expectations came true; only what was not expected goes into one of the other columns. A loop that
// allocates 24 bytes at site A and frees them at site B, on thread 1, begins so:
//
//   event            op    what was expected, and what had to be written
//   1 malloc 0x5010  0xf5  nothing: Threads 1 · NewSites A · Sizes 24 · Addresses 0x5010
//   2 free   0x5010  0x62  nothing but the thread: NewSites B · Ages 1 (made one event ago)
//   3 malloc 0x5010  0x40  nothing knows what follows B: Sites A. The size is A's last one; the address is what the list of freed
//                          blocks of that size gives
//   4 free   0x5010  0x20  B followed A last time. It frees the newest live block of A, as B did last time
//   5 malloc 0x5010  0x20  A followed B last time; size and address as in event 3
//   6 free   0x5010  0x00  B followed A, B, A last time; and so on: from here on every op is 0, and no other column grows
//
// What is known: whatever an event of this chunk has shown before. What is checked: every expectation against the event, before its
// op is written; one that fails is written out. Why it is right: the decoder asks the same model the same questions in the same
// order, and an op tells it which answers to believe. Nothing is kept from one chunk to the next, so each can be read alone.
#include "tape/event_encoder.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/byte_cursor.h"
#include "base/check.h"
#include "tape/compression.h"
#include "tape/event_chunk.h"
#include "tape/event_model.h"

namespace heaptape {

namespace {

using namespace codec;
using namespace format;

// Unlike std::byte it cannot alias the encoder's own fields, so these stay in registers while columns are written.
enum class Octet : unsigned char {};

// The most that one event adds to each column.
constexpr std::array<std::size_t, kEventColumns> kMostBytes = {
    1, 1 + 2 * kMaxVarintBytes, 5, 2, 10, kMaxVarintBytes, 2, 3, kMaxVarintBytes, 3, kMaxVarintBytes, 51};
constexpr std::size_t sum_of_most() {
  std::size_t sum = 0;
  for (const std::size_t bytes : kMostBytes) sum += bytes;
  return sum;
}
static_assert(sizeof(EventChunkHead) + EventEncoder::kMaxEvents * sum_of_most() <= kMaxPayloadBytes);
static_assert(EventEncoder::kMaxEvents <= kMaxEventsPerChunk);

constexpr unsigned kSiteIndexBits = 17;  // twice as many slots as there can be sites
constexpr unsigned kStrayIndexBits = 13; // twice as many as strays

template <class Code>
constexpr unsigned bits(Code code) {
  return static_cast<unsigned>(code);
}

} // namespace

// The functions that every event passes are inlined into add(), the rare rest is kept out of it.
struct EventEncoder::State {
  std::array<Octet*, kEventColumns> at; // end of each column
  std::uint32_t count = 0;
  std::uint64_t first_number = 0;
  std::uint64_t first_us = 0;
  std::uint64_t last_us = 0; // kept between blocks: time never goes back
  std::uint64_t still = 0;   // events since time moved
  std::array<std::unique_ptr<Octet[]>, kEventColumns> columns;
  std::vector<std::byte> payload;
  Compressor compressor;
  std::uint16_t site_index[std::size_t{1} << kSiteIndexBits];   // by hash of the key, linear probing; 0: empty
  std::uint32_t stray_index[std::size_t{1} << kStrayIndexBits]; // by hash of the address: its number among the strays
  EventModel model;

  State() {
    for (std::size_t i = 0; i < kEventColumns; ++i) columns[i].reset(new Octet[kMostBytes[i] * kMaxEvents]);
  }

  [[gnu::always_inline]] void byte(EventColumn column, std::uint64_t value) {
    *at[column]++ = static_cast<Octet>(value);
  }
  [[gnu::always_inline]] void varint(EventColumn column, std::uint64_t value) {
    Octet* out = at[column];
    for (; value >= 0x80; value >>= 7) *out++ = static_cast<Octet>(value | 0x80);
    *out++ = static_cast<Octet>(value);
    at[column] = out;
  }
  // Addresses are nearly always multiples of 16 apart.
  void difference(EventColumn column, std::uint64_t to, std::uint64_t from) {
    const auto bytes = static_cast<std::int64_t>(to - from);
    const std::uint64_t rest = static_cast<std::uint64_t>(bytes) & 15;
    varint(column, zigzag(bytes >> 4) << 1 | (rest != 0 ? 1u : 0u));
    if (rest != 0) byte(column, rest);
  }

  [[gnu::noinline]] void start(const Event& event) {
    first_number = event.number;
    first_us = last_us = std::max(last_us, event.time_us);
    still = 0;
    for (std::size_t i = 0; i < kEventColumns; ++i) at[i] = columns[i].get();
    model.reset();
    std::memset(site_index, 0, sizeof site_index);
    std::memset(stray_index, 0, sizeof stray_index);
  }

  [[gnu::always_inline]] void put_time(std::uint64_t time_us) {
    const std::uint64_t raised = std::max(time_us, last_us);
    const std::uint64_t ticks = raised - last_us;
    last_us = raised;
    const std::uint64_t before = still;
    // Whether the clock moved is close to random, so it must not become a branch: the token is always written, and kept
    // only if it did.
    const std::uint64_t moved = (ticks | (0 - ticks)) >> 63;
    still = (before + 1) & (moved - 1);
    *at[Times] = static_cast<Octet>(std::min<std::uint64_t>(before, 15) << 4 | std::min<std::uint64_t>(ticks, 15));
    at[Times] += moved;
    if (ticks >= 15 || before >= 15) [[unlikely]] {
      if (moved != 0 && before >= 15) varint(Times, before - 15);
      if (ticks >= 15) varint(Times, ticks - 15);
    }
  }

  [[gnu::always_inline]] unsigned put_thread(std::uint32_t thread) {
    if (thread == model.thread) [[likely]]
      return 0;
    varint(Threads, thread);
    model.set_thread(thread);
    return kThreadBit;
  }

  [[gnu::always_inline]] std::uint16_t put_site(std::uint64_t key, unsigned& op) {
    std::uint16_t& after_three = model.after_three_sites();
    std::uint16_t& after_one = model.after_one_site();
    model.context->history = history_with(model.context->history, hash_of_site(key));
    std::uint16_t site = after_three;
    if (model.sites[site].key != key) {
      site = after_one;
      op |= bits(SiteCode::AfterOne) << kSiteShift;
      if (model.sites[site].key != key) [[unlikely]]
        site = put_unexpected_site(key, op);
    }
    after_three = after_one = site;
    return site;
  }

  [[gnu::noinline]] std::uint16_t put_unexpected_site(std::uint64_t key, unsigned& op) {
    op &= ~(bits(SiteCode::New) << kSiteShift);
    std::size_t slot = (key * kMix) >> (64 - kSiteIndexBits);
    while (site_index[slot] != 0 && model.sites[site_index[slot]].key != key) slot = (slot + 1) % std::size(site_index);
    if (const std::uint16_t site = site_index[slot]; site != 0) {
      op |= bits(SiteCode::Known) << kSiteShift;
      byte(Sites, site);
      byte(Sites, site >> 8u);
      return site;
    }
    op |= bits(SiteCode::New) << kSiteShift;
    const auto stack = static_cast<std::uint32_t>(key);
    byte(NewSites, key >> 32);
    varint(NewSites, zigzag(static_cast<std::int32_t>(stack - model.last_new_stack)));
    model.last_new_stack = stack;
    if (is_pool(static_cast<EventKind>(key >> 32))) varint(NewSites, pool_of_site(key));
    const std::uint16_t site = model.add_site(key);
    // The last number means another site every time, so it cannot be looked up.
    if (site != kLastSite) site_index[slot] = site;
    return site;
  }

  [[gnu::always_inline]] unsigned put_size(Site& site, std::uint64_t size) {
    if (site.last_size == size) [[likely]]
      return bits(SizeCode::Last) << kSizeShift;
    SizeCode code = SizeCode::Before;
    if (site.size_before != size) {
      code = SizeCode::Written;
      varint(Sizes, size);
    }
    model.remember(site, size);
    return bits(code) << kSizeShift;
  }

  [[gnu::always_inline]] unsigned put_place(std::uint64_t address, std::uint64_t size, std::uint16_t size_class,
                                            bool use_cache) {
    FreedList& list = model.lists[size_class];
    if (list.next(use_cache) == address) [[likely]] {
      list.pop(use_cache);
      return bits(Place::Freed);
    }
    if (model.context->behind == address) {
      model.context->behind += footprint_bytes(size);
      return bits(Place::Behind);
    }
    return bits(put_unexpected_place(list, address, size));
  }

  static std::size_t stray_slot(std::uint64_t address) { return ((address >> 4) * kMix) >> (64 - kStrayIndexBits); }

  [[gnu::noinline]] Place put_unexpected_place(FreedList& list, std::uint64_t address, std::uint64_t size) {
    if (const std::uint32_t position = list.find(address); position != FreedList::kNotFound) {
      byte(Positions, position);
      list.take(position);
      return Place::InList;
    }
    if (model.context->behind_other == address) {
      model.context->went_elsewhere(address, size);
      return Place::BehindOther;
    }
    const std::uint32_t stray = stray_index[stray_slot(address)];
    const std::uint32_t distance = model.stray_count - stray;
    if (distance - 1 < std::min(model.stray_count, kStrays) && model.strays[stray % kStrays] == address) {
      varint(Strays, distance);
      model.strays[stray % kStrays] = 0;
      return Place::Stray;
    }
    difference(Addresses, address, model.context->behind);
    model.context->went_elsewhere(address, size);
    return Place::Written;
  }

  // Says which block is released. `moves`: its address is free from now on.
  [[gnu::always_inline]] Origin put_origin(std::uint32_t index, Site& site, std::uint64_t address,
                                           std::uint64_t allocated_at, bool moves) {
    const std::uint64_t offset = allocated_at - first_number;
    if (offset < index) [[likely]] {
      const auto made_at = static_cast<std::uint32_t>(offset);
      const Made& block = model.made[made_at];
      if (block.address == address && block.size_class != 0) [[likely]] {
        Site& maker = model.sites[site.made_by];
        const std::uint32_t newest = model.newest(maker);
        const std::uint32_t age = index - made_at;
        Origin origin = Origin::Newest;
        if (newest == made_at + 1) {
          maker.newest = block.older;
        } else if (site.age == age) {
          origin = Origin::SameAge;
        } else {
          origin = Origin::Age;
          varint(Ages, age);
        }
        const std::uint16_t size_class = model.release(index, made_at, site);
        if (moves) model.lists[size_class].push(address);
        return origin;
      }
    }
    put_stray(address, moves);
    return Origin::Written;
  }

  [[gnu::noinline]] void put_stray(std::uint64_t address, bool moves) {
    difference(Releases, address, model.last_release);
    model.last_release = address;
    if (!moves) return;
    stray_index[stray_slot(address)] = model.stray_count;
    model.add_stray(address);
  }

  [[gnu::always_inline]] void put_allocation(std::uint32_t index, const Event& event) {
    unsigned op = put_thread(event.thread.value);
    const std::uint16_t site = put_site(site_key(event.stack.value, event.kind), op);
    op |= put_size(model.sites[site], event.size);
    const std::uint16_t size_class = size_class_of(event.size);
    op |= put_place(event.address, event.size, size_class, event.kind != EventKind::Calloc);
    model.make(index, site, event.address, size_class);
    byte(Ops, op);
  }

  [[gnu::always_inline]] void put_release(std::uint32_t index, const Event& event, std::uint64_t allocated_at) {
    unsigned op = put_thread(event.thread.value);
    const std::uint16_t site = put_site(site_key(event.stack.value, event.kind), op);
    op |= bits(put_origin(index, model.sites[site], event.address, allocated_at, true));
    model.make_nothing(index);
    byte(Ops, op);
  }

  [[gnu::noinline]] void put_reallocation(std::uint32_t index, const Event& event, std::uint64_t allocated_at) {
    unsigned op = put_thread(event.thread.value);
    const std::uint16_t site = put_site(site_key(event.stack.value, event.kind), op);
    op |= put_size(model.sites[site], event.size);
    const std::uint16_t size_class = size_class_of(event.size);
    const bool same = event.address == event.old_address;
    if (same) {
      op |= bits(Place::Same);
    } else if (event.address == 0) {
      op |= bits(Place::Nowhere);
    } else {
      op |= put_place(event.address, event.size, size_class, true);
    }
    Origin origin = Origin::None;
    if (event.old_address != 0) origin = put_origin(index, model.sites[site], event.old_address, allocated_at, !same);
    byte(Positions, bits(origin));
    model.make(index, site, event.address, size_class);
    byte(Ops, op);
  }

  [[gnu::noinline]] void put_pool(std::uint32_t index, const Event& event, std::uint64_t allocated_at) {
    unsigned op = put_thread(event.thread.value);
    const std::uint16_t site = put_site(site_key(event.stack.value, event.kind, event.old_address), op);
    op |= put_size(model.sites[site], event.size); // of a release always the same: 0
    model.set_pool(event.old_address);
    if (event.kind == EventKind::PoolAlloc) {
      const std::uint16_t size_class = size_class_of(event.size);
      op |= put_place(event.address, event.size, size_class, true);
      model.make(index, site, event.address, size_class);
    } else {
      op |= bits(event.address == 0 ? Origin::None
                                    : put_origin(index, model.sites[site], event.address, allocated_at, true));
      model.make_nothing(index);
    }
    model.set_thread(model.thread);
    byte(Ops, op);
  }

  [[gnu::noinline]] void put_other(std::uint32_t index, const Event& event) {
    HT_CHECK(event.kind < EventKind::TapeKinds);
    byte(Ops, bits(SiteCode::New) << kSiteShift);
    byte(NewSites, 0);
    byte(Others, bits(event.kind) | (event.old_released ? 0x80u : 0u));
    varint(Others, event.thread.value);
    varint(Others, event.stack.value);
    varint(Others, event.address);
    varint(Others, event.size);
    varint(Others, event.old_address);
    varint(Others, event.old_size);
    model.make_nothing(index);
  }
};

EventEncoder::EventEncoder() : state_(new State) {} // not value-initialised: most of it is never touched
EventEncoder::~EventEncoder() = default;
EventEncoder::EventEncoder(EventEncoder&&) noexcept = default;
EventEncoder& EventEncoder::operator=(EventEncoder&&) noexcept = default;

void EventEncoder::add(const Event& event, std::uint64_t allocated_at) {
  State& s = *state_;
  if (s.count == 0) [[unlikely]]
    s.start(event);
  const std::uint32_t index = s.count++;
  HT_CHECK(index < kMaxEvents && event.number == s.first_number + index);
  s.put_time(event.time_us);
  const Shape shape = kShapes[static_cast<std::size_t>(event.kind)];
  const std::uint64_t old = event.old_size | static_cast<std::uint64_t>(event.old_released);
  if (shape == Shape::Release) {
    if ((event.size | event.old_address | old) != 0) [[unlikely]]
      return s.put_other(index, event);
    s.put_release(index, event, allocated_at);
  } else if (shape == Shape::Allocation) {
    if ((event.old_address | old) != 0) [[unlikely]]
      return s.put_other(index, event);
    s.put_allocation(index, event);
  } else if (shape == Shape::Reallocation && old == 0) {
    s.put_reallocation(index, event, allocated_at);
  } else if (shape >= Shape::PoolAllocation && old == 0 && event.old_address <= kMostSitePool &&
             (shape == Shape::PoolAllocation || event.size == 0)) {
    s.put_pool(index, event, allocated_at);
  } else {
    s.put_other(index, event);
  }
}

bool EventEncoder::empty() const { return state_->count == 0; }
bool EventEncoder::full() const { return state_->count == kMaxEvents; }
std::size_t EventEncoder::count() const { return state_->count; }
std::uint64_t EventEncoder::first_number() const { return state_->first_number; }

std::span<const std::byte> EventEncoder::finish() {
  State& s = *state_;
  HT_CHECK(s.count != 0);
  EventChunkHead head{};
  head.first_number = s.first_number;
  head.first_us = s.first_us;
  head.last_us = s.last_us;
  head.count = s.count;
  s.payload.assign(sizeof head, std::byte{0});
  for (std::size_t i = 0; i < kEventColumns; ++i) {
    const auto column = std::as_bytes(std::span(s.columns[i].get(), s.at[i]));
    const std::size_t before = s.payload.size();
    if (!s.compressor.append(column, s.payload)) s.payload.insert(s.payload.end(), column.begin(), column.end());
    head.columns[i].raw_bytes = static_cast<std::uint32_t>(column.size());
    head.columns[i].stored_bytes = static_cast<std::uint32_t>(s.payload.size() - before);
  }
  head.checksum = event_chunk_head_checksum(head);
  std::memcpy(s.payload.data(), &head, sizeof head);
  s.count = 0;
  return s.payload;
}

} // namespace heaptape
