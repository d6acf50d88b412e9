#include "analysis/moment/odd_findings.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "wire/event_kind.h"

namespace heaptape {
namespace {

bool was_not_live(const OddCall& call) { return call.kind == OddKind::NotLive || call.kind == OddKind::Unfinished; }

// Follows the blocks that cover a few addresses.
class AddressWatch {
public:
  void watch(std::uint64_t address) { places_.emplace(address, Place{}); }

  void apply(const Event& event) {
    if (is_release(event.kind)) {
      release(event.address, event.number);
    } else if (is_reallocation(event.kind)) {
      if (event.old_address != 0 && !event.old_released) release(event.old_address, event.number);
      if (event.address != 0) make(event);
    } else if (is_allocation(event.kind)) {
      make(event);
    }
  }

  // What an address is just now that is not a live block's first.
  OddFinding look_at(std::uint64_t address) const {
    const auto found = places_.find(address);
    if (found == places_.end()) return {};
    const Place& place = found->second;
    const bool is_first = place.start == address;
    if (place.maker == 0 || (place.released_by == 0 && is_first)) return {};
    OddFinding finding;
    finding.sort = is_first ? OddSort::ReleasedTwice : OddSort::InsideBlock;
    finding.other = is_first ? place.released_by : place.maker;
    return finding;
  }

private:
  // The last block that covered an address.
  struct Place {
    std::uint64_t start = 0;
    std::uint64_t maker = 0;       // event; 0: there was none
    std::uint64_t released_by = 0; // event; 0: it is live
  };

  void make(const Event& event) {
    const std::uint64_t last = event.address + std::max<std::uint64_t>(event.size, 1) - 1;
    for (auto place = places_.lower_bound(event.address); place != places_.end() && place->first <= last; ++place) {
      place->second = {event.address, event.number, 0};
      at_start_[event.address].push_back(place->first);
    }
  }
  void release(std::uint64_t address, std::uint64_t event) {
    const auto found = at_start_.find(address);
    if (found == at_start_.end()) return;
    for (const std::uint64_t covered : found->second) {
      Place& place = places_[covered];
      if (place.start == address && place.released_by == 0) place.released_by = event;
    }
    at_start_.erase(found);
  }

  std::map<std::uint64_t, Place> places_; // by address
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>>
      at_start_; // addresses that live blocks cover, by the block's first
};

OddSort sort_of(OddKind kind) {
  switch (kind) {
  case OddKind::Failed: return OddSort::Failed;
  case OddKind::Mismatch: return OddSort::Mismatch;
  case OddKind::WrongSize: return OddSort::WrongSize;
  default: return OddSort::NotKnown;
  }
}

void look_into(const TapeReader& tape, std::vector<OddFinding*>& calls, const std::function<bool()>& should_stop) {
  AddressWatch watch;
  for (const OddFinding* finding : calls) watch.watch(finding->call.address);
  const auto settle = [&](OddFinding& finding) {
    OddFinding found = watch.look_at(finding.call.address);
    if (found.sort == OddSort::NotKnown) found = place_of_address(tape, finding.call.address, finding.call.thread);
    found.call = finding.call;
    finding = found;
  };
  auto next = calls.begin();
  EventCursor cursor = tape.events();
  const Event* event = nullptr;
  while (next != calls.end() && (event = cursor.next()) != nullptr) {
    if (event->number % (1 << 16) == 0 && should_stop && should_stop()) return;
    // A release is looked at before it happens; a call that is not an event happened after the event it names.
    for (; next != calls.end(); ++next) {
      const OddCall& call = (*next)->call;
      if (is_event(call.kind) ? call.event > event->number : call.event >= event->number) break;
      settle(**next);
    }
    watch.apply(*event);
  }
  for (; next != calls.end(); ++next) settle(**next);
}

} // namespace

OddFinding place_of_address(const TapeReader& tape, std::uint64_t address, ThreadId thread) {
  constexpr std::uint64_t kStackReach = std::uint64_t{8} << 20; // as large as stacks usually are
  constexpr std::uint64_t kAboveTop = std::uint64_t{64} << 10;  // the known top is somewhere in the uppermost pages
  OddFinding finding;
  std::uint64_t nearest = kStackReach + kAboveTop;
  for (const Thread& other : tape.threads()) {
    if (other.stack_top == 0 || address >= other.stack_top + kAboveTop) continue;
    const std::uint64_t distance = other.stack_top + kAboveTop - address;
    if (distance >= nearest && !(other.id == thread && distance < kStackReach)) continue;
    finding.sort = OddSort::OnStack;
    finding.stack_of = other.id;
    nearest = other.id == thread ? 0 : distance; // nobody is nearer than the one that used it
  }
  for (const Module& module : tape.modules()) {
    if (address < module.start || address >= module.end) continue;
    finding.sort = OddSort::InModule;
    finding.module = &module;
  }
  return finding;
}

std::vector<OddFinding> odd_findings(const TapeReader& tape, std::size_t most_looked_at,
                                     const std::function<bool()>& should_stop) {
  std::vector<OddFinding> findings;
  findings.reserve(tape.odd_calls().calls.size());
  for (const OddCall& call : tape.odd_calls().calls) {
    findings.push_back({.call = call, .sort = sort_of(call.kind), .other = call.maker});
  }
  std::vector<OddFinding*> not_live;
  for (OddFinding& finding : findings) {
    if (was_not_live(finding.call) && not_live.size() < most_looked_at) not_live.push_back(&finding);
  }
  if (!not_live.empty()) look_into(tape, not_live, should_stop);
  return findings;
}

} // namespace heaptape
