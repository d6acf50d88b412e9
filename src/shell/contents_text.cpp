#include "shell/contents_text.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "analysis/memory/lost_ways.h"
#include "base/number_text.h"
#include "report/contents/root_names.h"
#include "report/leaks/leak_report.h"
#include "report/text/snapshot_names.h"
#include "shell/describe.h"

namespace heaptape {
namespace {

// "48-byte Circle"; "48-byte block" when nobody knows what it is.
std::string typed_words(Session& session, std::uint64_t address, std::uint64_t bytes, StackId stack) {
  const std::optional<std::string> type = session.type_reader().type_of(address, bytes, stack);
  return type && bytes != 0 ? fmt::format("{}-byte {}", with_separators(bytes), printable(*type)) : block_words(bytes);
}

constexpr std::size_t kWayEnds = 6; // of a long way: at its start and at its end

// A line for each block of a way.
std::string lost_way_text(Session& session, const SnapshotHeap& heap, std::span<const std::uint32_t> way,
                          std::string text) {
  for (std::size_t i = 0; i < way.size(); ++i) {
    if (way.size() > 2 * kWayEnds && i == kWayEnds) {
      text += fmt::format("    … {} more\n", with_separators(way.size() - 2 * kWayEnds));
      i = way.size() - kWayEnds;
    }
    text += fmt::format("    -> {:#x} {}\n", heap.ranks().begin(way[i]), block_text(session, heap, way[i]));
  }
  return text;
}

} // namespace

std::string snapshot_text(Session& session, const MemorySnapshot& snapshot) {
  std::string text = "memory of " + numbered_snapshot_text(snapshot.number, snapshot.name) + ", " +
                     moment_text(snapshot.event, snapshot.time_us);
  if (snapshot.event != session.event()) text += ", " + ago_text(snapshot.time_us, session.time_us());
  return text;
}

std::string place_text(Session& session, SnapshotMemory& memory, std::uint64_t address) {
  if (address < kPageBytes) return "";
  if (const std::optional<Block> block = session.memory_heap().find_around(address)) {
    const std::uint64_t offset = address - block->address;
    const StackId stack = session.memory_heap().owner_of(*block).stack;
    std::string text = typed_words(session, block->address, block->size, stack);
    if (offset != 0) text += fmt::format(" +{:#x}", offset);
    const std::string maker = session.stacks().site(stack);
    return maker.empty() ? text : text + " of " + printable(maker);
  }
  const MappedRange* const region = memory.region_at(address);
  if (region == nullptr) return "";
  if (const auto symbol = session.symbols().at(address, memory.facts().time_us)) {
    const std::uint64_t offset = address - symbol->address;
    return printable(symbol->name) + (offset != 0 ? fmt::format("+{:#x}", offset) : "");
  }
  const std::vector<ThreadState>& threads = memory.facts().threads;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const std::uint64_t stack = threads[i][ThreadState::Rsp];
    if (stack < region->begin || stack >= region->end) continue;
    const std::string frame = frame_words(session, i, address);
    return fmt::format("stack of thread {}{}", threads[i].tid,
                       !frame.empty()    ? ", " + frame
                       : address < stack ? ", below its end"
                                         : "");
  }
  const std::string& name = memory.name_of(*region);
  return name == "[heap]" ? "free memory of the heap" : printable(name);
}

Error not_in_a_block(Session& session, SnapshotMemory& memory, std::uint64_t address) {
  const std::string place = place_text(session, memory, address);
  return {ErrorCode::NotFound,
          hex(address) + " was in no live block at the snapshot" + (place.empty() ? "" : "; it is in " + place)};
}

