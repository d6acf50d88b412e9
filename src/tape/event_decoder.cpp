#include "tape/event_decoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/byte_cursor.h"
#include "tape/event_columns.h"
#include "tape/event_model.h"
#include "tape/event_times.h"

namespace heaptape {

namespace {

using namespace codec;
using namespace format;

} // namespace

// Events are decoded in batches, in three goes: which site made each, when, and then the blocks. None needs what a
// later one finds, and apart they are quicker: the sites follow from each other, so all else would wait for them, and
// most wrong guesses of the processor about the blocks would be noticed late.
//
// Every read of a column is checked by its ByteReader, which gives 0 once it failed; every number that is used as an
// index is checked here. A chunk that fails a check ends there.
struct EventDecoder::State {
  static constexpr std::size_t kBatch = EventTimes::kBatch;
  static constexpr std::size_t kPadding = 2 * kBatch + 2; // what the sites of a batch may read beyond their column

  // What is remembered of the thread whose event is decoded.
  struct OfThread {
    ThreadId thread;
    FreedList* lists;
    ThreadContext* context;
  };

  Checksums checksums = Checksums::Verify;
  EventChunkHead head;
  std::uint32_t index; // of the next event
  bool bad;
  std::array<ByteReader, kEventColumns> in =
      make_readers(std::make_index_sequence<kEventColumns>()); // Ops is not read by it
  EventColumns columns{kPadding};
  std::array<std::uint16_t, kBatch> numbers; // sites of the batch; 0: the event is in column Others
  std::array<std::uint32_t, kBatch> threads;
  EventTimes times;
  std::array<std::uint32_t, kLastSite + 1> hashes; // of the sites
  EventModel model;

  template <std::size_t... I>
  static std::array<ByteReader, kEventColumns> make_readers(std::index_sequence<I...>) {
    return {((void)I, ByteReader({}))...};
  }

  void fail() { bad = true; }

  std::uint64_t difference(EventColumn column) {
    const std::uint64_t code = in[column].varint();
    const auto bytes = static_cast<std::uint64_t>(unzigzag(code >> 1)) << 4;
    return (code & 1) != 0 ? bytes | (in[column].u8() & 15u) : bytes;
  }

  // 0: the event is in column Others.
  [[gnu::noinline]] std::uint16_t new_site() {
    const std::uint8_t kind = in[NewSites].u8();
    if (kShapes[kind] == Shape::Other) return 0;
    model.last_new_stack += static_cast<std::uint32_t>(unzigzag(in[NewSites].varint()));
    const std::uint64_t pool = kShapes[kind] >= Shape::PoolAllocation ? in[NewSites].varint() : 0;
    if (pool > kMostSitePool) fail();
    const std::uint64_t key = site_key(model.last_new_stack, static_cast<EventKind>(kind), pool & kMostSitePool);
    const std::uint16_t number = model.add_site(key);
    hashes[number] = hash_of_site(key);
    return number;
  }

  // Fills `numbers` and `threads`; how many of those wanted, which are at most kBatch.
  std::size_t read_sites(std::size_t wanted) {
    const std::byte* const ops = columns.data(Ops) + index;
    const std::byte* const first_written = in[Sites].rest().data();
    const std::byte* written = first_written; // at most two bytes further with each event
    std::uint64_t history = model.context->history;
    std::uint32_t thread = model.thread;
    std::size_t at = 0;
    for (; at < wanted; ++at) {
      const auto op = static_cast<unsigned>(ops[at]);
      const auto code = static_cast<SiteCode>(op >> kSiteShift & 3u);
      // A new site that has to share the last number would take it from events of this batch that still need it.
      if (code == SiteCode::New && at != 0 && model.site_count == kLastSite) [[unlikely]]
        break;
      if ((op & kThreadBit) != 0) [[unlikely]] {
        model.context->history = history;
        thread = static_cast<std::uint32_t>(in[Threads].varint());
        model.set_thread(thread);
        history = model.context->history;
      }
      threads[at] = thread;
      std::uint16_t* const after_three = model.after_three + after_three_sites(history);
      std::uint16_t* const after_one = model.after_one + after_one_site(history);
      std::uint16_t number = 0;
      if (code == SiteCode::New) [[unlikely]] {
        number = numbers[at] = new_site();
        if (number == 0) continue;
      } else {
        // Chosen without a branch, which would be guessed wrong too often.
        const void* from = code == SiteCode::AfterOne ? after_one : after_three;
        from = code == SiteCode::Known ? static_cast<const void*>(written) : from;
        const std::uint32_t end = code == SiteCode::Known ? model.site_count : kLastSite + 1;
        written += std::size_t{code == SiteCode::Known} * sizeof number;
        std::memcpy(&number, from, sizeof number);
        if (number - 1u >= end - 1u) [[unlikely]] {
          fail();
          break;
        }
        numbers[at] = number;
      }
      *after_three = *after_one = number;
      history = history_with(history, hashes[number]);
    }
    model.context->history = history;
    in[Sites].bytes(static_cast<std::uint64_t>(written - first_written));
    return at;
  }

