#include "report/contents/snapshot_heap.h"

#include <algorithm>
#include <array>
#include <thread>
#include <unordered_map>

#include "analysis/heap/allocator_code.h"
#include "analysis/memory/borrowed_places.h"
#include "analysis/space/address_space.h"
#include "base/path_text.h"
#include "report/contents/ending_threads.h"

namespace heaptape {

namespace {

std::vector<HeapBlock> blocks_of(HeapCursor& heap) {
  std::vector<HeapBlock> blocks;
  blocks.reserve(heap.state().blocks().size());
  heap.state().blocks().for_each([&](const Block& block) {
    blocks.push_back({block.address, block.size, heap.owner_of(block).stack.value});
  });
  return blocks;
}

// CPython since 3.11 has the variables of its functions in mappings that begin with the one before, and with their own size.
std::vector<RootArea> python_frames(const MemoryImage& image, std::span<const RootArea> own) {
  constexpr std::uint64_t kSize = 8;
  MemoryCursor cursor(image);
  std::vector<RootArea> frames;
  for (const RootArea& area : own) {
    const std::uint64_t before = cursor.word(area.begin).value_or(1);
    const bool has_one_before = std::ranges::find(own, before, &RootArea::begin) != own.end();
    if ((before == 0 || has_one_before) && cursor.word(area.begin + kSize) == area.end - area.begin)
      frames.push_back(area);
  }
  return frames;
}

RootFacts facts_of(const TapeReader& tape, const SnapshotMemory& memory, HeapCursor& heap,
                   std::span<const ThreadState> threads) {
  RootFacts facts;
  facts.regions = memory.facts().regions;
  facts.names = tape.snapshots().names().texts();
  facts.threads = threads;
  for (const SpaceRange& range : address_space_at(tape, heap.state(), memory.facts().time_us).ranges) {
    if (range.kind == RangeKind::MainHeap || range.kind == RangeKind::ThreadArena)
      facts.arenas.push_back({range.begin, range.end});
    if (range.kind == RangeKind::MainStack || range.kind == RangeKind::ThreadStack)
      facts.stacks.push_back({range.begin, range.end});
  }
  AllocatorStacks is_allocators(tape.modules(), tape.stacks());
  for (const auto& [begin, piece] : heap.state().mappings().pieces()) {
    if (piece.anonymous && !is_allocators(piece.stack)) facts.own.push_back({begin, piece.end});
  }
  if (memory.has_cpython()) facts.frames = python_frames(memory.image(), facts.own);
  return facts;
}

// Blocks that an allocator has made for itself: what holds them are its own variables, at which nobody looks.
void add_blocks_of_allocators(const TapeReader& tape, const BlockRanks& ranks, std::vector<std::uint64_t>& in_use) {
  const std::vector<Module>& modules = tape.modules();
  if (std::ranges::none_of(modules, [](const Module& module) { return allocator_named(module.path).has_value(); }))
    return;
  AllocatorStacks is_allocators(modules, tape.stacks());
  std::unordered_map<std::uint32_t, bool> known; // by stack
  for (std::uint32_t block = 0; block < ranks.size(); ++block) {
    const auto [own, is_new] = known.try_emplace(ranks.group(block));
    if (is_new) own->second = is_allocators(StackId(ranks.group(block)));
    if (own->second) in_use.push_back(ranks.begin(block));
  }
}

// Of these blocks, by address, those that were released after this event.
std::vector<std::uint32_t> released_after(const TapeReader& tape, std::uint64_t event,
                                          std::unordered_map<std::uint64_t, std::uint32_t> blocks) {
  std::vector<std::uint32_t> released;
  if (blocks.empty()) return released;
  EventCursor events = tape.events(event + 1);
  while (const Event* next = events.next()) {
    const bool moves = is_reallocation(next->kind) && !next->old_released;
    const auto ended = blocks.find(is_release(next->kind) ? next->address : moves ? next->old_address : 0);
    if (ended == blocks.end()) continue;
    released.push_back(ended->second);
    blocks.erase(ended);
    if (blocks.empty()) break;
  }
  return released;
}

constexpr std::array kRegisterNames{"r15", "r14", "r13", "r12", "rbp", "rbx", "r11",      "r10", "r9",
                                    "r8",  "rax", "rcx", "rdx", "rsi", "rdi", "orig_rax", "rip"};

} // namespace

Result<BlockRanks> ranks_of(HeapCursor& heap) { return BlockRanks::of(blocks_of(heap)); }

Result<std::unique_ptr<SnapshotHeap>> SnapshotHeap::make(const TapeReader& tape, SnapshotMemory& memory,
                                                         HeapCursor& heap, const HeapReading& reading) {
  std::unique_ptr<SnapshotHeap> made(new SnapshotHeap(tape, memory));
  Result<BlockRanks> ranks = ranks_of(heap);
  if (!ranks) return ranks.error();
  made->ranks_ = std::move(ranks).value();
  made->in_use_ = memory.facts().in_flight;
  add_blocks_of_allocators(tape, *made->ranks_, made->in_use_);
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, 8U);
  const bool cpython = !reading.all_words && memory.has_cpython();
  Result<ReferenceGraph> graph =
      ReferenceGraph::of(memory.image(), *made->ranks_, {.threads = threads, .form = reading.form, .cpython = cpython});
  if (!graph) return graph.error();
  made->graph_ = std::move(graph).value();
  made->threads_ = threads_in_own_code(tape, memory);
  made->roots_ = Roots::of(facts_of(tape, memory, heap, made->threads_), memory.image(), *made->ranks_, reading.form);
  if (cpython) made->roots_->set_borrowed(borrowed_places(made->view()));
  const RootFacts facts{.regions = memory.facts().regions, .names = tape.snapshots().names().texts()};
  made->known_ = KnownPlaces::of(made->view(), vtables_in(facts.regions, facts.names), [&](std::uint32_t stack) {
    return stack < tape.stacks().size() ? tape.stacks()[stack].pc : 0;
  });
  made->known_->mark(*made->ranks_, *made->graph_);
  return made;
}

