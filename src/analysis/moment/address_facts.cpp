#include "analysis/moment/address_facts.h"

#include <algorithm>

#include "analysis/moment/address_lives.h"

namespace heaptape {
namespace {

// Behind the end of a block there are at most as many bytes that it may use as glibc gives an empty one.
constexpr std::uint64_t kMostSlack = 24;
// Most questions are about the last block and the one before it; but somebody with a very old pointer asks about the first.
constexpr std::size_t kFirstEnded = 4, kLastEnded = 12;

bool is_older(const Tenant& a, const Tenant& b) { return a.event < b.event; }

class FactsListener {
public:
  explicit FactsListener(AddressFacts& facts) : facts_(facts) {}

  void began(const Tenant& life) {
    const bool is_after = facts_.freed && life.event > facts_.freed->end_event;
    if (is_after && !facts_.next && covers(life.address, life.size)) facts_.next = life;
  }
  void ended(const Tenant& life) {
    if (life.end_event > facts_.event) return;
    if (covers(life.address, life.size)) {
      remember(life);
      if (!ends_later(life, facts_.freed)) return;
      facts_.freed = life;
      facts_.next.reset();
      facts_.next_mapping.reset();
    } else if (facts_.address >= life.address + life.size && facts_.address - life.address < usable_bytes(life.size) &&
               ends_later(life, facts_.freed_in_front)) {
      facts_.freed_in_front = life;
    }
  }
  void bad_release(const Event& event) {
    const std::uint64_t address = is_reallocation(event.kind) ? event.old_address : event.address;
    if (address == facts_.address && event.number <= facts_.event && facts_.bad_releases.size() < kMostBadReleases)
      facts_.bad_releases.push_back(event);
  }
  void mapped(const MappingPiece& piece) {
    const bool is_after = facts_.freed && piece.event > facts_.freed->end_event;
    if (is_after && !facts_.next_mapping && covers(piece.begin, piece.bytes())) facts_.next_mapping = piece;
  }
  void unmapped(const MappingPiece& piece, const Event& event) {
    if (event.number > facts_.event || !covers(piece.begin, piece.bytes())) return;
    facts_.unmapped = piece;
    facts_.unmapping = event;
  }

  // At the moment.
  void add_live(const std::map<std::uint64_t, Tenant>& open) {
    for (const auto& [address, life] : open) {
      if (covers(life.address, life.size)) facts_.covering.push_back(life);
    }
    std::sort(facts_.covering.begin(), facts_.covering.end(), is_older);
  }

private:
  bool covers(std::uint64_t address, std::uint64_t size) const {
    return MemoryRange{facts_.address, facts_.address + 1}.meets(address, size);
  }
  // A realloc can end two blocks at once, its own and one whose release is not on the tape: then it is the older one.
  static bool ends_later(const Tenant& life, const std::optional<Tenant>& other) {
    return !other || life.end_event > other->end_event || is_older(life, *other);
  }
  void remember(const Tenant& life) {
    auto& all = facts_.covering;
    all.insert(std::upper_bound(all.begin(), all.end(), life, is_older), life);
    if (all.size() <= kFirstEnded + kLastEnded) return;
    all.erase(all.begin() + kFirstEnded);
    ++facts_.left_out;
  }

  AddressFacts& facts_;
};

} // namespace

std::uint64_t usable_bytes(std::uint64_t size) {
  return std::max<std::uint64_t>((size + 8 + 15) & ~std::uint64_t{15}, 32) - 8;
}

const Tenant* AddressFacts::before(std::uint64_t later) const {
  const auto found =
      std::find_if(covering.rbegin(), covering.rend(), [&](const Tenant& life) { return life.event < later; });
  return found != covering.rend() ? &*found : nullptr;
}

AddressFacts find_address_facts(const TapeReader& tape, const AddressQuery& query) {
  const std::uint64_t address = query.address;
  if (address == ~std::uint64_t{0}) return {.address = address, .event = query.event}; // no block ends behind it
  const MemoryRange range{address > kMostSlack ? address - kMostSlack : 0, address + 1};
  EventPicker picker(range);
  if (query.known_start != 0) picker.expect(query.known_start);
  const std::vector<InheritedBlock> inherited = tape.inherited_blocks(range.begin, range.end);
  for (const InheritedBlock& block : inherited) picker.expect(block.address);
  for (;;) {
    AddressFacts facts{.address = address, .event = query.event};
    FactsListener listener(facts);
    AddressLives lives(range, listener);
    lives.inherit(inherited);
    PoolState pools;
    const EventsPass pass = pick_events(
        tape, {.last = query.event, .stop = query.should_stop}, picker,
        [&](const Event& event) { return query.with_pools && is_pool(event.kind); },
        [&](const Event& event) {
          if (is_pool(event.kind))
            pools.apply(event);
          else
            lives.apply(event);
        });
    if (!pass.stopped && picker.missed()) continue;
    facts.damage = pass.damage;
    facts.stopped = pass.stopped;
    if (query.with_pools) facts.in_pools = pools.find_around(address);
    listener.add_live(lives.open());
    const bool is_reuse_known = !facts.freed || facts.next || facts.next_mapping;
    if (is_reuse_known || facts.stopped || query.read_on_until <= query.event) return facts;
    // Releases that are missed here do not matter: the lives that they end are not told about.
    const EventsPass later = pick_events(
        tape, {.first = query.event + 1, .last = query.read_on_until, .stop = query.should_stop}, picker,
        [](const Event&) { return false; }, [&](const Event& event) { lives.apply(event); });
    facts.damage.insert(facts.damage.end(), later.damage.begin(), later.damage.end());
    facts.stopped = later.stopped;
    return facts;
  }
}

} // namespace heaptape
