#include "recorder/core/slots.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/core/machine.h"
#include "recorder/core/readable.h"

namespace heaptape::recorder {

constinit Slots g_slots;

namespace {

constexpr std::uint32_t kMostLent = 16;
constexpr std::uint32_t kSmallestPiece = 8;

std::atomic<std::uint64_t>* claims() noexcept {
  return reinterpret_cast<std::atomic<std::uint64_t>*>(g_recorder.memory + g_recorder.config.claims);
}

// The first free slot of [first, end).
std::uint32_t claim_between(std::uint32_t first, std::uint32_t end) noexcept {
  for (std::uint32_t index = first; index < end;) {
    const std::uint32_t in_word = index % wire::kSlotsPerClaim;
    std::atomic<std::uint64_t>& word = claims()[index / wire::kSlotsPerClaim];
    const std::uint64_t free = ~word.load(std::memory_order_relaxed) >> in_word;
    if (free == 0) {
      index += wire::kSlotsPerClaim - in_word;
      continue;
    }
    index += static_cast<std::uint32_t>(__builtin_ctzll(free));
    if (index >= end) break;
    const std::uint64_t bit = wire::claim_bit(index);
    // Pairs with the collector's clearing of the bit. If another thread was faster, look at the word again.
    if ((word.fetch_or(bit, std::memory_order_acq_rel) & bit) == 0) {
      g_slots.claimed.fetch_add(1, std::memory_order_relaxed);
      return index;
    }
  }
  return kNoSlot;
}

} // namespace

void start_slots(std::uint8_t* scratch, std::uint32_t slots) noexcept {
  const std::uint32_t usable = g_recorder.header->usable_slots.load(std::memory_order_relaxed);
  g_slots.usable = usable < wire::kMostSlots ? usable : wire::kMostSlots;
  g_slots.pieces[0] = scratch;
  g_slots.growing.store(0, std::memory_order_relaxed);
  g_slots.ready.store(slots, std::memory_order_release); // pairs with claim_slot()
  const std::uint32_t lent = slots / 4 < kMostLent ? slots / 4 : kMostLent;
  g_slots.first_lent = slots - lent;
  g_slots.end_lent = slots;
}

std::uint32_t claim_slot() noexcept {
  const std::uint32_t ready = g_slots.ready.load(std::memory_order_acquire); // pairs with add_slots()
  const std::uint32_t index = claim_between(0, g_slots.first_lent);
  return index != kNoSlot ? index : claim_between(g_slots.end_lent, ready);
}

std::uint32_t claim_lent_slot() noexcept { return claim_between(g_slots.first_lent, g_slots.end_lent); }

bool is_claimed(const wire::ThreadSlot& slot) noexcept {
  const auto index = static_cast<std::uint32_t>(&slot - slot_at(0));
  if (index >= g_slots.ready.load(std::memory_order_acquire)) return false;
  const std::uint64_t word = claims()[index / wire::kSlotsPerClaim].load(std::memory_order_relaxed);
  return (word & wire::claim_bit(index)) != 0 &&
         slot.state.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(wire::SlotState::Claimed);
}

bool is_slot_coming_free() noexcept {
  const std::uint32_t ready = g_slots.ready.load(std::memory_order_acquire);
  for (std::uint32_t index = 0; index < ready; ++index) {
    const bool lent = index >= g_slots.first_lent && index < g_slots.end_lent;
    const std::uint32_t state = slot_at(index)->state.load(std::memory_order_relaxed);
    if (!lent && state == static_cast<std::uint32_t>(wire::SlotState::Exiting)) return true;
  }
  return false;
}

Growth add_slots() noexcept {
  if (in_sandbox()) return Growth::Impossible;
  if (g_slots.growing.exchange(1, std::memory_order_acquire) != 0) return Growth::UnderWay;
  const std::uint32_t ready = g_slots.ready.load(std::memory_order_relaxed);
  const std::uint32_t most = g_slots.usable;
  Growth growth = Growth::Impossible;
  // A piece that is not whole was all that there was room for.
  if (ready != 0 && ready < most && ready % kSlotsPerPiece == 0) {
    std::uint8_t* const next = g_slots.pieces[ready / kSlotsPerPiece - 1] + kSlotsPerPiece * wire::kScratchBytes;
    for (std::uint32_t slots = most - ready < kSlotsPerPiece ? most - ready : kSlotsPerPiece;;) {
      // An old size of 0 maps what is there, and what comes behind it in the file, a second time.
      const auto bytes = static_cast<long>(piece_bytes(slots));
      const long memory = system_call(SYS_mremap, as_long(next), 0, bytes, MREMAP_MAYMOVE);
      if (memory >= 0 || memory <= -4096) {
        (void)system_call(SYS_madvise, memory, bytes, MADV_DONTFORK);
        (void)system_call(SYS_madvise, memory, bytes, MADV_DONTDUMP);
        g_slots.pieces[ready / kSlotsPerPiece] = reinterpret_cast<std::uint8_t*>(memory);
        g_slots.ready.store(ready + slots, std::memory_order_release);
        growth = Growth::Done;
        break;
      }
      if (slots / 2 < kSmallestPiece) break;
      slots /= 2;
    }
  }
  g_slots.growing.store(0, std::memory_order_release);
  return growth;
}

} // namespace heaptape::recorder
