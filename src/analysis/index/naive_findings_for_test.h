// Every figure of Findings once more, worked out the slow way from a list of lives: who made each block, when it began, when
// and how it ended. Shares no code with what it checks but the types.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "analysis/index/findings.h"
#include "analysis/moment/moments.h"
#include "tape/event.h"

namespace heaptape::test {

struct Life {
  Event made;
  std::uint64_t ended = ~std::uint64_t{0}; // number of the event that ended it
  std::uint64_t ended_us = 0;
  ThreadId ended_by{};
  bool given_up = false;

  bool is_live_after(std::uint64_t event) const { return made.number <= event && ended > event; }
  Owner owner() const { return {made.stack, made.thread}; }
  Cost cost() const { return {made.size, 1}; }
};

class NaiveFindings {
public:
  explicit NaiveFindings(const std::vector<Event>& events) : events_(events) {
    std::map<std::uint64_t, std::size_t> at; // address -> life
    const auto end = [&](std::uint64_t address, const Event& event, bool given_up) {
      const auto found = at.find(address);
      if (found == at.end()) return false;
      Life& life = lives_[found->second];
      life.ended = event.number;
      life.ended_us = event.time_us;
      life.ended_by = event.thread;
      life.given_up = given_up;
      at.erase(found);
      return true;
    };
    for (const Event& event : events) {
      bool makes = false;
      switch (event.kind) {
      case EventKind::MmapAnonymous:
      case EventKind::MmapFile:
      case EventKind::Munmap:
      case EventKind::Mremap: break;
      case EventKind::Free:
      case EventKind::FreeSized:
      case EventKind::FreeAlignedSized:
      case EventKind::Cfree:
      case EventKind::Delete:
      case EventKind::DeleteArray:
      case EventKind::ReallocRelease:
        if (!end(event.address, event, false)) ++unknown_releases_;
        break;
      case EventKind::Realloc:
      case EventKind::ReallocArray:
        if (event.old_address != 0 && !event.old_released && !end(event.old_address, event, false)) ++unknown_releases_;
        makes = event.address != 0;
        break;
      default: makes = event.address != 0;
      }
      if (!makes) continue;
      if (end(event.address, event, true)) ++collisions_;
      at[event.address] = lives_.size();
      lives_.push_back({event});
    }
    find_peak();
  }

  HeapTotals totals_after(std::uint64_t event) const {
    HeapTotals totals;
    for (const Event& e : events_) {
      if (e.number > event) break;
      ++totals.events;
      ++totals.per_kind[static_cast<std::size_t>(e.kind)];
      const std::uint64_t live = live_bytes_[e.number];
      if (live > totals.peak_bytes) {
        totals.peak_bytes = live;
        totals.peak_event = e.number;
        totals.peak_us = e.time_us;
      }
    }
    for (const Life& life : lives_) {
      if (life.made.number > event) continue;
      totals.allocated_bytes += life.made.size;
      ++totals.allocated_blocks;
      if (!life.is_live_after(event)) continue;
      totals.live_bytes += life.made.size;
      ++totals.live_blocks;
    }
    if (event == events_.size()) {
      totals.unknown_releases = unknown_releases_;
      totals.collisions = collisions_;
    }
    return totals;
  }

  std::map<Owner, Cost> live_after(std::uint64_t event) const {
    std::map<Owner, Cost> live;
    for (const Life& life : lives_)
      if (life.is_live_after(event)) live[life.owner()] += life.cost();
    return live;
  }

  std::map<Owner, Figures> by_owner(std::uint64_t temporary_events, std::uint64_t short_us) const {
    std::map<Owner, Figures> rows;
    for (const Life& life : lives_) {
      Figures& row = rows[life.owner()];
      row.allocated += life.cost();
      row.largest = std::max(row.largest, life.made.size);
      if (life.is_live_after(peak_event_)) row.at_peak += life.cost();
      if (life.ended == ~std::uint64_t{0}) continue;
      row.freed += life.cost();
      const std::uint64_t lifetime = life.ended_us - life.made.time_us;
      row.lifetime_us += lifetime;
      if (lifetime <= short_us) row.short_lived += life.cost();
      if (!life.given_up && life.ended_by == life.made.thread &&
          events_between(life.made.thread, life.made.number, life.ended) <= temporary_events)
        row.temporary += life.cost();
    }
    add_regrown(rows);
    return rows;
  }

