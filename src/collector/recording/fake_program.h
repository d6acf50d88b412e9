// For tests: a program that writes into shared memory the way wire/layout.h says, without a recorder.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/heap/heap_model.h"
#include "collector/events/event_builder_impl.h"
#include "collector/events/stack_folder.h"
#include "collector/rings/ring_set.h"
#include "collector/rings/shared_memory.h"
#include "collector/rings/thread_list.h"
#include "collector/rings/tick_clock.h"
#include "tape/event.h"
#include "wire/layout.h"
#include "wire/memory_error.h"

namespace heaptape {

class FakeProgram {
public:
  explicit FakeProgram(std::uint32_t slots = 16, std::uint32_t ring_records = 64)
      : FakeProgram(create(slots, ring_records), 3'600'000'000'000) {}

  // Attaches to memory that was made elsewhere; its clock began `age_ns` ago.
  FakeProgram(SharedMemory shared, std::uint64_t age_ns) : memory(std::move(shared)), header(memory.header()) {
    header.clock_is_tsc = 0;
    header.clock_base_ticks = header.clock_base_monotonic_ns = monotonic_ns() - age_ns;
    header.usable_slots = memory.config().slot_count;
    header.pid = static_cast<std::uint32_t>(::getpid());
    header.attached.store(1, std::memory_order_release);
  }

  // What the program's clock says.
  std::uint64_t now() const { return monotonic_ns() - header.clock_base_ticks.load(std::memory_order_relaxed); }

  // A new stack node; the same (parent, pc) twice makes twins.
  std::uint32_t node(std::uint32_t parent, std::uint64_t pc) {
    const auto id = next_node++;
    auto& node = const_cast<wire::StackNode*>(memory.nodes())[id];
    node.parent = parent;
    node.pc = pc;
    return id;
  }

  void module(const std::string& path, std::uint64_t start, std::uint64_t end, std::uint64_t ticks = 0) {
    const std::size_t size = (sizeof(wire::ModuleEntry) + path.size() + 7) / 8 * 8;
    const std::uint64_t at = header.module_log_used.fetch_add(size);
    auto* entry = reinterpret_cast<wire::ModuleEntry*>(memory.module_log() + at);
    entry->path_size = static_cast<std::uint32_t>(path.size());
    entry->ticks = ticks;
    entry->load_bias = entry->start = start;
    entry->end = end;
    entry->segment_count = 1;
    entry->segments[0] = {start, end - start, 0, 5};
    entry->build_id_size = 2;
    entry->build_id[0] = 0xbe;
    entry->build_id[1] = 0xef;
    std::memcpy(reinterpret_cast<char*>(entry + 1), path.data(), path.size());
    entry->size.store(static_cast<std::uint32_t>(size), std::memory_order_release);
  }

  SharedMemory memory;
  wire::Header& header;
  std::uint32_t next_node = 1;

private:
  static SharedMemory create(std::uint32_t slots, std::uint32_t ring_records) {
    CollectorOptions options;
    options.slot_count = slots;
    options.ring_records = ring_records;
    return SharedMemory::create(options).value();
  }
};

// One thread of a fake program. Times are ticks: nanoseconds since the program's clock base.
class FakeThread {
public:
  FakeThread(FakeProgram& program, std::uint32_t slot_index, std::uint32_t tid, std::uint64_t time,
             bool borrowed = false)
      : slot(program.memory.slot(slot_index)), ring_(program.memory.ring(slot_index)),
        capacity_(program.memory.ring_records(slot_index)) {
    const std::uint64_t bit = wire::claim_bit(slot_index);
    claimed = (program.memory.claims()[slot_index / wire::kSlotsPerClaim].fetch_or(bit) & bit) == 0;
    if (!claimed) return;
    slot.tid = tid;
    slot.state.store(static_cast<std::uint32_t>(wire::SlotState::Claimed), std::memory_order_release);
    put(EventKind::ThreadStart, time, 0x7ffc'0000'0000, tid, borrowed ? wire::kBorrowedSlot : 0);
  }

