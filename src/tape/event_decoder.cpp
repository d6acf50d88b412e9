#include "tape/event_decoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/byte_cursor.h"
#include "tape/compression.h"
#include "tape/event_model.h"

namespace heaptape {

namespace {

using namespace codec;
using namespace format;

} // namespace

std::uint64_t format::event_block_head_checksum(const EventBlockHead& head) {
  return checksum(std::as_bytes(std::span(&head, 1)).first(offsetof(EventBlockHead, checksum)));
}

std::optional<EventBlockHead> parse_event_block_head(std::span<const std::byte> payload, Checksums checksums) {
  EventBlockHead head;
  if (payload.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, payload.data(), sizeof head);
  if (checksums == Checksums::Verify && head.checksum != event_block_head_checksum(head)) return std::nullopt;
  if (head.count == 0 || head.count > kMaxEventsPerBlock || head.first_number == 0 ||
      head.first_number > ~std::uint64_t{0} - head.count || head.first_us > head.last_us)
    return std::nullopt;
  for (const EventBlockHead::Column& column : head.columns) {
    if (column.stored_bytes > column.raw_bytes || column.raw_bytes > kMaxPayloadBytes) return std::nullopt;
  }
  if (head.columns[Ops].raw_bytes != head.count) return std::nullopt;
  return head;
}

// Every read of a column is checked by its ByteReader, which gives 0 once it failed; every number that is used as an index is
// checked here. A block that fails a check ends there.
struct EventDecoder::State {
  Checksums checksums = Checksums::Verify;
  EventBlockHead head;
  std::uint32_t index; // of the next event
  bool bad;
  std::uint64_t time_us;
  std::uint64_t still;     // events until time moves
  std::uint64_t next_tick; // by how much it moves then; 0: not any more
  std::array<ByteReader, kEventColumns> in = make_readers(std::make_index_sequence<kEventColumns>());
  std::array<std::vector<std::byte>, kEventColumns> columns;
  Decompressor decompressor;
  EventModel model;

  template <std::size_t... I>
  static std::array<ByteReader, kEventColumns> make_readers(std::index_sequence<I...>) {
    return {((void)I, ByteReader({}))...};
  }

  void fail() { bad = true; }

  void read_time_token() {
    if (in[Times].remaining() == 0) {
      still = ~std::uint64_t{0};
      next_tick = 0;
      return;
    }
    const std::uint8_t token = in[Times].u8();
    still = token >> 4u;
    next_tick = token & 15u;
    if (still == 15) still += in[Times].varint();
    if (next_tick == 15) next_tick += in[Times].varint();
  }

  void move_time() {
    if (still != 0) {
      --still;
      return;
    }
    if (next_tick > head.last_us - time_us) return fail();
    time_us += next_tick;
    read_time_token();
  }

  std::uint64_t difference(EventColumn column) {
    const std::uint64_t code = in[column].varint();
    const auto bytes = static_cast<std::uint64_t>(unzigzag(code >> 1)) << 4;
    return (code & 1) != 0 ? bytes | (in[column].u8() & 15u) : bytes;
  }

  // 0: the event is in column Others, or nothing makes sense.
  std::uint16_t site(SiteCode code) {
    std::uint16_t& after_three = model.after_three_sites();
    std::uint16_t& after_one = model.after_one_site();
    std::uint16_t found = after_three;
    if (code == SiteCode::AfterOne) {
      found = after_one;
    } else if (code == SiteCode::Known) {
      found = in[Sites].u16();
      if (found >= model.site_count) found = 0;
    } else if (code == SiteCode::New) {
      const std::uint8_t kind = in[NewSites].u8();
      if (kShapes[kind] == Shape::Other) return 0;
      model.last_new_stack += static_cast<std::uint32_t>(unzigzag(in[NewSites].varint()));
      found = model.add_site(site_key(model.last_new_stack, static_cast<EventKind>(kind)));
    }
    if (found == 0) {
      fail();
      return 0;
    }
    model.saw(model.sites[found].key);
    after_three = after_one = found;
    return found;
  }

  std::uint64_t size(Site& at, SizeCode code) {
    if (code == SizeCode::Last) return at.last_size;
    const std::uint64_t now = code == SizeCode::Before ? at.size_before : in[Sizes].varint();
    model.remember(at, now);
    return now;
  }

  std::uint64_t place(Place code, std::uint64_t bytes, std::uint16_t size_class, bool use_cache) {
    FreedList& list = model.lists[size_class];
    ThreadContext& context = *model.context;
    std::uint64_t address = 0;
    switch (code) {
    case Place::Freed:
      address = list.next(use_cache);
      list.pop(use_cache);
      return address;
    case Place::Behind:
      address = context.behind;
      context.behind += chunk_bytes(bytes);
      return address;
    case Place::BehindOther:
      address = context.behind_other;
      model.went_elsewhere(address, bytes);
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
      model.went_elsewhere(address, bytes);
      return address;
    default:
      fail(); // Same and Nowhere are for reallocations, and handled there
      return 0;
    }
  }

