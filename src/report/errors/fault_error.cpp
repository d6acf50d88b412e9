#include "report/errors/fault_error.h"

#include <cstdint>
#include <vector>

#include "analysis/moment/block_surroundings.h"
#include "report/crash/fault.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kNear = 4096 + 16; // a guard page, and what is between it and the block

struct Nearest {
  const Tenant* block = nullptr;
  bool is_released = false;
};

std::uint64_t distance(const Tenant& block, std::uint64_t address) {
  if (address < block.address) return block.address - address;
  const std::uint64_t end = block.address + block.size;
  return address >= end ? address - end + 1 : 0;
}

// A released block keeps its pages; of live ones the nearest is meant.
Nearest nearest(const BlockSurroundings& around, std::uint64_t address) {
  if (!around.owners.empty() && around.owners.front().ended != LifeEnd::Live) return {&around.owners.front(), true};
  Nearest found;
  for (const std::optional<Tenant>* side : {&around.before, &around.behind}) {
    if (!*side || distance(**side, address) > kNear) continue;
    if (found.block == nullptr || distance(**side, address) < distance(*found.block, address)) found.block = &**side;
  }
  return found;
}

} // namespace

std::optional<MemoryError> error_of_fault(const TapeView& view, const std::function<bool()>& should_stop) {
  const TapeReader& tape = view.tape();
  const Crash* const crash = tape.crash();
  if (crash == nullptr || tape.memory_errors().mode != "guard") return std::nullopt;
  const Fault fault = fault_of(*crash, tape.threads());
  if (fault.kind != FaultKind::Memory || !fault.address) return std::nullopt;
  const BlockQuestion question{.address = *fault.address, .size = 1, .event = crash->event};
  const std::vector<BlockSurroundings> answers = block_surroundings(tape, {&question, 1}, should_stop);
  if (answers.empty()) return std::nullopt;
  const Nearest near = nearest(answers.front(), *fault.address);
  if (near.block == nullptr) return std::nullopt;
  const bool writes = fault.access == AccessKind::Write;
  MemoryError error;
  if (near.is_released)
    error.sort = writes ? ErrorSort::WriteIntoFreed : ErrorSort::ReadFreed;
  else
    error.sort = writes ? ErrorSort::WriteOutside : ErrorSort::ReadOutside;
  error.found = FoundAt::Access;
  error.event = crash->event;
  error.time_us = crash->time_us;
  error.thread = crash->thread;
  error.stack = crash->stack;
  error.address = *fault.address;
  error.length = fault.bytes;
  error.block = near.block->address;
  error.block_size = near.block->size;
  return error;
}

} // namespace heaptape