  std::uint64_t reserve() { return slot.reserved.fetch_add(1, std::memory_order_relaxed); }
  bool has_room() const {
    return slot.reserved.load(std::memory_order_relaxed) - slot.taken.load(std::memory_order_acquire) < capacity_;
  }
  void publish(std::uint64_t position, EventKind kind, std::uint64_t time, std::uint64_t address, std::uint64_t size,
               std::uint32_t stack) {
    wire::Record& record = ring_[position % capacity_];
    record.word1.store(address | (size >> 32) << 48, std::memory_order_relaxed);
    record.word2.store((size & 0xffff'ffff) | std::uint64_t{stack} << 32, std::memory_order_relaxed);
    const std::uint64_t phase = wire::phase_of_lap(position / capacity_);
    record.word0.store(time << 8 | phase | static_cast<std::uint64_t>(kind), std::memory_order_release);
  }
  void put(EventKind kind, std::uint64_t time, std::uint64_t address, std::uint64_t size = 0, std::uint32_t stack = 0) {
    publish(reserve(), kind, time, address, size, stack);
  }

  void malloc(std::uint64_t time, std::uint64_t address, std::uint64_t size, std::uint32_t stack = 0) {
    put(EventKind::Malloc, time, address, size, stack);
  }
  void free(std::uint64_t time, std::uint64_t address, std::uint32_t stack = 0) {
    put(EventKind::Free, time, address, 0, stack);
  }
  void realloc_begin(std::uint64_t time, std::uint64_t old_address) { put(EventKind::ReallocBegin, time, old_address); }
  void realloc_end(std::uint64_t time, std::uint64_t address, std::uint64_t size, std::uint32_t stack = 0) {
    put(EventKind::Realloc, time, address, size, stack);
  }
  // As MarkText records.
  void text(std::uint64_t time, std::string_view bytes) {
    constexpr std::size_t kHalf = 6;
    for (std::size_t at = 0; at < bytes.size(); at += 2 * kHalf) {
      char halves[2][8] = {};
      const std::string_view first = bytes.substr(at, kHalf);
      const std::string_view second = bytes.substr(std::min(at + kHalf, bytes.size()), kHalf);
      std::memcpy(halves[0], first.data(), first.size());
      std::memcpy(halves[1], second.data(), second.size());
      std::uint64_t words[2];
      std::memcpy(words, halves, sizeof words);
      put(EventKind::MarkText, time, words[0], words[1]);
    }
  }
  void memory_error(std::uint64_t time, const wire::MemoryError& error, std::uint32_t stack = 0) {
    text(time, {reinterpret_cast<const char*>(&error), sizeof error});
    put(EventKind::MemoryError, time, sizeof error, 0, stack);
  }
  void exit() { slot.state.store(static_cast<std::uint32_t>(wire::SlotState::Exiting), std::memory_order_release); }

  wire::ThreadSlot& slot;
  bool claimed = false;

private:
  wire::Record* ring_;
  std::uint64_t capacity_;
};

// Keeps the events instead of writing them.
struct EventList {
  void add(const Event& event, std::uint64_t allocated_at) {
    events.push_back(event);
    allocated.push_back(allocated_at);
  }
  std::vector<Event> events;
  std::vector<std::uint64_t> allocated;
};

// Everything between the rings and the encoder.
struct Pipeline {
  explicit Pipeline(FakeProgram& program, RingSetOptions options = {})
      : stacks(program.memory.nodes()), rings(program.memory, threads, options), builder(clock, stacks, rings, list) {
    const std::uint64_t base = program.header.clock_base_monotonic_ns;
    clock.start(false, {program.header.clock_base_ticks, base}, base);
  }
  Round round() { return rings.round(clock, builder); }
  void finish() { rings.finish(builder); }
  const std::vector<Event>& events() const { return list.events; }

  TickClock clock;
  ThreadList threads;
  StackFolder stacks;
  EventList list;
  RingSet rings;
  EventBuilder<EventList> builder;
};

using Addresses = std::vector<std::uint64_t>;

// Of the events that came out, in their order.
inline Addresses addresses(const Pipeline& pipeline) {
  Addresses list;
  for (const Event& event : pipeline.events()) list.push_back(event.address);
  return list;
}

} // namespace heaptape
