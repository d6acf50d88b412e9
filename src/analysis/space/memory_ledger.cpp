#include "analysis/space/memory_ledger.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>

#include "analysis/heap/allocator_code.h"
#include "analysis/space/address_space.h"
#include "analysis/space/arenas.h"
#include "base/path_text.h"

namespace heaptape {

namespace {

enum class Line : std::uint8_t { Mapping, Held, Stack, File, Recorder, Other };

struct PlacedBlock {
  std::uint64_t begin, end;
  std::uint32_t owner;
};

const Sample* highest_sample(const TapeReader& tape) {
  const Sample* highest = nullptr;
  for (const Sample& sample : tape.samples()) {
    if (sample.rss_bytes != 0 && (highest == nullptr || sample.rss_bytes > highest->rss_bytes)) highest = &sample;
  }
  return highest;
}

class LedgerMaker {
public:
  LedgerMaker(const TapeReader& tape, const HeapState& state)
      : state_(state), space_(address_space_at(tape, state, memory_ledger_time(tape).value_or(0))),
        is_allocators_(tape.modules(), tape.stacks()) {
    ledger_.peak_rss_bytes = tape.resident().peak_rss_bytes;
  }

  MemoryLedger from_pages(const Residency& look) {
    ledger_.time_us = look.time_us;
    ledger_.from_pages = true;
    ledger_.whole = look.whole;
    sort_blocks();
    find_lines();
    for (const ResidentRun& run : look.runs) add_run(run);
    // The program went on while it was looked at, so the kernel's count may be a little less than what was found.
    const std::uint64_t found = ledger_.heap_bytes + ledger_.mapping_bytes + ledger_.held_bytes + ledger_.stack_bytes +
                                ledger_.file_bytes + ledger_.recorder_bytes + ledger_.other_bytes;
    ledger_.rss_bytes = std::max(look.rss_bytes, found);
    ledger_.other_bytes += ledger_.rss_bytes - found;
    return finish();
  }

  MemoryLedger estimate(const Sample& sample) {
    ledger_.time_us = sample.time_us;
    ledger_.rss_bytes = sample.rss_bytes;
    const std::uint64_t anonymous = std::min(sample.anonymous_bytes, sample.rss_bytes);
    ledger_.file_bytes = sample.rss_bytes - anonymous;
    find_lines();
    state_.blocks().for_each([&](const Block& block) { by_owner_[block.owner] += Cost::of(block.size); });
    for (std::size_t i = 0; i < space_.ranges.size(); ++i) {
      if (lines_[i] == Line::Mapping) by_stack_[stack_of(space_.ranges[i])] += Cost::of(space_.ranges[i].committed);
    }
    for (const auto& [owner, cost] : by_owner_) ledger_.heap_bytes += cost.bytes;
    for (const auto& [stack, cost] : by_stack_) ledger_.mapping_bytes += cost.bytes;
    // What was never touched takes no memory; which part that is, nobody knows.
    ledger_.heap_bytes = std::min(ledger_.heap_bytes, anonymous);
    ledger_.mapping_bytes = std::min(ledger_.mapping_bytes, anonymous - ledger_.heap_bytes);
    ledger_.other_bytes = anonymous - ledger_.heap_bytes - ledger_.mapping_bytes;
    return finish();
  }

private:
  StackId stack_of(const SpaceRange& range) const {
    const MappingPiece* piece = state_.mappings().find(range.begin);
    return piece != nullptr ? piece->stack : StackId{};
  }

  void sort_blocks() {
    blocks_.reserve(state_.blocks().size());
    state_.blocks().for_each([&](const Block& block) {
      if (block.size != 0 && block.address + block.size > block.address)
        blocks_.push_back({block.address, block.address + block.size, block.owner});
    });
    std::sort(blocks_.begin(), blocks_.end(),
              [](const PlacedBlock& a, const PlacedBlock& b) { return a.begin < b.begin; });
  }

  // What the bytes of each range are that no block holds.
  void find_lines() {
    const std::vector<Cost> live = live_by_range(state_, space_);
    // An allocator has more mappings than those that hold a block just now.
    std::unordered_set<StackId> with_blocks;
    for (std::size_t i = 0; i < space_.ranges.size(); ++i) {
      if (live[i].blocks != 0 && space_.ranges[i].event != 0) with_blocks.insert(stack_of(space_.ranges[i]));
    }
    for (std::size_t i = 0; i < space_.ranges.size(); ++i)
      lines_.push_back(line_of(space_.ranges[i], live[i].blocks != 0, with_blocks));
    for (std::size_t i = 1; i < space_.ranges.size(); ++i) {
      if (lines_[i] == Line::Other && is_guard(space_.ranges[i - 1], space_.ranges[i])) lines_[i] = Line::Stack;
    }
  }

  // A thread without an event is not on the tape, but its stack looks like one: memory behind a little that is closed.
  static bool is_guard(const SpaceRange& guard, const SpaceRange& stack) {
    constexpr std::uint64_t kLargestGuard = std::uint64_t{1} << 20;
    return guard.kind == RangeKind::Anonymous && stack.kind == RangeKind::Anonymous && stack.event == 0 &&
           guard.event == 0 && guard.committed == 0 && guard.end == stack.begin && guard.bytes() <= kLargestGuard;
  }

