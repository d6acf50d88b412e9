#include "recorder/check/sweep.h"

#include <sys/syscall.h>

#include "recorder/check/fill.h"
#include "recorder/check/gap.h"
#include "recorder/check/guarded_blocks.h"
#include "recorder/check/large_blocks.h"
#include "recorder/check/region.h"
#include "recorder/check/report.h"
#include "recorder/core/machine.h"
#include "recorder/core/ring.h"

namespace heaptape::recorder {

namespace {

// Another thread may be at work on the very block. What is wrong while its facts are the same before and after, and still is after a
// pause, is not that: a block that is being changed says so before the first byte changes.
constexpr int kLooks = 3;

void pause_for_others() noexcept {
  struct {
    long seconds, nanoseconds;
  } const moment{0, 200'000};
  (void)system_call(SYS_nanosleep, as_long(&moment), 0);
}

// `facts` are those that the first look went by.
template <class Facts, class FactsNow, class IsWhole>
bool is_damaged(Facts facts, FactsNow facts_now, IsWhole is_whole) noexcept {
  for (int look = 0; look < kLooks; ++look) {
    if (is_whole() || facts_now() != facts) return false;
    pause_for_others();
  }
  return facts_now() == facts && !is_whole();
}

void look_at(const Slot& slot, FoundAt found) noexcept {
  const BlockFacts facts{slot.facts->load(std::memory_order_acquire)}; // pairs with who changed the block
  if (facts.state() != BlockState::Live && facts.state() != BlockState::Released) return;
  char* const block = block_in(slot.begin, facts);
  const auto facts_now = [&] { return slot.facts->load(std::memory_order_acquire); };
  const auto is_fill_whole = [&] { return is_block_filled(block, facts.size(), g_check.released_byte); };
  const auto are_zones_whole = [&] { return are_redzones_whole(slot, facts); };
  if (facts.state() == BlockState::Released && !is_fill_whole() && is_damaged(facts.word, facts_now, is_fill_whole))
    report_released(block, facts.size(), found);
  if (!are_zones_whole() && is_damaged(facts.word, facts_now, are_zones_whole)) report_redzones(slot, facts, found);
}

void look_at(LargeBlock& block, std::uint32_t run, FoundAt found) noexcept {
  const auto facts_now = [&] { // size and state
    return block.size.load(std::memory_order_acquire) * 4 + static_cast<std::uint64_t>(block.state.load());
  };
  const std::uint64_t facts = facts_now();
  const auto state = static_cast<BlockState>(facts % 4);
  if (state != BlockState::Live && state != BlockState::Released) return;
  const std::uint64_t size = facts / 4;
  const auto is_fill_whole = [&] { return is_block_filled(block.user, size, g_check.released_byte); };
  const auto are_zones_whole = [&] { return are_redzones_whole(block, run); };
  if (state == BlockState::Released && !is_fill_whole() && is_damaged(facts, facts_now, is_fill_whole))
    report_released(block.user, size, found);
  if (!are_zones_whole() && is_damaged(facts, facts_now, are_zones_whole)) report_redzones(block, run, found);
}

void look_at(GuardedBlock& block, FoundAt found) noexcept {
  const auto facts_now = [&] { return static_cast<std::uint32_t>(block.state.load(std::memory_order_acquire)); };
  constexpr auto kLive = static_cast<std::uint32_t>(BlockState::Live);
  if (facts_now() != kLive) return;
  const auto is_whole = [&] { return is_slack_whole(block); };
  if (!is_whole() && is_damaged(kLive, facts_now, is_whole)) report_slack(block, found);
}

// Their pages may be closed at any time, but under the lock.
void look_at_guarded(FoundAt found) noexcept {
  if (guarded_pages() == 0) return;
  lock_guarded();
  for (std::uint32_t page = 1; page < guarded_pages();) {
    GuardedBlock* const block = guarded_at(page);
    if (block != nullptr) look_at(*block, found);
    page += block != nullptr ? block->pages + 1 : 1;
  }
  unlock_guarded();
}

} // namespace

void sweep(FoundAt found) noexcept {
  const std::uint64_t begun = ticks_now();
  const std::uint32_t small = g_region.small_used.load(std::memory_order_acquire);
  for (std::uint32_t index = 0; index < small; ++index) {
    const std::uint16_t size_class = g_region.chunks[index].use.load(std::memory_order_acquire);
    if (size_class == kUnusedChunk || size_class >= kClasses) continue;
    const ClassFacts& facts = kClassFacts[size_class];
    Slot slot{g_region.chunk_at(index) + kChunkHead, g_region.chunks[index].facts, size_class, 0};
    for (; slot.index < facts.slots; ++slot.index, ++slot.facts, slot.begin += facts.bytes) look_at(slot, found);
  }
  for (std::uint32_t run = first_run(); run < end_of_runs();) {
    if (g_region.chunks[run].use.load(std::memory_order_acquire) != kRunBegin) break;
    LargeBlock& block = *g_region.chunks[run].large;
    look_at(block, run, found);
    run += block.chunks != 0 ? block.chunks : 1;
  }
  if (found != FoundAt::Crash) look_at_guarded(found);
  note_all_whole(begun);
}

} // namespace heaptape::recorder
