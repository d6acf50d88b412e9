#include "recorder/core/rules.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/core/byte_walk.h"
#include "recorder/core/cfi.h"
#include "recorder/core/machine.h"
#include "recorder/core/modules.h"
#include "recorder/core/readable.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kFirstBits = 12;
constexpr std::uint64_t kLastBits = 22;
constexpr std::uint64_t kWriting = 1, kForgotten = 2;

// Ranges of generated code. Only ever widened or added to; a reader may see a range a moment late, which costs it a frame.
constexpr std::size_t kMostRanges = 64;
struct CodeRange {
  std::atomic<std::uint64_t> start;
  std::atomic<std::uint64_t> end;
};
constinit CodeRange g_generated[kMostRanges];
constinit std::atomic<std::size_t> g_generated_count{0};

constexpr std::uint8_t kOpBregRbp = 0x76, kOpDeref = 0x06;

// RBP + offset, then optionally a load: the only expressions compilers write for functions that realign their stack.
bool is_rbp_expression(const std::uint8_t* expression, bool loads, std::int64_t& offset) noexcept {
  ByteWalk length(expression, expression + 10);
  const std::uint64_t size = length.uleb();
  if (size > 16) return false;
  ByteWalk walk(length.at(), length.at() + size);
  if (walk.fixed<std::uint8_t>() != kOpBregRbp) return false;
  offset = walk.sleb();
  if (loads && walk.fixed<std::uint8_t>() != kOpDeref) return false;
  return !walk.bad() && walk.done();
}

bool fits(std::int64_t offset, Rule& rule) noexcept {
  if (offset != static_cast<std::int32_t>(offset)) return false;
  rule.cfa_offset = static_cast<std::int32_t>(offset);
  return true;
}

bool set_rbp(std::int64_t offset, Rule& rule) noexcept {
  const std::int64_t words = offset / 8;
  if (offset % 8 != 0 || words == 0 || words != static_cast<std::int16_t>(words)) return false;
  rule.rbp_words = static_cast<std::int16_t>(words);
  return true;
}

Rule from_row(const CfiRow& row, bool signal_frame) noexcept {
  constexpr Rule kSlow{0, 0, RuleKind::Slow, 0};
  if (signal_frame) return kSlow;
  if (row.return_address.how() == How::Undefined) return {0, 0, RuleKind::End, 0};
  if (row.return_address.how() != How::AtOffset || row.return_address.value() != -8) return kSlow;
  Rule rule;
  if (row.cfa_expression != nullptr) {
    std::int64_t offset = 0;
    if (!is_rbp_expression(row.cfa_expression, true, offset) || !fits(offset, rule)) return kSlow;
    rule.kind = RuleKind::Drap;
    if (row.rbp.how() == How::Same) return rule;
    if (row.rbp.how() != How::AtExpression || !is_rbp_expression(row.rbp.expression(), false, offset)) return kSlow;
    rule.flags = kSavesRbp;
    return set_rbp(offset, rule) || offset == 0 ? rule : kSlow;
  }
  if (!fits(row.cfa_offset, rule)) return kSlow;
  if (row.cfa_register == kRsp) {
    rule.kind = RuleKind::Rsp;
  } else if (row.cfa_register == kRbp) {
    rule.kind = RuleKind::Rbp;
  } else {
    return kSlow;
  }
  if (row.rsp.how() != How::Same) return kSlow;
  if (row.rbp.how() == How::Same || row.rbp.how() == How::Undefined) return rule;
  if (row.rbp.how() == How::AtOffset && set_rbp(row.rbp.value(), rule)) return rule;
  return kSlow;
}

} // namespace

Rule compute_rule(std::uint64_t pc) noexcept {
  constexpr Rule kFramePointer{16, -2, RuleKind::Rbp, kGuessed};
  if (pc < 4096 || pc >> 47 != 0) return {};
  const CodeObject object = find_object(pc - 1);
  if (object.start == 0) return is_generated_code(pc) ? kFramePointer : Rule{};
  note_module(object);
  CfiRow row;
  bool signal_frame = false;
  switch (find_row(object, pc - 1, row, signal_frame)) {
  case CfiResult::Found: return from_row(row, signal_frame);
  case CfiResult::NoInformation:
    // Nobody calls a signal trampoline or the start of a coroutine: they are "returned to" at their first byte, and the
    // byte before that belongs to nobody. The former leads on to what was interrupted, the latter nowhere.
    if (find_row(object, pc, row, signal_frame) == CfiResult::Found) {
      return signal_frame ? from_row(row, true) : Rule{0, 0, RuleKind::End, 0};
    }
    return kFramePointer;
  case CfiResult::Unsupported: break;
  }
  return {0, 0, RuleKind::Slow, 0};
}

void note_executable(std::uint64_t start, std::uint64_t size) noexcept {
  const std::uint64_t end = start + size;
  const std::size_t count = g_generated_count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count && i < kMostRanges; ++i) {
    CodeRange& range = g_generated[i];
    const std::uint64_t range_start = range.start.load(std::memory_order_relaxed);
    const std::uint64_t range_end = range.end.load(std::memory_order_relaxed);
    if (start >= range_start && end <= range_end) return;
    if (start > range_end || end < range_start) continue; // not even touching
    if (start < range_start) range.start.store(start, std::memory_order_relaxed);
    if (end > range_end) range.end.store(end, std::memory_order_relaxed);
    return;
  }
  const std::size_t slot = g_generated_count.fetch_add(1, std::memory_order_acq_rel);
  if (slot >= kMostRanges) return;
  g_generated[slot].start.store(start, std::memory_order_relaxed);
  g_generated[slot].end.store(end, std::memory_order_release);
}