std::string unreachable_text(Session& session, SnapshotHeap& heap, std::uint32_t block) {
  const Reachability& reach = heap.reachability();
  const LeakClass leak_class = reach.class_of(block);
  if (leak_class == LeakClass::Reachable)
    return "nothing leads to it that can be seen here, but it was released later or was just being moved\n";
  if (leak_class == LeakClass::Possibly)
    return "possibly lost: only a word that is not aligned, or one that leads right behind a block, leads there\n";
  std::string text = fmt::format("unreachable: {}", leak_class_name(leak_class));
  const LostWays ways = lost_ways(heap.view(), reach, block);
  if (ways.cycle != 1) text += fmt::format(", in a cycle of {} blocks that lead to each other", ways.cycle);
  text += "\n";
  if (!ways.ring.empty()) text += lost_way_text(session, heap, ways.ring, "  leads back to itself:\n");
  const std::uint32_t leader = reach.leader_of(block);
  if (leader != block) {
    const std::string through =
        fmt::format("  through {:#x}, {}\n", heap.ranks().begin(leader), block_text(session, heap, leader));
    text += ways.way.size() == 2 ? through : lost_way_text(session, heap, std::span(ways.way).subspan(1), through);
    if (ways.below.blocks != 0)
      text += fmt::format("  leads to {} in {}, lost as well\n", bytes_text(ways.below.bytes),
                          count_of(ways.below.blocks, "block"));
    return text;
  }
  const auto found = std::ranges::lower_bound(reach.leaders(), block, {}, &LostLeader::block);
  if (found != reach.leaders().end() && found->block == block && found->indirect.blocks != 0)
    text += fmt::format("  with {} in {} that only it leads to\n", bytes_text(found->indirect.bytes),
                        count_of(found->indirect.blocks, "block"));
  return text;
}

std::string block_text(Session& session, const SnapshotHeap& heap, std::uint32_t block) {
  const StackId stack = heap.stack_of(block);
  const std::string maker = session.stacks().site(stack);
  const std::uint64_t bytes = heap.ranks().bytes(block);
  // The types of all blocks say more than the block alone does.
  const Result<BlockTypes*> types = session.block_types();
  const BlockType* const type = types ? &types.value()->of_block(block) : nullptr;
  const std::string what = type != nullptr && type->is_known() && bytes != 0
                               ? fmt::format("{}-byte {}", with_separators(bytes), printable(type->name))
                               : typed_words(session, heap.ranks().begin(block), bytes, stack);
  return what + (maker.empty() ? "" : " of " + printable(maker));
}

std::string root_place_text(Session& session, SnapshotMemory& memory, const RootRange& range, std::uint64_t word) {
  const std::string where = root_text(memory, range, word);
  if (range.kind == RootKind::Registers) return where;
  std::string text = fmt::format("{} at {:#x}", where, word);
  if (range.kind == RootKind::Stack && range.thread < memory.facts().threads.size()) {
    if (const std::string frame = frame_words(session, range.thread, word); !frame.empty()) text += ", " + frame;
  }
  if (range.kind != RootKind::Globals) return text;
  if (const auto symbol = session.symbols().at(word, memory.facts().time_us)) {
    const std::uint64_t offset = word - symbol->address;
    text = printable(symbol->name) + (offset != 0 ? fmt::format("+{:#x}", offset) : "") + " (" + text + ")";
  }
  return text;
}

std::string frame_words(Session& session, std::size_t thread, std::uint64_t address) {
  SnapshotStacks& stacks = session.memory_stacks();
  const std::optional<std::size_t> number = stacks.find_in(thread, address);
  if (!number) return "";
  const StackFrame& frame = stacks.frame_at({thread, *number});
  std::string text = "in " + stacks.text_of(frame);
  if (address > frame.begin) text += fmt::format(" +{:#x}", address - frame.begin);
  if (address < frame.begin) text += fmt::format(" -{:#x}", frame.begin - address);
  return text;
}

const Thread* thread_on_tape(const Session& session, const SnapshotMemory& memory, std::uint32_t tid) {
  const Thread* found = nullptr;
  for (const Thread& thread : session.tape().threads()) {
    const bool may_be = thread.tid == tid && thread.first_seen_us <= memory.facts().time_us;
    if (may_be && (found == nullptr || found->first_seen_us < thread.first_seen_us)) found = &thread;
  }
  return found;
}

std::string thread_words(const Session& session, std::uint32_t tid) { return thread_words(session.tape(), tid); }

std::string root_group_text(Session& session, const SnapshotMemory& memory, const RootRange& range) {
  return root_group_text(session.tape(), memory, range);
}

std::string root_word_text(Session& session, const SnapshotMemory& memory, const RootRange& range, std::uint64_t word) {
  if (range.kind == RootKind::Registers) return register_text(word);
  if (range.kind == RootKind::Globals) {
    if (const auto symbol = session.symbols().at(word, memory.facts().time_us)) {
      const std::uint64_t offset = word - symbol->address;
      return printable(symbol->name) + (offset != 0 ? fmt::format("+{:#x}", offset) : "");
    }
    return fmt::format("{:#x}", word);
  }
  return fmt::format("+{:#x}", word - range.begin);
}

} // namespace heaptape
