#include "analysis/moment/address_history.h"

#include <algorithm>

#include "analysis/moment/address_lives.h"

namespace heaptape {
namespace {

// Keeps the latest lives.
class HistoryListener {
public:
  HistoryListener(MemoryRange range, std::size_t most) : range_(range), most_(most) {}

  void began(const Tenant&) {}
  void ended(const Tenant& life) {
    history_.lives.push_back(life);
    // Lives come in the order in which they end; a block that lived long comes late and may be older than those dropped
    // here.
    if (history_.lives.size() / 2 < most_ + 512) return;
    const auto middle = history_.lives.end() - static_cast<std::ptrdiff_t>(most_);
    std::nth_element(history_.lives.begin(), middle, history_.lives.end(), is_older);
    history_.earlier += static_cast<std::uint64_t>(middle - history_.lives.begin());
    history_.lives.erase(history_.lives.begin(), middle);
  }
  void bad_release(const Event& event) {
    if (history_.bad_releases.size() < kMostBadReleases) history_.bad_releases.push_back(event);
  }
  void mapped(const MappingPiece& piece) {
    if (range_.meets(piece.begin, piece.bytes())) history_.mappings.push_back({piece});
  }
  void unmapped(const MappingPiece& piece, const Event& event) {
    const auto found = std::find_if(history_.mappings.rbegin(), history_.mappings.rend(), [&](const MappingLife& life) {
      return life.closed_event == 0 && life.piece == piece;
    });
    if (found == history_.mappings.rend()) return;
    found->closed_event = event.number;
    found->closed_us = event.time_us;
  }

  History finish(const std::map<std::uint64_t, Tenant>& open) {
    std::sort(history_.lives.begin(), history_.lives.end(), is_older);
    if (history_.lives.size() > most_) {
      const std::size_t extra = history_.lives.size() - most_;
      history_.lives.erase(history_.lives.begin(), history_.lives.begin() + static_cast<std::ptrdiff_t>(extra));
      history_.earlier += extra;
    }
    // Those that are live come on top, however old: they are the answer to most questions.
    for (const auto& [address, life] : open) history_.lives.push_back(life);
    std::sort(history_.lives.begin(), history_.lives.end(), is_older);
    return std::move(history_);
  }

private:
  static bool is_older(const Tenant& a, const Tenant& b) { return a.event < b.event; }

  MemoryRange range_;
  std::size_t most_;
  History history_;
};

} // namespace

History history_of(const TapeReader& tape, const HistoryQuery& query) {
  EventPicker picker(query.range);
  const std::vector<InheritedBlock> inherited = tape.inherited_blocks(query.range.begin, query.range.end);
  for (const InheritedBlock& block : inherited) picker.expect(block.address);
  for (;;) {
    HistoryListener listener(query.range, query.most);
    AddressLives lives(query.range, listener);
    lives.inherit(inherited);
    const EventsPass pass = pick_events(
        tape, {.last = query.until, .stop = query.should_stop}, picker, [](const Event&) { return false; },
        [&](const Event& event) { lives.apply(event); });
    if (!pass.stopped && picker.missed()) continue;
    History history = listener.finish(lives.open());
    history.stopped = pass.stopped;
    history.damage = pass.damage;
    return history;
  }
}

} // namespace heaptape
