#include "analysis/moment/address_history.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "tape/parallel_events.h"

namespace heaptape {
namespace {

// A release names only where its block begins. Blocks that begin further in front than this, and not where malloc puts
// those that have a mapping of their own, are noticed when they are made, and the tape is then read again.
constexpr std::uint64_t kNear = std::uint64_t{128} << 10;

// Picks the events that may matter. picks() may be called from any thread.
class Picker {
public:
  explicit Picker(MemoryRange range) : range_(range), near_(range.begin > kNear ? range.begin - kNear : 0) {}

  bool picks(const Event& event) const {
    if (is_release(event.kind)) return may_begin(event.address);
    if (is_allocation(event.kind)) return may_change(event);
    if (is_reallocation(event.kind)) return may_change(event) || may_begin(event.old_address);
    return is_mapping(event.kind);
  }

  // A block that begins here was made in the range.
  void notice(std::uint64_t address) {
    if (!may_begin(address)) missed_.insert(address);
  }
  // Whether releases may have been missed; from now on they are not.
  bool missed() {
    if (missed_.empty()) return false;
    far_.merge(missed_);
    missed_.clear();
    return true;
  }

private:
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

// Makes lives of the picked events.
class Lives {
public:
  Lives(MemoryRange range, std::size_t most) : range_(range), most_(most) {}

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
      map(event);
    }
  }

  History finish() {
    const auto older = [](const Tenant& a, const Tenant& b) { return a.event < b.event; };
    std::sort(history_.lives.begin(), history_.lives.end(), older);
    if (history_.lives.size() > most_) {
      const std::size_t extra = history_.lives.size() - most_;
      history_.lives.erase(history_.lives.begin(), history_.lives.begin() + static_cast<std::ptrdiff_t>(extra));
      history_.earlier += extra;
    }
    // Those that are live come on top, however old: they are the answer to most questions.
    for (const auto& [address, life] : open_) history_.lives.push_back(life);
    std::sort(history_.lives.begin(), history_.lives.end(), older);
    return std::move(history_);
  }

private:
  struct MappingListener {
    Lives& lives;
    const Event& event;

    void opened(const MappingPiece& piece, bool) const {
      if (lives.range_.meets(piece.begin, piece.bytes())) lives.history_.mappings.push_back({piece});
    }
    void closed(const MappingPiece& piece) const {
      const auto found =
          std::find_if(lives.history_.mappings.rbegin(), lives.history_.mappings.rend(),
                       [&](const MappingLife& life) { return life.closed_event == 0 && life.piece == piece; });
      if (found == lives.history_.mappings.rend()) return;
      found->closed_event = event.number;
      found->closed_us = event.time_us;
    }
  };

  void map(const Event& event) { mappings_.apply(event, MappingListener{*this, event}); }

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
  }

  void end(std::uint64_t address, LifeEnd how, const Event& event, std::uint64_t to) {
    const auto found = open_.find(address);
    if (found == open_.end()) {
      const bool bad = how == LifeEnd::Released || how == LifeEnd::Reallocated;
      if (bad && address != 0 && range_.meets(address, 1) && history_.bad_releases.size() < kMostBad)
        history_.bad_releases.push_back(event);
      return;
    }
    Tenant& life = found->second;
    life.ended = how;
    life.end_kind = event.kind;
    life.end_event = event.number;
    life.end_us = event.time_us;
    life.ender = {event.stack, event.thread};
    life.to = to;
    keep(life);
    open_.erase(found);
  }

  void keep(const Tenant& life) {
    history_.lives.push_back(life);
    // Lives come in the order in which they end; a block that lived long comes late and may be older than those dropped
    // here.
    if (history_.lives.size() / 2 < most_ + 512) return;
    const auto middle = history_.lives.end() - static_cast<std::ptrdiff_t>(most_);
    std::nth_element(history_.lives.begin(), middle, history_.lives.end(),
                     [](const Tenant& a, const Tenant& b) { return a.event < b.event; });
    history_.earlier += static_cast<std::uint64_t>(middle - history_.lives.begin());
    history_.lives.erase(history_.lives.begin(), middle);
  }

  static constexpr std::size_t kMostBad = 100;

  MemoryRange range_;
  std::size_t most_;
  std::map<std::uint64_t, Tenant> open_; // by address
  MappingSet mappings_;
  History history_;
};

} // namespace

History history_of(const TapeReader& tape, const HistoryQuery& query) {
  Picker picker(query.range);
  for (;;) {
    Lives lives(query.range, query.most);
    const EventsPass pass = parallel_events<std::vector<Event>>(
        tape, {.last = query.until, .stop = query.should_stop},
        [&](std::vector<Event>& picked, std::span<const Event> events) {
          for (const Event& event : events) {
            if (picker.picks(event)) picked.push_back(event);
          }
        },
        [&](const std::vector<Event>& picked) {
          for (const Event& event : picked) {
            const bool makes = event.address != 0 && (is_allocation(event.kind) || is_reallocation(event.kind));
            if (makes && query.range.meets(event.address, event.size)) picker.notice(event.address);
            lives.apply(event);
          }
        });
    if (!pass.stopped && picker.missed()) continue;
    History history = lives.finish();
    history.stopped = pass.stopped;
    history.damage = pass.damage;
    return history;
  }
}

} // namespace heaptape