  Line line_of(const SpaceRange& range, bool has_blocks, const std::unordered_set<StackId>& with_blocks) {
    switch (range.kind) {
    case RangeKind::MainHeap:
    case RangeKind::ThreadArena: return Line::Held;
    case RangeKind::MainStack:
    case RangeKind::ThreadStack: return Line::Stack;
    case RangeKind::Special: return is_recorders(range) ? Line::Recorder : Line::Other;
    case RangeKind::Module: return is_recorders(range) ? Line::Recorder : Line::File;
    case RangeKind::File:
    case RangeKind::Anonymous: break;
    }
    const MappingPiece* piece = range.event != 0 ? state_.mappings().find(range.begin) : nullptr;
    if (piece != nullptr && piece->anonymous) {
      const bool allocators = has_blocks || with_blocks.contains(piece->stack) || is_allocators_(piece->stack);
      return allocators ? Line::Held : Line::Mapping;
    }
    if (range.kind == RangeKind::File) return Line::File;
    return has_blocks ? Line::Held : Line::Other;
  }

  bool is_recorders(const SpaceRange& range) const { return is_recorder_memory(space_.names[range.name]); }

  // Runs, ranges and blocks are all in order, so each is gone through once.
  void add_run(const ResidentRun& run) {
    std::uint64_t at = run.begin;
    while (at < run.end) {
      while (range_ < space_.ranges.size() && space_.ranges[range_].end <= at) ++range_;
      const bool in_range = range_ < space_.ranges.size() && space_.ranges[range_].begin <= at;
      std::uint64_t until = run.end;
      if (range_ < space_.ranges.size())
        until = std::min(until, in_range ? space_.ranges[range_].end : space_.ranges[range_].begin);
      add_part(at, until, in_range);
      at = until;
    }
  }

  void add_part(std::uint64_t begin, std::uint64_t end, bool in_range) {
    const std::uint64_t left = end - begin - take_blocks(begin, end);
    const Line line = in_range ? lines_[range_] : Line::Other; // else it was unmapped since
    switch (line) {
    case Line::Mapping: {
      const SpaceRange& range = space_.ranges[range_];
      Cost& cost = by_stack_[stack_of(range)];
      cost.bytes += left;
      if (last_mapping_ != range.begin) ++cost.blocks;
      last_mapping_ = range.begin;
      ledger_.mapping_bytes += left;
      break;
    }
    case Line::Held: ledger_.held_bytes += left; break;
    case Line::Stack:
      ledger_.stack_bytes += left;
      if (last_stack_ != space_.ranges[range_].begin) ++ledger_.stacks;
      last_stack_ = space_.ranges[range_].begin;
      break;
    case Line::File: ledger_.file_bytes += left; break;
    case Line::Recorder: ledger_.recorder_bytes += left; break;
    case Line::Other: ledger_.other_bytes += left; break;
    }
  }

  // The bytes of [begin, end) that live blocks hold. Blocks of a damaged tape may overlap; no byte counts twice.
  std::uint64_t take_blocks(std::uint64_t begin, std::uint64_t end) {
    std::uint64_t taken = 0;
    while (block_ < blocks_.size() && blocks_[block_].end <= begin) ++block_;
    for (std::uint64_t at = begin; block_ < blocks_.size() && blocks_[block_].begin < end; ++block_) {
      const PlacedBlock& block = blocks_[block_];
      const std::uint64_t from = std::max(at, block.begin), until = std::min(end, block.end);
      if (from < until) {
        Cost& cost = by_owner_[block.owner];
        cost.bytes += until - from;
        if (counted_ != block_ + 1) ++cost.blocks;
        counted_ = block_ + 1;
        taken += until - from;
        at = until;
      }
      if (block.end > end) break; // it goes on
    }
    ledger_.heap_bytes += taken;
    return taken;
  }

  MemoryLedger finish() {
    for (const auto& [owner, cost] : by_owner_) {
      if (cost != Cost{}) ledger_.blocks.push_back({state_.owners()[owner], cost});
    }
    std::sort(ledger_.blocks.begin(), ledger_.blocks.end(),
              [](const OwnerShare& a, const OwnerShare& b) { return a.owner < b.owner; });
    for (const auto& [stack, cost] : by_stack_) {
      if (cost != Cost{}) ledger_.mappings.push_back({stack, cost});
    }
    return std::move(ledger_);
  }

  const HeapState& state_;
  AddressSpace space_;
  AllocatorStacks is_allocators_;
  std::vector<PlacedBlock> blocks_;
  std::vector<Line> lines_; // beside space_.ranges
  std::size_t range_ = 0, block_ = 0;
  std::size_t counted_ = 0; // the last block that was counted, plus one
  std::uint64_t last_mapping_ = ~std::uint64_t{0}, last_stack_ = ~std::uint64_t{0};
  std::map<std::uint32_t, Cost> by_owner_;
  std::map<StackId, Cost> by_stack_;
  MemoryLedger ledger_;
};

} // namespace

std::optional<std::uint64_t> memory_ledger_time(const TapeReader& tape) {
  if (tape.resident().highest) return tape.resident().highest->time_us;
  const Sample* sample = highest_sample(tape);
  return sample != nullptr ? std::optional(sample->time_us) : std::nullopt;
}

MemoryLedger make_memory_ledger(const TapeReader& tape, const HeapState& state) {
  LedgerMaker maker(tape, state);
  if (tape.resident().highest) return maker.from_pages(*tape.resident().highest);
  const Sample* sample = highest_sample(tape);
  return sample != nullptr ? maker.estimate(*sample) : MemoryLedger{};
}

} // namespace heaptape
