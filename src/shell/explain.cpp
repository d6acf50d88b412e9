#include "shell/explain.h"

#include <algorithm>
#include <utility>

#include "analysis/heap/pool_state.h"
#include "analysis/moment/event_search.h"
#include "analysis/space/address_space.h"
#include "shell/contents_text.h"
#include "shell/pool_blocks.h"

namespace heaptape {
namespace {

// An overrun is seldom longer.
constexpr std::uint64_t kReachBehind = 64;
// But somebody may have missed a block by more: by the index of an array, or a page that guards it.
constexpr std::uint64_t kNear = 8192;
// What glibc keeps in front of a block: its size, and the size of a free neighbour.
constexpr std::uint64_t kHeader = 16;
// How far a stack is looked for below its known top where the kernel never showed it: the usual limit.
constexpr std::uint64_t kStackBytes = std::uint64_t{8} << 20;
// What may lie above it: a thread's control block; arguments and environment of the program.
constexpr std::uint64_t kAboveThread = std::uint64_t{4} << 10, kAboveMain = std::uint64_t{256} << 10;
// glibc keeps at least this much for thread-local variables in front of a thread's control block, and the stack begins below.
constexpr std::uint64_t kThreadLocalBytes = 1664;

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
    if (answer_.kind == AddressKind::Nothing || answer_.kind == AddressKind::Mapping) note_near_blocks();
    // Whatever it is: somebody took it for a block.
    if (!answer_.block) answer_.bad_releases = std::move(facts_.bad_releases);
    find_frame();
    return std::move(answer_);
  }

private:
  // Somebody may have missed one of them.
  void note_near_blocks() {
    if (before_ && behind(*before_) < kNear) answer_.before = before_;
    if (after_ && after_->address - address_ < kNear) answer_.after = after_;
  }

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
      if (answer_.former) take_older(answer_.former->event);
      take_bad_releases();
    } else if (const Tenant* inherited = facts_.live_inherited()) {
      set(AddressKind::LiveBlock, *inherited, address_ - inherited->address);
      take_bad_releases();
    } else if (is_slack) {
      set(AddressKind::PastEnd, tenant_of(*before_), behind(*before_));
    } else if (facts_.freed) {
      set(AddressKind::FreedBlock, *facts_.freed, address_ - facts_.freed->address);
      take_older(facts_.freed->event);
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

  void take_older(std::uint64_t event) {
    for (auto life = facts_.covering.rbegin(); life != facts_.covering.rend(); ++life) {
      if (life->event < event) answer_.older.push_back(*life);
    }
    answer_.older_left_out = facts_.left_out;
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
    if (range == nullptr) return by_what_was_there();
    answer_.range = *range;
    switch (range->kind) {
    case RangeKind::MainStack:
    case RangeKind::ThreadStack:
      answer_.thread = range->thread;
      answer_.kind = is_thread_local(*range) ? AddressKind::ThreadLocal : AddressKind::Stack;
      break;
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

  bool is_thread_local(const SpaceRange& range) const {
    const Thread* thread = range.kind == RangeKind::ThreadStack ? thread_of(range.thread) : nullptr;
    return thread != nullptr && thread->stack_top != 0 && address_ + kThreadLocalBytes >= thread->stack_top;
  }
  const Thread* thread_of(ThreadId id) const {
    const auto& all = session_.tape().threads();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Thread& thread) { return thread.id == id; });
    return found != all.end() ? &*found : nullptr;
  }

  // The kernel's list does not have it: it was made after the list, and is a stack; or it is gone.
  void by_what_was_there() {
    if (const Thread* thread = thread_below_whose_top()) {
      answer_.thread = thread->id;
      const bool is_main = thread->tid == session_.tape().header().pid;
      answer_.kind =
          !is_main && address_ + kThreadLocalBytes >= thread->stack_top ? AddressKind::ThreadLocal : AddressKind::Stack;
    } else if (facts_.unmapped) {
      answer_.kind = AddressKind::Unmapped;
      answer_.mapper = facts_.unmapped;
      answer_.unmapping = facts_.unmapping;
    }
  }

  // The thread that had begun and whose stack's top is the next known thing above the address.
  const Thread* thread_below_whose_top() const {
    const Thread* nearest = nullptr;
    const AddressSpace& space = session_.space();
    for (const Thread& thread : session_.tape().threads()) {
      const bool is_main = thread.tid == session_.tape().header().pid;
      if (thread.stack_top == 0 || thread.first_seen_us > session_.time_us()) continue;
      if (address_ > thread.stack_top + (is_main ? kAboveMain : kAboveThread)) continue;
      if (address_ + kStackBytes < thread.stack_top) continue;
      if (nearest == nullptr || thread.stack_top < nearest->stack_top) nearest = &thread;
    }
    if (nearest == nullptr) return nullptr;
    const std::size_t above = space.first_above(address_);
    const bool something_between = above < space.ranges.size() && space.ranges[above].begin < nearest->stack_top;
    const bool unmapped_since = facts_.unmapped && facts_.unmapped->end > nearest->stack_top;
    return something_between || unmapped_since ? nullptr : nearest;
  }

  // A coroutine's stack is a block or a mapping.
  void find_frame() {
    const bool is_stack = answer_.kind == AddressKind::Stack;
    if (!is_stack && answer_.kind != AddressKind::LiveBlock && answer_.kind != AddressKind::Mapping) return;
    if (session_.tape().snapshots().empty()) return;
    const Result<SnapshotMemory*> memory = session_.memory();
    const MappedRange* const region = memory ? memory.value()->region_at(address_) : nullptr;
    if (region == nullptr) return;
    std::uint64_t begin = region->begin, end = region->end;
    if (answer_.kind == AddressKind::LiveBlock) {
      begin = answer_.block->address;
      end = begin + answer_.block->size;
    }
    const std::vector<ThreadState>& threads = memory.value()->facts().threads;
    for (std::size_t i = 0; i < threads.size() && !answer_.frame; ++i) {
      const std::uint64_t sp = threads[i][ThreadState::Rsp];
      if (!threads[i].stopped || sp < begin || sp >= end) continue;
      if (const auto frame = session_.memory_stacks().find_in(i, address_)) answer_.frame = {i, *frame};
      if (!answer_.frame && is_stack && address_ < sp) answer_.below_frames = true;
    }
    // From a handler on a stack of its own frames lead back here.
    if (is_stack && !answer_.frame && !answer_.below_frames) answer_.frame = session_.memory_stacks().find(address_);
    if (!answer_.frame || answer_.kind == AddressKind::LiveBlock) return;
    answer_.kind = AddressKind::Stack; // also of a thread that the tape does not know, for it never allocated
    const Thread* const known = thread_on_tape(session_, *memory.value(), threads[answer_.frame->thread].tid);
    if (known != nullptr) answer_.thread = known->id;
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
