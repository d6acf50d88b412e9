// The slots: which are free, and where each one's ring and scratch lie. There are more of them than most programs have
// threads, so the scratch is mapped in pieces of kSlotsPerPiece, as threads come. A few slots are only lent, for one
// record at a time: that is how threads are recorded for which there is no slot left.
#pragma once

#include <cstdint>

#include "recorder/core/recorder.h"
#include "recorder/core/thread_state.h"
#include "wire/layout.h"

namespace heaptape::recorder {

inline constexpr std::uint32_t kSlotsPerPiece = wire::kFirstSlots;
inline constexpr std::uint32_t kMostPieces = wire::kMostSlots / kSlotsPerPiece;
inline constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

// What a piece of scratch takes in the address space. The page behind it is where the next piece begins in the file: it
// is never touched, but lets the kernel find that piece without a descriptor.
constexpr std::uint64_t piece_bytes(std::uint32_t slots) { return slots * wire::kScratchBytes + wire::kPage; }

// All zero means no slots.
struct Slots {
  std::uint8_t* pieces[kMostPieces] = {};
  std::atomic<std::uint32_t> ready{0};   // slots whose scratch is mapped
  std::atomic<std::uint32_t> growing{0}; // 1 while a thread maps the next piece
  std::atomic<std::uint32_t> claimed{0}; // slots that were ever claimed: whether anybody gets one
  std::uint32_t usable = 0;              // slots whose rings are mapped
  std::uint32_t first_lent = 0;          // the lent ones are [first_lent, end_lent)
  std::uint32_t end_lent = 0;
};
extern constinit Slots g_slots;

// The first piece, of `slots` slots, is mapped at `scratch`; the header's number of usable slots is set.
void start_slots(std::uint8_t* scratch, std::uint32_t slots) noexcept;

// Slot `index`, its ring, and the state of its thread, whoever has it.
inline wire::ThreadSlot* slot_at(std::uint32_t index) noexcept {
  return reinterpret_cast<wire::ThreadSlot*>(g_recorder.memory + g_recorder.config.slots) + index;
}
inline wire::Record* ring_at(std::uint32_t index) noexcept {
  const wire::Config& config = g_recorder.config;
  return reinterpret_cast<wire::Record*>(g_recorder.memory + config.rings +
                                         wire::ring_offset(index, config.ring_records));
}
inline ThreadState* state_at(std::uint32_t index) noexcept {
  std::uint8_t* const piece = g_slots.pieces[index / kSlotsPerPiece];
  return reinterpret_cast<ThreadState*>(piece + index % kSlotsPerPiece * wire::kScratchBytes);
}

// A free slot, the caller's from now on; kNoSlot: there is none. It is given back by the collector, once its state is Exiting.
[[nodiscard]] std::uint32_t claim_slot() noexcept;
// The same, of those that are lent.
[[nodiscard]] std::uint32_t claim_lent_slot() noexcept;

// The slot is claimed, and says so. If a living thread's is not, somebody has written over it, and the collector no longer reads its ring.
[[nodiscard]] bool is_claimed(const wire::ThreadSlot& slot) noexcept;

// Some slot's thread has ended, so the collector is about to free one.
[[nodiscard]] bool is_slot_coming_free() noexcept;

enum class Growth : std::uint8_t {
  Done,      // there are more slots
  UnderWay,  // another thread is at it
  Impossible // all are mapped, there is no more address space, or the program forbids system calls
};
[[nodiscard]] Growth add_slots() noexcept;

} // namespace heaptape::recorder
