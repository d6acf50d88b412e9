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

class SnapshotHeap {
public:
  // `heap` stands at the snapshot's event; it is not needed afterwards. The others must outlive it. Fails when the heap is too large.
  static Result<std::unique_ptr<SnapshotHeap>> make(const TapeReader& tape, SnapshotMemory& memory, HeapCursor& heap);

  const BlockRanks& ranks() const { return *ranks_; }
  HeapView view() const { return {memory_.image(), *ranks_, *graph_, *roots_, memory_.facts().threads}; }
  const Roots& roots() const { return *roots_; }
  StackId stack_of(std::uint32_t block) const { return StackId(ranks_->group(block)); }
  SnapshotMemory& memory() { return memory_; }

  const Reachability& reachability();
  const ShortestPaths& paths();
  const Dominators& dominators();

private:
  explicit SnapshotHeap(SnapshotMemory& memory) : memory_(memory) {}

  SnapshotMemory& memory_;
  std::optional<BlockRanks> ranks_;
  std::optional<ReferenceGraph> graph_;
  std::optional<Roots> roots_;
  std::optional<KnownPlaces> known_;
  std::optional<Reachability> reachability_;
  std::optional<ShortestPaths> paths_;
  std::optional<Dominators> dominators_;
};

// "rbx", "rsp", "a vector register": where a word of a thread's registers lies.
std::string register_text(std::uint64_t word);
// "stack of thread 4711", "variables of libc.so.6", "register rbx of thread 4711": where a root word lies.
std::string root_text(const SnapshotMemory& memory, const RootRange& range, std::uint64_t word);

} // namespace heaptape