bool is_generated_code(std::uint64_t pc) noexcept {
  std::size_t count = g_generated_count.load(std::memory_order_acquire);
  if (count > kMostRanges) count = kMostRanges;
  for (std::size_t i = 0; i < count; ++i) {
    if (pc < g_generated[i].end.load(std::memory_order_acquire) &&
        pc >= g_generated[i].start.load(std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

RuleTable::Block* RuleTable::map_block(std::uint64_t bits) noexcept {
  constexpr std::uint64_t kLargePage = std::uint64_t{2} << 20;
  std::uint64_t bytes = sizeof(Block) + (sizeof(RuleEntry) << bits);
  const bool large = bytes >= kLargePage;
  if (large) bytes = (bytes + 2 * kLargePage - 1) & ~(kLargePage - 1);
  const long memory = system_call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory < 0 && memory > -4096) return nullptr;
  auto start = static_cast<std::uint64_t>(memory);
  if (large) {
    start = (start + kLargePage - 1) & ~(kLargePage - 1);
    (void)system_call(SYS_madvise, static_cast<long>(start), static_cast<long>(bytes - kLargePage), MADV_HUGEPAGE);
  }
  auto* block = reinterpret_cast<Block*>(start);
  block->bits = bits;
  block->mask = (std::uint64_t{1} << bits) - 1;
  return block;
}

bool RuleTable::start() noexcept {
  if (block_.load(std::memory_order_relaxed) != nullptr) return true;
  Block* block = map_block(kFirstBits);
  block_.store(block, std::memory_order_release);
  return block != nullptr;
}

RuleEntry* RuleTable::insert(Block* block, std::uint64_t pc, Rule rule) noexcept {
  for (std::uint64_t i = index_of(pc, block->bits), probes = 0; probes <= block->mask; ++i, ++probes) {
    RuleEntry* entry = &block->entries()[i & block->mask];
    std::uint64_t seen = entry->pc.load(std::memory_order_acquire);
    if (seen == pc) return entry;
    if (seen != 0 || !entry->pc.compare_exchange_strong(seen, kWriting, std::memory_order_acq_rel)) continue;
    entry->rule = rule;
    entry->next.store(static_cast<std::uint32_t>(i & block->mask), std::memory_order_relaxed);
    entry->pc.store(pc, std::memory_order_release); // pairs with find()
    block->used.fetch_add(1, std::memory_order_relaxed);
    return entry;
  }
  return nullptr;
}

RuleEntry* RuleTable::find_further(Block* block, std::uint64_t pc) noexcept {
  for (std::uint64_t i = index_of(pc, block->bits), probes = 0; probes <= block->mask; ++i, ++probes) {
    RuleEntry* entry = &block->entries()[i & block->mask];
    const std::uint64_t seen = entry->pc.load(std::memory_order_acquire);
    if (seen == pc) return entry;
    if (seen == 0) break;
  }
  const Rule rule = compute_rule(pc);
  if (block->used.load(std::memory_order_relaxed) * 2 > block->mask) block = grow(block);
  RuleEntry* entry = insert(block, pc, rule);
  if (entry != nullptr) return entry;
  // Full to the brim (it cannot grow any more): lend out the entry where it would be. Its pc does not match, so nobody
  // else takes it for this one; this capture ends here.
  static constinit RuleEntry s_stop{};
  return &s_stop;
}

RuleEntry* RuleTable::find_next_slowly(RuleEntry* entry, std::uint64_t pc) noexcept {
  RuleEntry* next = find(pc);
  Block* block = block_.load(std::memory_order_relaxed);
  const auto index = static_cast<std::uint64_t>(next - block->entries());
  if (index <= block->mask) entry->next.store(static_cast<std::uint32_t>(index), std::memory_order_relaxed);
  return next;
}

RuleTable::Block* RuleTable::grow(Block* block) noexcept {
  if (block->bits >= kLastBits || in_sandbox() || growing_.exchange(true, std::memory_order_acq_rel)) return block;
  Block* larger = block_.load(std::memory_order_acquire) == block ? map_block(block->bits + 2) : nullptr;
  if (larger != nullptr) {
    for (std::uint64_t i = 0; i <= block->mask; ++i) {
      const RuleEntry& entry = block->entries()[i];
      const std::uint64_t pc = entry.pc.load(std::memory_order_acquire);
      if (pc > kForgotten) (void)insert(larger, pc, entry.rule);
    }
    // An entry that another thread adds to the old table meanwhile is worked out once more when it is next needed.
    block_.store(larger, std::memory_order_release);
  }
  growing_.store(false, std::memory_order_release);
  return larger != nullptr ? larger : block_.load(std::memory_order_acquire);
}

void RuleTable::forget(std::uint64_t start, std::uint64_t end) noexcept {
  Block* block = block_.load(std::memory_order_acquire);
  if (block == nullptr) return;
  for (std::uint64_t i = 0; i <= block->mask; ++i) {
    RuleEntry& entry = block->entries()[i];
    const std::uint64_t pc = entry.pc.load(std::memory_order_acquire);
    // A return address may be the first byte after the object's last function.
    if (pc > start && pc <= end) entry.pc.store(kForgotten, std::memory_order_release);
  }
}

} // namespace heaptape::recorder