  std::map<Owner, WindowFigures> window(std::uint64_t after, std::uint64_t until) const {
    std::map<Owner, WindowFigures> rows;
    for (const Life& life : lives_) {
      if (life.made.number <= after || life.made.number > until) continue;
      WindowFigures& row = rows[life.owner()];
      row.owner = life.owner();
      row.allocated += life.cost();
      if (life.is_live_after(until)) row.live += life.cost();
    }
    return rows;
  }

  const std::vector<Life>& lives() const { return lives_; }
  std::uint64_t peak_event() const { return peak_event_; }
  std::uint64_t live_bytes_after(std::uint64_t event) const { return live_bytes_[event]; }
  std::uint64_t live_blocks_after(std::uint64_t event) const { return live_blocks_[event]; }

private:
  // How many events of the thread lie in (after, until].
  std::uint64_t events_between(ThreadId thread, std::uint64_t after, std::uint64_t until) const {
    return static_cast<std::uint64_t>(std::count_if(events_.begin() + static_cast<std::ptrdiff_t>(after),
                                                    events_.begin() + static_cast<std::ptrdiff_t>(until),
                                                    [&](const Event& event) { return event.thread == thread; }));
  }

  // Blocks that a realloc of their own stack made larger, and those that were released when one of the last two blocks that
  // the thread had made was the next larger one there. Each larger block counts once.
  void add_regrown(std::map<Owner, Figures>& rows) const {
    std::map<std::uint64_t, const Life*> made, ended; // by event
    for (const Life& life : lives_) {
      made[life.made.number] = &life;
      if (life.ended != ~std::uint64_t{0} && !life.given_up && life.ended_by == life.made.thread)
        ended[life.ended] = &life;
    }
    std::set<std::uint64_t> spent;
    for (const auto& [number, old] : ended) {
      const Event& event = events_[number - 1];
      Cost& regrown = rows[old->owner()].regrown;
      if (event.kind == EventKind::Realloc || event.kind == EventKind::ReallocArray) {
        if (event.address != 0 && event.stack == old->made.stack && event.size > old->made.size) regrown += old->cost();
        continue;
      }
      int left = 2;
      for (std::uint64_t before = number - 1; before != 0 && left != 0; --before) {
        const auto larger = made.find(before);
        if (larger == made.end() || larger->second->made.thread != event.thread) continue;
        --left;
        if (larger->second->owner() != old->owner() || spent.contains(before)) continue;
        const std::uint64_t from = old->made.size, to = larger->second->made.size;
        if (to <= from || 5 * (to - from) + 4 < from || to > 4 * from + 3) continue;
        spent.insert(before);
        regrown += old->cost();
        break;
      }
    }
  }

  void find_peak() {
    live_bytes_.assign(events_.size() + 1, 0);
    live_blocks_.assign(events_.size() + 1, 0);
    for (const Life& life : lives_) {
      for (std::uint64_t event = life.made.number; event <= events_.size() && event < life.ended; ++event) {
        live_bytes_[event] += life.made.size;
        ++live_blocks_[event];
      }
    }
    for (std::uint64_t event = 1; event <= events_.size(); ++event)
      if (live_bytes_[event] > live_bytes_[peak_event_]) peak_event_ = event;
  }

  const std::vector<Event>& events_;
  std::vector<Life> lives_;
  std::vector<std::uint64_t> live_bytes_, live_blocks_; // after each event
  std::uint64_t peak_event_ = 0;
  std::uint64_t unknown_releases_ = 0, collisions_ = 0;
};

// The program's mappings, page by page.
class NaiveMappings {
public:
  struct Page {
    std::uint64_t event;
    StackId stack;
    bool anonymous;
  };
  struct Open {
    Cost anonymous, file;
    std::map<StackId, Cost> by_stack, anonymous_by_stack;
  };