const Reachability& SnapshotHeap::reachability() {
  if (!reachability_) reachability_ = reachability_with({}, released_later_);
  return *reachability_;
}

Reachability SnapshotHeap::reachability_with(ReachOptions options, LeakTotals& released_later) {
  std::vector<std::uint64_t> in_use(options.in_use.begin(), options.in_use.end());
  in_use.insert(in_use.end(), in_use_.begin(), in_use_.end());
  options.in_use = in_use;
  released_later = {};
  Reachability reach = Reachability::of(view(), *known_, options);
  if (options.strict) return reach;
  std::unordered_map<std::uint64_t, std::uint32_t> doubted;
  for (std::uint32_t block = 0; block < ranks_->size(); ++block)
    if (reach.class_of(block) != LeakClass::Reachable) doubted.emplace(ranks_->begin(block), block);
  const std::vector<std::uint32_t> released = released_after(tape_, memory_.facts().event, std::move(doubted));
  if (released.empty()) return reach;
  for (const std::uint32_t block : released) {
    in_use.push_back(ranks_->begin(block));
    ++released_later.blocks;
    released_later.bytes += ranks_->bytes(block);
  }
  options.in_use = in_use;
  return Reachability::of(view(), *known_, options);
}

const ShortestPaths& SnapshotHeap::paths() {
  if (!paths_) paths_.emplace(view());
  return *paths_;
}

const Dominators& SnapshotHeap::dominators() {
  if (!dominators_) dominators_ = Dominators::of(view());
  return *dominators_;
}

std::string register_text(std::uint64_t word) {
  if (word >= kExtendedRegisters) return "a vector register";
  return word < kRegisterNames.size() ? kRegisterNames[word] : "rsp";
}

std::string root_text(const SnapshotMemory& memory, const RootRange& range, std::uint64_t word) {
  const std::vector<ThreadState>& threads = memory.facts().threads;
  const std::string thread =
      range.thread < threads.size() ? " of thread " + std::to_string(threads[range.thread].tid) : std::string();
  const auto region = [&](std::string_view otherwise) {
    const std::vector<MappedRange>& regions = memory.facts().regions;
    if (range.region >= regions.size()) return std::string(otherwise);
    const std::string& name = memory.name_of(regions[range.region]);
    return name.empty() ? std::string(otherwise) : std::string(base_name(name));
  };
  switch (range.kind) {
  case RootKind::Registers: return (word < kExtendedRegisters ? "register " : "") + register_text(word) + thread;
  case RootKind::Stack: return "stack" + thread;
  case RootKind::ThreadLocal: return "thread-local variables" + thread;
  case RootKind::Globals: return "variables of " + region("a module");
  case RootKind::Mapping: return region("a mapping");
  case RootKind::Shared: return "shared memory " + region("");
  case RootKind::Code: return "code made at run time";
  case RootKind::Named: return "a root that the program named";
  }
  return "";
}

} // namespace heaptape
