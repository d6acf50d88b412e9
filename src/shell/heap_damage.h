// A place where the heap of glibc's malloc is damaged, in words: what is wrong, what should be there, and whose blocks are around it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/moment/tenant.h"
#include "report/contents/checked_heap.h"
#include "report/text/json_writer.h"
#include "shell/session.h"

namespace heaptape {

std::string_view problem_name(HeapProblemKind kind); // "chunk_size": for programs

struct HeapDamage {
  HeapProblem problem{};
  std::string what{};                  // a sentence without a full stop
  std::string expected{};              // empty: no single value is right
  std::optional<std::uint64_t> word{}; // the value that is right, when it is known
  std::optional<Tenant> freed{};       // the last block that had the memory, where none has it now
  std::uint32_t before =
      BlockRanks::kNone; // the live block before it, when it is near enough to have been written past its end
  std::uint64_t gap = 0; // bytes between that one's end and the place
};

// Reads the tape once where the memory is free. After session.memory() has given the memory.
HeapDamage heap_damage(Session& session, SnapshotMemory& memory, const CheckedHeap& heap, const HeapProblem& problem);
// Lines, each ended.
// `now_us` is when the memory was copied.
std::string damage_text(Session& session, const CheckedHeap& heap, const HeapDamage& damage, std::uint64_t now_us);
void write_damage_json(JsonWriter& json, Session& session, const CheckedHeap& heap, const HeapDamage& damage);

} // namespace heaptape
