// Shared memory for the unit tests, without a collector: anonymous, small, freshly zeroed for every test.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "recorder/core/events.h"
#include "recorder/core/recorder.h"

namespace heaptape::recorder {

class TestMemory {
public:
  explicit TestMemory(std::uint32_t slots = 8, std::uint32_t records = 256, std::uint32_t tables = 3)
      : config_(wire::make_config(slots, records, tables)) {
    memory_ = static_cast<std::uint8_t*>(
        mmap(nullptr, config_.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (memory_ == MAP_FAILED) std::abort();
    header().magic = wire::kMagic;
    header().config = config_;
    header().usable_slots.store(slots);
  }
  ~TestMemory() {
    g_switch.on.store(0);
    g_switch.attached.store(0);
    forget_thread();
    g_recorder.header = nullptr;
    munmap(memory_, config_.total_bytes);
  }
  TestMemory(const TestMemory&) = delete;
  TestMemory& operator=(const TestMemory&) = delete;

  wire::Header& header() { return *reinterpret_cast<wire::Header*>(memory_); }
  std::uint8_t* bytes() { return memory_; }
  std::atomic<std::uint64_t>& claims(std::uint32_t slot) {
    auto* words = reinterpret_cast<std::atomic<std::uint64_t>*>(memory_ + config_.claims);
    return words[slot / wire::kSlotsPerClaim];
  }
  bool is_claimed(std::uint32_t slot) { return (claims(slot).load() & wire::claim_bit(slot)) != 0; }
  // What the collector does with the slot of a thread that has ended.
  void free_slot(std::uint32_t slot) {
    auto& control = this->slot(slot);
    control.taken.store(control.reserved.load(std::memory_order_acquire), std::memory_order_release);
    control.state.store(static_cast<std::uint32_t>(wire::SlotState::Free));
    claims(slot).fetch_and(~wire::claim_bit(slot));
    header().drained.fetch_add(1);
  }
  // Recording begins. Events carry no stacks; the capture has tests of its own.
  [[nodiscard]] bool begin() {
    const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
    if (!start_recorder(memory_, here + 65536, 1 << 20)) return false;
    start_slots(memory_ + config_.scratch, std::min(config_.slot_count, kSlotsPerPiece));
    g_switch.on.store(1);
    g_switch.attached.store(1);
    return true;
  }
  wire::ThreadSlot& slot(std::uint32_t index) {
    return reinterpret_cast<wire::ThreadSlot*>(memory_ + config_.slots)[index];
  }
  wire::Record& record(std::uint32_t slot, std::uint64_t position) {
    auto* ring =
        reinterpret_cast<wire::Record*>(memory_ + config_.rings + wire::ring_offset(slot, config_.ring_records));
    return ring[position % wire::ring_records_of(slot, config_.ring_records)];
  }
  bool is_ready(std::uint32_t slot, std::uint64_t position) {
    return (record(slot, position).word0.load() & wire::kPhaseBit) ==
           wire::phase_of_lap(position / wire::ring_records_of(slot, config_.ring_records));
  }
  EventKind kind_at(std::uint32_t slot, std::uint64_t position) {
    return static_cast<EventKind>(record(slot, position).word0.load() & wire::kKindMask);
  }
  const wire::StackNode& node(std::uint32_t id) {
    return reinterpret_cast<wire::StackNode*>(memory_ + config_.nodes)[id];
  }
  std::uint64_t loss(wire::Loss which) { return header().losses[static_cast<std::size_t>(which)].load(); }

private:
  wire::Config config_;
  std::uint8_t* memory_;
};

} // namespace heaptape::recorder
