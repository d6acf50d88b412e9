#include "report/contents/root_names.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/number_text.h"

namespace heaptape {

std::string thread_words(const TapeReader& tape, std::uint32_t tid) {
  const auto named = std::ranges::find(tape.threads(), tid, &Thread::tid);
  const bool has_name = named != tape.threads().end() && !named->name.empty();
  return fmt::format("thread {}", tid) + (has_name ? " (" + printable(named->name) + ")" : "");
}

std::string root_group_text(const TapeReader& tape, const SnapshotMemory& memory, const RootRange& range) {
  const std::vector<ThreadState>& threads = memory.facts().threads;
  if (range.thread >= threads.size()) return root_text(memory, range, 0);
  const std::uint32_t tid = threads[range.thread].tid;
  if (range.kind == RootKind::Registers) return "registers of " + thread_words(tape, tid);
  const std::string text = root_text(memory, range, 0), plain = fmt::format("thread {}", tid);
  return text.ends_with(plain) ? text.substr(0, text.size() - plain.size()) + thread_words(tape, tid) : text;
}

std::string root_words(const TapeReader& tape, SnapshotHeap& heap, const RootOwners& owners, std::uint32_t node) {
  const Dominators& dominators = owners.dominators();
  const std::vector<ThreadState>& threads = heap.memory().facts().threads;
  if (const RootOwner* const owner = owners.owner_of(node)) {
    const RootRange& range = heap.roots().ranges()[owner->range];
    const std::string where = root_group_text(tape, heap.memory(), range);
    if (!owner->symbol.empty()) return fmt::format("{} ({})", printable(owner->symbol), where);
    if (range.kind == RootKind::Globals) return where + " without a name";
    return where == "a mapping"
               ? fmt::format("the mapping at {:#x}, {}", range.begin, bytes_text(range.end - range.begin))
               : where;
  }
  if (dominators.block_of(node) != Dominators::kNone) return kHeldInManyWays;
  const auto stack = std::ranges::find(dominators.stacks(), node, &Dominators::StackNode::node);
  if (stack == dominators.stacks().end() || stack->thread >= threads.size()) return "a stack that no thread was using";
  return "registers and stack of " + thread_words(tape, threads[stack->thread].tid);
}

} // namespace heaptape