  void apply(const Event& event) {
    const auto pages = [](std::uint64_t address, std::uint64_t size) {
      std::vector<std::uint64_t> all;
      for (std::uint64_t page = address / 4096; page < (address + size + 4095) / 4096; ++page) all.push_back(page);
      return all;
    };
    if (event.kind == EventKind::Munmap) {
      for (const std::uint64_t page : pages(event.address, event.size)) pages_.erase(page);
      return;
    }
    bool anonymous = event.kind == EventKind::MmapAnonymous;
    if (event.kind == EventKind::Mremap) {
      const auto old = pages_.find(event.old_address / 4096);
      anonymous = old == pages_.end() || old->second.anonymous;
      if (event.old_size != 0)
        for (const std::uint64_t page : pages(event.old_address, event.old_size)) pages_.erase(page);
    }
    for (const std::uint64_t page : pages(event.address, event.size))
      pages_[page] = Page{event.number, event.stack, anonymous};
  }

  Open open() const {
    Open open;
    std::uint64_t last_page = 0, last_event = 0;
    for (const auto& [page, what] : pages_) {
      const bool begins = page != last_page + 1 || what.event != last_event;
      const Cost cost{4096, begins ? 1u : 0u};
      (what.anonymous ? open.anonymous : open.file) += cost;
      open.by_stack[what.stack] += cost;
      if (what.anonymous) open.anonymous_by_stack[what.stack] += cost;
      last_page = page;
      last_event = what.event;
    }
    return open;
  }

private:
  std::map<std::uint64_t, Page> pages_;
};

// Eight threads that allocate, release each other's blocks, reallocate in all ways, map over each other, use live addresses again
// and release what they never had; blocks of no bytes too.
inline std::vector<Event> wild_events(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  std::vector<Event> events;
  std::vector<std::uint64_t> live;
  std::uint64_t time_us = 0;
  const auto place = [&] { return 0x10000 + 16 * below(400); };
  const auto some_live = [&] {
    return live.empty() || below(15) == 0 ? place()
                                          : live[live.size() - 1 - below(std::min<std::size_t>(live.size(), 20))];
  };
  constexpr EventKind kMakers[] = {EventKind::Malloc, EventKind::Calloc,  EventKind::New,          EventKind::NewArray,
                                   EventKind::Valloc, EventKind::Pvalloc, EventKind::AlignedAlloc, EventKind::Memalign};
  constexpr EventKind kEnders[] = {EventKind::Free,          EventKind::Delete, EventKind::DeleteArray,
                                   EventKind::FreeSized,     EventKind::Cfree,  EventKind::FreeAlignedSized,
                                   EventKind::ReallocRelease};
  constexpr EventKind kMappers[] = {EventKind::MmapAnonymous, EventKind::MmapFile, EventKind::Munmap,
                                    EventKind::Mremap};
  ThreadId thread(1);
  for (std::uint64_t number = 1; number <= count; ++number) {
    Event event;
    event.number = number;
    event.time_us = time_us += below(3) == 0 ? below(100) == 0 ? below(20'000) : below(300) : 0;
    if (below(3) == 0) thread = ThreadId(static_cast<std::uint32_t>(1 + below(8)));
    event.thread = thread;
    event.stack = StackId(static_cast<std::uint32_t>(below(30)));
    event.size = below(10) == 0 ? 0 : below(8) == 0 ? below(100'000) : below(200);
    const std::uint64_t dice = below(100);
    if (dice < 45) {
      event.kind = kMakers[below(std::size(kMakers))];
      event.address = below(60) == 0 ? 0 : place();
    } else if (dice < 80) {
      event.kind = kEnders[below(std::size(kEnders))];
      event.address = some_live();
      event.size = 0;
    } else if (dice < 92) {
      event.kind = below(2) == 0 ? EventKind::Realloc : EventKind::ReallocArray;
      event.old_address = below(5) == 0 ? 0 : some_live();
      event.address = below(8) == 0 ? 0 : below(2) == 0 ? event.old_address : place();
      event.old_released = event.old_address != 0 && below(6) == 0;
    } else {
      event.kind = kMappers[below(std::size(kMappers))];
      event.address = 0x7f00'0000'0000 + 4096 * below(60);
      event.size = 1 + below(12 * 4096);
      if (event.kind == EventKind::Mremap) {
        event.old_address = 0x7f00'0000'0000 + 4096 * below(60);
        event.old_size = below(6) == 0 ? 0 : 1 + below(12 * 4096);
      }
    }
    if (event.address != 0 && dice < 45) live.push_back(event.address);
    events.push_back(event);
  }
  return events;
}

} // namespace heaptape::test
