// How to step from a frame to its caller, per return address: .eh_frame boiled down to eight bytes, computed once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

enum class RuleKind : std::uint8_t {
  Rsp,  // CFA = the address after the return slot + cfa_offset
  Rbp,  // CFA = RBP + cfa_offset
  Drap, // CFA = the word at RBP + cfa_offset (functions that realign their stack)
  End,  // outermost frame
  Stop, // no unwind information and no reason to believe in a frame pointer
  Slow, // needs the full interpreter: signal frames, CFA from other registers
};

inline constexpr std::uint8_t kGuessed = 1;  // a frame pointer was assumed: check what it leads to
inline constexpr std::uint8_t kSavesRbp = 2; // Drap only
inline constexpr std::uint8_t kFromCode = 4; // read from the instructions after the return address: check it likewise
inline constexpr std::uint8_t kDoubtful = kGuessed | kFromCode;

struct Rule {
  std::int32_t cfa_offset = 0;
  // Where the caller's RBP is saved, in words. Rsp, Rbp: from the CFA, 0 if it is not saved. Drap: from RBP, if kSavesRbp.
  std::int16_t rbp_words = 0;
  RuleKind kind = RuleKind::Stop;
  std::uint8_t flags = 0;

  // What the CFA is counted from, plus the offset. Rsp: `base` is the address after the return slot; Rbp, Drap: RBP.
  std::uint64_t cfa(std::uint64_t base) const noexcept {
    return base + static_cast<std::uint64_t>(std::int64_t{cfa_offset});
  }
  // Where the caller's RBP is saved; `base` is the CFA or, of Drap, RBP.
  std::uint64_t rbp_at(std::uint64_t base) const noexcept {
    return base + static_cast<std::uint64_t>(std::int64_t{rbp_words} * 8);
  }
};
static_assert(sizeof(Rule) == 8);
inline constexpr Rule kFramePointer{16, -2, RuleKind::Rbp, kGuessed};

// One remembered address. `next` is where the caller's rule was found last time: a guess that is checked by comparing pc.
struct RuleEntry {
  std::atomic<std::uint64_t> pc; // 0: empty, 1: being written, 2: forgotten
  Rule rule;
  std::atomic<std::uint32_t> next;
  std::atomic<std::uint32_t> after_call; // whether the code in front of pc ends with a call: 0 not looked, 1 yes, 2 no
  std::uint32_t pad[2];
};
static_assert(sizeof(RuleEntry) == 32);

// Shared by all threads. Reading takes no lock; a writer fills an entry before it shows its pc. The table grows by moving to
// a larger one and never gives memory back, so an entry pointer stays valid.
class RuleTable {
public:
  // Maps the first table. False: no memory.
  [[nodiscard]] bool start() noexcept;

  // The rule of a return address. Never null once started; computes it if it is new.
  RuleEntry* find(std::uint64_t pc) noexcept {
    Block* block = block_.load(std::memory_order_acquire); // pairs with grow()
    RuleEntry* entry = &block->entries()[index_of(pc, block->bits)];
    if (entry->pc.load(std::memory_order_acquire) == pc) [[likely]] // pairs with insert()
      return entry;
    return find_further(block, pc);
  }

  // The rule of the caller's address, guessing that it is the same caller as last time.
  RuleEntry* find_next(RuleEntry* entry, std::uint64_t pc) noexcept {
    Block* block = block_.load(std::memory_order_relaxed);
    RuleEntry* guess = &block->entries()[entry->next.load(std::memory_order_relaxed) & block->mask];
    // A branch, not a select: the processor goes on with the guessed rule while the pc is still on its way.
    if (guess->pc.load(std::memory_order_acquire) == pc) [[likely]]
      return guess;
    return find_next_slowly(entry, pc);
  }

  // Forgets every rule of [start, end): the code there is gone. How many there were.
  std::size_t forget(std::uint64_t start, std::uint64_t end) noexcept;

private:
  struct Block {
    std::uint64_t bits;
    std::uint64_t mask;
    std::atomic<std::uint64_t> used;
    std::uint64_t pad[5];
    RuleEntry* entries() noexcept { return reinterpret_cast<RuleEntry*>(this + 1); }
  };

  static std::uint64_t index_of(std::uint64_t pc, std::uint64_t bits) noexcept {
    return (pc * 0x9e37'79b9'7f4a'7c15u) >> (64 - bits);
  }
  static Block* map_block(std::uint64_t bits) noexcept;
  static RuleEntry* insert(Block* block, std::uint64_t pc, Rule rule) noexcept;
  RuleEntry* find_further(Block* block, std::uint64_t pc) noexcept;
  RuleEntry* find_next_slowly(RuleEntry* entry, std::uint64_t pc) noexcept;
  Block* grow(Block* block) noexcept;

  std::atomic<Block*> block_{nullptr};
  std::atomic<bool> growing_{false};
};

// Works out the rule of a return address from .eh_frame; tells the module log about objects it has not seen. In
// compute_rule.cpp, so that the table knows neither.
[[nodiscard]] Rule compute_rule(std::uint64_t pc) noexcept;

// Whether the bytes in front of a return address can be a call; true where we may not look. In generated_code.cpp.
[[nodiscard]] bool follows_call(std::uint64_t pc) noexcept;

// Whether to believe that a frame returns to `pc`, which a doubtful rule has led to; `entry` is the rule of pc.
[[nodiscard, gnu::noinline]] bool may_return_to(RuleEntry& entry, std::uint64_t pc) noexcept;

} // namespace heaptape::recorder
