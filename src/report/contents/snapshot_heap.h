// The heap at a snapshot: its blocks, what refers to what, and what the program can still get at. Each part is worked out when it is first asked
// for; the first takes about a second for ten million blocks. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/memory/block_ranks.h"
#include "analysis/memory/dominators.h"
#include "analysis/memory/heap_view.h"
#include "analysis/memory/known_places.h"
#include "analysis/memory/paths.h"
#include "analysis/memory/reachability.h"
#include "analysis/memory/reference_graph.h"
#include "analysis/memory/roots.h"
#include "analysis/moment/heap_cursor.h"
#include "base/result.h"
#include "report/contents/snapshot_memory.h"
#include "tape/reader.h"

namespace heaptape {

// The live blocks at a cursor; their groups are stacks. Fails when the heap is too large.
Result<BlockRanks> ranks_of(HeapCursor& heap);

struct HeapReading {
  PointerForm form{};     // how the program disguises pointers
  bool all_words = false; // also those by which a runtime links all that it has
};

class SnapshotHeap {
public:
  // `heap` stands at the snapshot's event; it is not needed afterwards. The others must outlive it. Fails when the heap is too large.
  static Result<std::unique_ptr<SnapshotHeap>> make(const TapeReader& tape, SnapshotMemory& memory, HeapCursor& heap,
                                                    const HeapReading& reading = {});

  const BlockRanks& ranks() const { return *ranks_; }
  HeapView view() const { return {memory_.image(), *ranks_, *graph_, *roots_, threads_}; }
  const Roots& roots() const { return *roots_; }
  StackId stack_of(std::uint32_t block) const { return StackId(ranks_->group(block)); }
  SnapshotMemory& memory() { return memory_; }

  // A block that seems to be lost and was released later is not: the program still knew where it was, in a way that cannot be seen.
  const Reachability& reachability();
  // What of it counts as reachable only because it was released later; after reachability().
  const LeakTotals& released_later() const { return released_later_; }
  // The same with other options; `in_use` is added to. When strict, what happened later does not count.
  Reachability reachability_with(ReachOptions options, LeakTotals& released_later);
  const ShortestPaths& paths();
  const Dominators& dominators();

private:
  SnapshotHeap(const TapeReader& tape, SnapshotMemory& memory) : tape_(tape), memory_(memory) {}

  const TapeReader& tape_;
  SnapshotMemory& memory_;
  std::vector<ThreadState> threads_; // as they were in the program's own code
  std::optional<BlockRanks> ranks_;
  std::vector<std::uint64_t> in_use_; // blocks that the program has in any case
  std::optional<ReferenceGraph> graph_;
  std::optional<Roots> roots_;
  std::optional<KnownPlaces> known_;
  std::optional<Reachability> reachability_;
  LeakTotals released_later_{};
  std::optional<ShortestPaths> paths_;
  std::optional<Dominators> dominators_;
};

// "rbx", "rsp", "a vector register": where a word of a thread's registers lies.
std::string register_text(std::uint64_t word);
// "stack of thread 4711", "variables of libc.so.6", "register rbx of thread 4711": where a root word lies.
std::string root_text(const SnapshotMemory& memory, const RootRange& range, std::uint64_t word);

} // namespace heaptape