  std::uint64_t size(Site& at, SizeCode code) {
    const std::uint64_t expected = code == SizeCode::Before ? at.size_before : at.last_size;
    const std::uint64_t now = code <= SizeCode::Before ? expected : in[Sizes].varint();
    model.remember(at, now); // changes nothing when it is the last one
    return now;
  }

  [[gnu::always_inline]] std::uint64_t place(Place code, std::uint64_t bytes, std::uint16_t size_class,
                                             const OfThread& of, bool use_cache) {
    FreedList& list = of.lists[size_class];
    ThreadContext& context = *of.context;
    std::uint64_t address = 0;
    switch (code) {
    case Place::Freed:
      address = list.next(use_cache);
      list.pop(use_cache);
      return address;
    case Place::Behind:
      address = context.behind;
      context.behind += footprint_bytes(bytes);
      return address;
    case Place::BehindOther:
      address = context.behind_other;
      context.went_elsewhere(address, bytes);
      return address;
    case Place::InList: {
      const std::uint8_t position = in[Positions].u8();
      if (position < list.cached + list.queued) return list.take(position);
      fail();
      return 0;
    }
    case Place::Stray: {
      const std::uint64_t distance = in[Strays].varint();
      if (distance - 1 >= std::min(model.stray_count, kStrays)) {
        fail();
        return 0;
      }
      std::uint64_t& stray = model.strays[(model.stray_count - distance) % kStrays];
      address = stray;
      stray = 0;
      return address;
    }
    case Place::Written:
      address = context.behind + difference(Addresses);
      context.went_elsewhere(address, bytes);
      return address;
    default:
      fail(); // Same and Nowhere are for reallocations, and handled there
      return 0;
    }
  }

  [[gnu::always_inline]] std::uint64_t origin(std::uint32_t now, Origin code, Site& at, const OfThread& of,
                                              bool moves) {
    std::uint64_t made_at = 0; // 1 + index
    switch (code) {
    case Origin::Newest: {
      Site& maker = model.sites[at.made_by];
      made_at = model.newest(maker);
      if (made_at != 0) maker.newest = model.made[made_at - 1].older;
      break;
    }
    case Origin::SameAge: made_at = at.age != 0 && at.age <= now ? now - at.age + 1 : 0; break;
    case Origin::Age: {
      const std::uint64_t age = in[Ages].varint();
      made_at = age != 0 && age <= now ? now - age + 1 : 0;
      break;
    }
    case Origin::Written:
      model.last_release += difference(Releases);
      if (moves) model.add_stray(model.last_release);
      return model.last_release;
    default: break;
    }
    if (made_at == 0 || model.made[made_at - 1].size_class == 0) {
      fail();
      return 0;
    }
    const std::uint64_t address = model.made[made_at - 1].address;
    const std::uint16_t size_class = model.release(now, static_cast<std::uint32_t>(made_at - 1), at);
    if (moves) of.lists[size_class].push(address);
    return address;
  }

  [[gnu::noinline]] void reallocation(Event& event, std::uint32_t now, std::uint16_t number, Place code,
                                      const OfThread& of) {
    Site& at = model.sites[number];
    const std::uint16_t size_class = size_class_of(event.size);
    const bool same = code == Place::Same;
    event.address = 0;
    if (!same && code != Place::Nowhere) event.address = place(code, event.size, size_class, of, true);
    const auto from = static_cast<Origin>(in[Positions].u8());
    if (from != Origin::None) event.old_address = origin(now, from, at, of, !same);
    if (same) event.address = event.old_address;
    model.make(now, number, event.address, size_class);
  }

  [[gnu::noinline]] void pool_event(Event& event, std::uint32_t now, std::uint16_t number, unsigned code) {
    Site& at = model.sites[number];
    event.old_address = pool_of_site(at.key);
    const std::uint32_t slot = EventModel::pool_slot(event.old_address);
    const OfThread of{event.thread, model.lists_of(slot), &model.context_of(slot)};
    if (event.kind == EventKind::PoolAlloc) {
      const std::uint16_t size_class = size_class_of(event.size);
      event.address = place(static_cast<Place>(code), event.size, size_class, of, true);
      model.make(now, number, event.address, size_class);
    } else {
      const auto from = static_cast<Origin>(code);
      event.address = from == Origin::None ? 0 : origin(now, from, at, of, true);
      model.make_nothing(now);
    }
  }

  [[gnu::noinline]] void other(Event& event, std::uint32_t now) {
    const std::uint8_t kind = in[Others].u8();
    event.kind = static_cast<EventKind>(kind & 0x7fu);
    event.old_released = (kind & 0x80u) != 0;
    event.thread = ThreadId(static_cast<std::uint32_t>(in[Others].varint()));
    event.stack = StackId(static_cast<std::uint32_t>(in[Others].varint()));
    event.address = in[Others].varint();
    event.size = in[Others].varint();
    event.old_address = in[Others].varint();
    event.old_size = in[Others].varint();
    model.make_nothing(now);
    if (event.kind >= EventKind::TapeKinds) fail();
  }