  std::uint64_t origin(Origin code, Site& at, bool moves) {
    std::uint64_t made_at = 0; // 1 + index
    switch (code) {
    case Origin::Newest: {
      Site& maker = model.sites[at.made_by];
      made_at = model.newest(maker);
      if (made_at != 0) maker.newest = model.made[made_at - 1].older;
      break;
    }
    case Origin::SameAge: made_at = at.age != 0 && at.age <= index ? index - at.age + 1 : 0; break;
    case Origin::Age: {
      const std::uint64_t age = in[Ages].varint();
      made_at = age != 0 && age <= index ? index - age + 1 : 0;
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
    const std::uint16_t size_class = model.release(index, static_cast<std::uint32_t>(made_at - 1), at);
    if (moves) model.lists[size_class].push(address);
    return address;
  }

  void reallocation(Event& event, std::uint16_t number, Place code) {
    Site& at = model.sites[number];
    const std::uint16_t size_class = size_class_of(event.size);
    const bool same = code == Place::Same;
    if (!same && code != Place::Nowhere) event.address = place(code, event.size, size_class, true);
    const auto from = static_cast<Origin>(in[Positions].u8());
    if (from != Origin::None) event.old_address = origin(from, at, !same);
    if (same) event.address = event.old_address;
    model.make(index, number, event.address, size_class);
  }

  void other(Event& event) {
    const std::uint8_t kind = in[Others].u8();
    event.kind = static_cast<EventKind>(kind & 0x7fu);
    event.old_released = (kind & 0x80u) != 0;
    event.thread = ThreadId(static_cast<std::uint32_t>(in[Others].varint()));
    event.stack = StackId(static_cast<std::uint32_t>(in[Others].varint()));
    event.address = in[Others].varint();
    event.size = in[Others].varint();
    event.old_address = in[Others].varint();
    event.old_size = in[Others].varint();
    model.make_nothing(index);
    if (event.kind >= EventKind::TapeKinds) fail();
  }

  void decode(Event& event) {
    move_time();
    event = Event{};
    event.number = head.first_number + index;
    event.time_us = time_us;
    const unsigned op = in[Ops].u8();
    if ((op & kThreadBit) != 0) model.set_thread(static_cast<std::uint32_t>(in[Threads].varint()));
    const std::uint16_t number = site(static_cast<SiteCode>(op >> kSiteShift & 3u));
    if (number == 0) return other(event);
    Site& at = model.sites[number];
    event.kind = static_cast<EventKind>(at.key >> 32);
    event.stack = StackId(static_cast<std::uint32_t>(at.key));
    event.thread = ThreadId(model.thread);
    const Shape shape = kShapes[static_cast<std::size_t>(event.kind)];
    if (shape == Shape::Release) {
      event.address = origin(static_cast<Origin>(op & 7u), at, true);
      model.make_nothing(index);
      return;
    }
    event.size = size(at, static_cast<SizeCode>(op >> kSizeShift & 3u));
    if (shape == Shape::Reallocation) return reallocation(event, number, static_cast<Place>(op & 7u));
    const std::uint16_t size_class = size_class_of(event.size);
    event.address = place(static_cast<Place>(op & 7u), event.size, size_class, event.kind != EventKind::Calloc);
    model.make(index, number, event.address, size_class);
  }

  bool columns_hold() const {
    return std::all_of(in.begin(), in.end(), [](const ByteReader& column) { return column.ok(); });
  }
  bool all_used() const {
    return time_us == head.last_us &&
           std::all_of(in.begin(), in.end(), [](const ByteReader& column) { return column.done(); });
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
  const auto head = parse_event_block_head(payload, s.checksums);
  if (!head) return false;
  payload = payload.subspan(sizeof *head);
  for (std::size_t i = 0; i < kEventColumns; ++i) {
    const auto& sizes = head->columns[i];
    if (sizes.stored_bytes > payload.size()) return false;
    const auto stored = payload.first(sizes.stored_bytes);
    payload = payload.subspan(sizes.stored_bytes);
    auto& column = s.columns[i];
    if (sizes.stored_bytes == sizes.raw_bytes) {
      column.assign(stored.begin(), stored.end());
    } else {
      column.resize(sizes.raw_bytes);
      if (!s.decompressor.fill(stored, column)) return false;
    }
    s.in[i] = ByteReader(column);
  }
  if (!payload.empty()) return false;
  s.head = *head;
  s.bad = false;
  s.time_us = head->first_us;
  s.model.reset();
  s.read_time_token();
  return true;
}

std::span<Event> EventDecoder::next(std::span<Event> room) {
  State& s = *state_;
  std::size_t count = 0;
  while (!s.bad && count < room.size() && s.index < s.head.count) {
    s.decode(room[count]);
    if (s.bad) break;
    ++s.index;
    ++count;
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
