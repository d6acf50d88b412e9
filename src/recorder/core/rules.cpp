#include "recorder/core/rules.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/core/machine.h"
#include "recorder/core/own_memory.h"
#include "recorder/core/readable.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kFirstBits = 12;
constexpr std::uint64_t kLastBits = 22;
constexpr std::uint64_t kWriting = 1, kForgotten = 2;

} // namespace

RuleTable::Block* RuleTable::map_block(std::uint64_t bits) noexcept {
  constexpr std::uint64_t kLargePage = std::uint64_t{2} << 20;
  std::uint64_t bytes = sizeof(Block) + (sizeof(RuleEntry) << bits);
  const bool large = bytes >= kLargePage;
  if (large) bytes = (bytes + 2 * kLargePage - 1) & ~(kLargePage - 1);
  const long memory = system_call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory < 0 && memory > -4096) return nullptr;
  note_own_memory(memory, bytes);
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
    entry->after_call.store(0, std::memory_order_relaxed);
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
  // The table is full and cannot grow: give out the entry where the rule would be. Its pc does not match, so no other
  // capture takes it for this rule; this one ends here.
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

std::size_t RuleTable::forget(std::uint64_t start, std::uint64_t end) noexcept {
  Block* block = block_.load(std::memory_order_acquire);
  if (block == nullptr) return 0;
  std::size_t forgotten = 0;
  for (std::uint64_t i = 0; i <= block->mask; ++i) {
    RuleEntry& entry = block->entries()[i];
    const std::uint64_t pc = entry.pc.load(std::memory_order_acquire);
    // A return address may be the first byte after the object's last function.
    if (pc <= start || pc > end) continue;
    entry.pc.store(kForgotten, std::memory_order_release);
    ++forgotten;
  }
  return forgotten;
}

bool may_return_to(RuleEntry& entry, std::uint64_t pc) noexcept {
  switch (entry.rule.kind) {
  case RuleKind::Stop: return false;
  case RuleKind::End:
  case RuleKind::Slow: return true; // nobody calls a trampoline
  case RuleKind::Rsp:
  case RuleKind::Rbp:
  case RuleKind::Drap: break;
  }
  constexpr std::uint32_t kYes = 1, kNo = 2;
  std::uint32_t known = entry.after_call.load(std::memory_order_relaxed);
  if (known == 0) {
    known = follows_call(pc) ? kYes : kNo;
    entry.after_call.store(known, std::memory_order_relaxed);
  }
  return known == kYes;
}

} // namespace heaptape::recorder
