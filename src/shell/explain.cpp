#include "shell/explain.h"

#include <algorithm>
#include <utility>

#include "analysis/heap/pool_state.h"
#include "analysis/moment/event_search.h"
#include "analysis/space/address_space.h"
#include "shell/pool_blocks.h"

namespace heaptape {
namespace {

// An overrun is seldom longer.
constexpr std::uint64_t kReachBehind = 64;
// What glibc keeps in front of a block: its size, and the size of a free neighbour.
constexpr std::uint64_t kHeader = 16;

class Explainer {
public:
  Explainer(Session& session, std::uint64_t address) : session_(session), address_(address) {
    answer_.address = address;
  }

  Explanation run(std::optional<AddressFacts> known) {
    if (is_odd()) return std::move(answer_);
    holder_ = session_.heap().find_around(address_);
    before_ = session_.heap().block_before(address_);
    after_ = session_.heap().block_after(address_);
    const bool is_slack = !holder_ && before_ && behind(*before_) < usable_bytes(before_->size) - before_->size;
    facts_ = known ? *std::move(known) : find_facts(is_slack);
    session_.note(facts_.damage);
    answer_.stopped = facts_.stopped;
    answer_.in_pools = facts_.in_pools ? *std::move(facts_.in_pools) : pool_blocks_around(session_, address_);
    choose(is_slack);
    // Whatever it is: somebody took it for a block.
    if (!answer_.block) answer_.bad_releases = std::move(facts_.bad_releases);
    return std::move(answer_);
  }

private:
  // Some patterns and texts are addresses all the same, if something is mapped there.
  bool is_odd() {
    OddAddress odd = odd_address(address_);
    if (odd.kind == AddressKind::Nothing) return false;
    if (odd.kind != AddressKind::Null && session_.space().find(address_) != nullptr) return false;
    answer_.kind = odd.kind;
    answer_.oddity = std::move(odd.sentence);
    return true;
  }

  // Of the rounding that malloc gave a live block with its size the tape has no more to tell, unless it is in a pool.
  AddressFacts find_facts(bool is_slack) const {
    AddressFacts facts{.address = address_, .event = session_.event()};
    const bool with_pools = has_pools(session_.heap().totals());
    if (!is_slack || with_pools) {
      facts = find_address_facts(session_.tape(), {.address = address_,
                                                   .event = session_.event(),
                                                   .read_on_until = holder_ || is_slack ? 0 : session_.last_event(),
                                                   .known_start = holder_ ? holder_->address : 0,
                                                   .with_pools = with_pools,
                                                   .should_stop = session_.stopper()});
    }
    if (!with_pools) facts.in_pools.emplace();
    return facts;
  }

  // How far the address lies behind a block that begins in front of it and does not hold it.
  std::uint64_t behind(const Block& block) const { return address_ - block.address - block.size; }

  // What is nearest comes first; what is live before what is gone.
  void choose(bool is_slack) {
    if (holder_) {
      set(AddressKind::LiveBlock, tenant_of(*holder_), address_ - holder_->address);
      if (const Tenant* former = facts_.before(holder_->event)) answer_.former = *former;
      take_bad_releases();
    } else if (const Tenant* inherited = facts_.live_inherited()) {
      set(AddressKind::LiveBlock, *inherited, address_ - inherited->address);
      take_bad_releases();
    } else if (is_slack) {
      set(AddressKind::PastEnd, tenant_of(*before_), behind(*before_));
    } else if (facts_.freed) {
      set(AddressKind::FreedBlock, *facts_.freed, address_ - facts_.freed->address);
      take_next();
      take_bad_releases();
    } else if (const auto& gone = facts_.freed_in_front) {
      set(AddressKind::PastEnd, *gone, address_ - gone->address - gone->size);
    } else if (before_ && behind(*before_) < kReachBehind) {
      set(AddressKind::PastEnd, tenant_of(*before_), behind(*before_));
    } else if (after_ && after_->address - address_ <= kHeader) {
      set(AddressKind::BeforeStart, tenant_of(*after_), after_->address - address_);
    } else {
      by_mapping();
    }
  }

  // A live block as history tells it; the blocks of the heap are those that count.
  Tenant tenant_of(const Block& block) const {
    Tenant tenant{.address = block.address, .size = block.size, .event = block.event, .time_us = block.time_us};
    tenant.owner = session_.heap().owner_of(block);
    if (const auto event = event_numbered(session_.tape(), block.event)) {
      tenant.kind = event->kind;
      if (is_reallocation(event->kind)) tenant.from = event->old_address;
    }
    return tenant;
  }

  // The facts have those of this very address.
  void take_bad_releases() {
    if (address_ - answer_.block->address < std::max<std::uint64_t>(answer_.block->size, 1))
      answer_.bad_releases = std::move(facts_.bad_releases);
  }

  void take_next() {
    const bool is_mapped_first =
        facts_.next_mapping && (!facts_.next || facts_.next_mapping->event < facts_.next->event);
    if (is_mapped_first)
      answer_.next_mapping = facts_.next_mapping;
    else
      answer_.next = facts_.next;
  }

  void by_mapping() {
    const SpaceRange* range = session_.space().find(address_);
    if (range == nullptr) return;
    answer_.range = *range;
    switch (range->kind) {
    case RangeKind::MainStack:
    case RangeKind::ThreadStack: answer_.kind = AddressKind::Stack; break;
    case RangeKind::MainHeap:
    case RangeKind::ThreadArena:
      answer_.kind = AddressKind::FreeMemory;
      answer_.before = before_;
      answer_.after = after_;
      break;
    case RangeKind::Module: in_module(); break;
    case RangeKind::Special: answer_.kind = AddressKind::Mapping; break;
    case RangeKind::File:
    case RangeKind::Anonymous:
      answer_.kind = AddressKind::Mapping;
      if (range->event == 0) break;
      if (const MappingPiece* piece = session_.heap().state().mappings().find(range->begin)) answer_.mapper = *piece;
      break;
    }
  }

  void in_module() {
    answer_.symbol = session_.symbols().at(address_, session_.time_us());
    answer_.kind = !answer_.symbol                                        ? AddressKind::Mapping
                   : answer_.symbol->symbol->sort == SymbolSort::Function ? AddressKind::Code
                                                                          : AddressKind::Global;
  }

  void set(AddressKind kind, const Tenant& life, std::uint64_t offset) {
    answer_.kind = kind;
    answer_.block = life;
    answer_.offset = offset;
  }

  Session& session_;
  std::uint64_t address_;
  std::optional<Block> holder_{}, before_{}, after_{}; // live
  AddressFacts facts_;
  Explanation answer_;
};

} // namespace

Explanation explain_address(Session& session, std::uint64_t address) {
  return Explainer(session, address).run(std::nullopt);
}

Explanation explain_address(Session& session, AddressFacts facts) {
  const std::uint64_t address = facts.address;
  return Explainer(session, address).run(std::move(facts));
}

} // namespace heaptape
