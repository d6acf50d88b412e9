// Who has a stretch of memory, event by event: what history_of() and find_address_facts() have in common.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/heap/mapping_set.h"
#include "analysis/moment/tenant.h"
#include "tape/inherited.h"
#include "tape/parallel_events.h"

namespace heaptape {

// Picks the events that may matter to a stretch of memory. picks() may be called from any thread.
class EventPicker {
public:
  explicit EventPicker(MemoryRange range) : range_(range), near_(range.begin > kNear ? range.begin - kNear : 0) {}

  bool picks(const Event& event) const {
    if (is_release(event.kind)) return may_begin(event.address);
    if (is_allocation(event.kind)) return may_change(event);
    if (is_reallocation(event.kind)) return may_change(event) || may_begin(event.old_address);
    return is_mapping(event.kind);
  }

  // A picked event, before it is applied: its block may begin where releases were not picked.
  void notice(const Event& event) {
    const bool makes = event.address != 0 && (is_allocation(event.kind) || is_reallocation(event.kind));
    if (makes && range_.meets(event.address, event.size) && !may_begin(event.address)) missed_.insert(event.address);
  }
  // A block that begins here is known to be in the range: its release is not missed.
  void expect(std::uint64_t address) { far_.insert(address); }
  // Whether releases may have been missed; from now on they are not.
  bool missed() {
    if (missed_.empty()) return false;
    far_.merge(missed_);
    missed_.clear();
    return true;
  }

private:
  // A release names only where its block begins. Blocks that begin further in front than this, and not where malloc puts those that have
  // a mapping of their own, are noticed when they are made, and the tape is then read again.
  static constexpr std::uint64_t kNear = std::uint64_t{128} << 10;

  // What makes a block: that one may lie here, or show that one that did is gone.
  bool may_change(const Event& event) const {
    return range_.meets(event.address, event.size) || may_begin(event.address);
  }
  bool may_begin(std::uint64_t address) const {
    if (address >= range_.end) return false;
    return address >= near_ || (address & 0xfff) == 0x10 || (!far_.empty() && far_.contains(address));
  }

  MemoryRange range_;
  std::uint64_t near_;
  std::unordered_set<std::uint64_t> far_, missed_;
};

// Makes lives of the picked events, and calls
//   listener.began(tenant), listener.ended(tenant)  for blocks in the range,
//   listener.bad_release(event)                      of an address in the range where no block of the tape began,
//   listener.mapped(piece), listener.unmapped(piece, event)  for all mappings.
template <class Listener>
class AddressLives {
public:
  AddressLives(MemoryRange range, Listener& listener) : range_(range), listener_(listener) {}

  void apply(const Event& event) {
    if (is_release(event.kind)) {
      end(event.address, LifeEnd::Released, event, 0);
    } else if (is_allocation(event.kind)) {
      make(event, 0);
    } else if (is_reallocation(event.kind)) {
      const LifeEnd how = event.address != 0 ? LifeEnd::Reallocated : LifeEnd::Released;
      if (!event.old_released) end(event.old_address, how, event, event.address);
      make(event, event.old_address);
    } else {
      mappings_.apply(event, MappingListener{listener_, event});
    }
  }

  // Before the first event: blocks that were there at the fork which made this process.
  void inherit(std::span<const InheritedBlock> blocks) {
    for (const InheritedBlock& block : blocks) {
      if (!range_.meets(block.address, block.size)) continue;
      Tenant& life = open_[block.address];
      life = {.address = block.address, .size = block.size, .kind = block.kind, .owner = {block.stack, ThreadId()}};
      life.inherited = true;
      life.age_us = block.age_us;
    }
  }

  // The blocks that are live, by address.
  const std::map<std::uint64_t, Tenant>& open() const { return open_; }

private:
  struct MappingListener {
    Listener& listener;
    const Event& event;

    void opened(const MappingPiece& piece, bool) const { listener.mapped(piece); }
    void closed(const MappingPiece& piece) const { listener.unmapped(piece, event); }
  };

  void make(const Event& event, std::uint64_t from) {
    if (event.address == 0) return;
    end(event.address, LifeEnd::Unseen, event, 0);
    if (!range_.meets(event.address, event.size)) return;
    Tenant& life = open_[event.address];
    life.address = event.address;
    life.size = event.size;
    life.kind = event.kind;
    life.event = event.number;
    life.time_us = event.time_us;
    life.owner = {event.stack, event.thread};
    life.from = from;
    listener_.began(life);
  }

  void end(std::uint64_t address, LifeEnd how, const Event& event, std::uint64_t to) {
    const auto found = open_.find(address);
    if (found == open_.end()) {
      const bool bad = how == LifeEnd::Released || how == LifeEnd::Reallocated;
      if (bad && address != 0 && range_.meets(address, 1)) listener_.bad_release(event);
      return;
    }
    Tenant& life = found->second;
    life.ended = how;
    life.end_kind = event.kind;
    life.end_event = event.number;
    life.end_us = event.time_us;
    life.ender = {event.stack, event.thread};
    life.to = to;
    listener_.ended(life);
    open_.erase(found);
  }

  MemoryRange range_;
  Listener& listener_;
  std::map<std::uint64_t, Tenant> open_; // by address
  MappingSet mappings_;
};

// Hands every event for which also(event) is true or that the picker picks to apply(event), in order. The tape is decoded on all
// processors; apply() is called from this thread.
template <class Also, class Apply>
EventsPass pick_events(const TapeReader& tape, const ParallelEvents& events, EventPicker& picker, Also&& also,
                       Apply&& apply) {
  return parallel_events<std::vector<Event>>(
      tape, events,
      [&](std::vector<Event>& picked, std::span<const Event> run) {
        for (const Event& event : run) {
          if (picker.picks(event) || also(event)) picked.push_back(event);
        }
      },
      [&](const std::vector<Event>& picked) {
        for (const Event& event : picked) {
          picker.notice(event);
          apply(event);
        }
      });
}

} // namespace heaptape