  // The rest of an event whose site and time are known.
  [[gnu::always_inline]] void read_block(Event& event, std::uint32_t now, std::uint16_t number, unsigned op,
                                         const OfThread& of) {
    Site& at = model.sites[number];
    const std::uint64_t key = at.key;
    const auto kind = static_cast<EventKind>(key >> 32);
    // Field by field: put together elsewhere and copied, an event takes three times as long.
    event.old_address = event.old_size = 0;
    event.stack = StackId(static_cast<std::uint32_t>(key));
    event.thread = of.thread;
    event.kind = kind;
    event.old_released = false;
    if (number == 0) [[unlikely]]
      return other(event, now);
    const Shape shape = kShapes[static_cast<std::size_t>(kind)];
    if (shape == Shape::Release) {
      event.size = 0;
      event.address = origin(now, static_cast<Origin>(op & 7u), at, of, true);
      model.make_nothing(now);
      return;
    }
    const std::uint64_t bytes = size(at, static_cast<SizeCode>(op >> kSizeShift & 3u));
    event.size = bytes;
    if (shape != Shape::Allocation) [[unlikely]] {
      if (shape != Shape::Reallocation) return pool_event(event, now, number, op & 7u);
      return reallocation(event, now, number, static_cast<Place>(op & 7u), of);
    }
    const std::uint16_t size_class = size_class_of(bytes);
    const std::uint64_t address = place(static_cast<Place>(op & 7u), bytes, size_class, of, kind != EventKind::Calloc);
    event.address = address;
    model.make(now, number, address, size_class);
  }

  // Fills the front of `events`, which are at most kBatch and no more than there are left; how many.
  std::size_t decode(std::span<Event> events) {
    const std::size_t with_site = read_sites(events.size());
    const std::size_t with_time = times.read(with_site, in[Times]);
    if (with_time < with_site) fail();
    events = events.first(with_time);
    const bool ends = std::exchange(bad, false); // behind these
    const std::byte* const ops = columns.data(Ops) + index;
    const std::uint64_t first_number = head.first_number + index;
    const std::uint32_t first_index = index;
    OfThread of{ThreadId(), model.lists_of(0), &model.context_of(0)};
    std::size_t at = 0;
    for (; at < events.size(); ++at) {
      if (of.thread.value != threads[at]) [[unlikely]]
        of = {ThreadId(threads[at]), model.lists_of(threads[at]), &model.context_of(threads[at])};
      Event& event = events[at];
      event.number = first_number + at;
      event.time_us = times[at];
      read_block(event, first_index + static_cast<std::uint32_t>(at), numbers[at], static_cast<unsigned>(ops[at]), of);
      if (bad) break;
    }
    index += static_cast<std::uint32_t>(at);
    bad = bad || ends;
    return at;
  }

  bool columns_hold() const {
    return std::all_of(in.begin(), in.end(), [](const ByteReader& column) { return column.ok(); });
  }
  bool all_used() const {
    return times.at_end() &&
           std::all_of(in.begin() + 1, in.end(), [](const ByteReader& column) { return column.done(); });
  }
};

EventDecoder::EventDecoder(Checksums checksums) : state_(new State) { // not value-initialised: it is large
  state_->checksums = checksums;
  state_->head.count = state_->index = 0;
  state_->bad = false;
}
EventDecoder::~EventDecoder() = default;
EventDecoder::EventDecoder(EventDecoder&&) noexcept = default;
EventDecoder& EventDecoder::operator=(EventDecoder&&) noexcept = default;

bool EventDecoder::start(std::span<const std::byte> payload) {
  State& s = *state_;
  s.bad = true;
  s.index = s.head.count = 0;
  const auto head = parse_event_chunk_head(payload, s.checksums);
  if (!head) return false;
  if (!s.columns.unpack(*head, payload.subspan(sizeof *head))) return false;
  for (std::size_t i = 0; i < kEventColumns; ++i) s.in[i] = ByteReader(s.columns[i]);
  s.head = *head;
  s.bad = false;
  s.times.start(head->first_us, head->last_us, s.in[Times]);
  s.model.reset();
  return true;
}

std::span<Event> EventDecoder::next(std::span<Event> room) {
  State& s = *state_;
  std::size_t count = 0;
  while (!s.bad && count < room.size() && s.index < s.head.count) {
    const std::size_t left = std::min<std::size_t>(room.size() - count, s.head.count - s.index);
    count += s.decode(room.subspan(count, std::min(left, State::kBatch)));
  }
  // A column that ended too early has given zeros since: nothing of this run can be trusted.
  if (!s.columns_hold()) {
    s.bad = true;
    count = 0;
  }
  if (s.index == s.head.count && !s.all_used()) s.bad = true;
  return room.first(count);
}

bool EventDecoder::failed() const { return state_->bad; }

} // namespace heaptape
