// How a stack is captured without unwinding it.
//
// A thread's stack hardly changes from one malloc to the next. So each thread keeps its last stack in a *cache*, outermost
// frame first, and a capture only finds out how much of it is still true. Here main has called load, which called parse, and
// parse calls strdup, which calls malloc. The cache stems from a capture inside parse:
//
//      stack, upwards                       cache                     path (strdup, slot 0x7e80)
//   0x7ff8 | into start   | <-----------  [0] slot 0x7ff8 into start
//          | main's frame |
//   0x7f90 | into main    | <-----------  [1] slot 0x7f90 into main
//          | saved RBP    | <-----------      extra word: load's CFA comes from it
//          | load's frame |
//   0x7f20 | into load    | <-----------  [2] slot 0x7f20 into load  <- join: stamp 17
//          | parse's ...  |
//   0x7ec0 | into parse   | <-------------------------------------  word: slot + 0x40 into parse
//          | strdup's ... |
//   0x7e80 | into strdup  | <-------------------------------------  pc, slot, RBP of the call itself; number 4711
//
// **What is known.** Where a caller's return slot lies follows from three things: the rule of the return address (rules.h), the
// place of the slot, and RBP if the rule, or one further out, needs it. So a stack is decided by the words a full unwind reads:
// return slots, saved RBPs that feed an RBP-based rule further out, the CFA word of a frame that realigned its stack, and what was
// read when the outermost frame turned out to be that.
//
// **What is checked.** All of these words, every time, against what they held:
//   1. at the innermost frame: pc, slot, and RBP if the way outward depends on it;
//   2. the words of the *path*, the frames between the call and the cache (known_paths.h);
//   3. the join, the frame of the cache where the path ends: its stamp says that it is still the same entry;
//   4. every return slot from the join outward, every extra word that guards it, and the words of the root;
//   5. that no code was unloaded since (g_code_generation), for then a rule might have changed.
//
// **Why it is right.** By induction from the inside: if a frame is the same and the words its rule reads are the same, so is its
// caller. Nothing else goes into an unwind, so the number kept with the path is the number a full unwind would find, whatever
// happened in between (longjmp, exceptions, alloca, other stacks). tests/stack_truth compares every capture with libunwind's, and
// shows that leaving out the saved RBPs gives wrong stacks.
//
// capture() in capture.h does 1 to 5 and nothing else; it is inlined into the hooks. What follows here is the other case: unwind
// frame by frame until one is met that the cache knows, check the cache from there outward, and remember the way as a path. When
// paths do not come again (Habit), or cost nothing, the frames go into the cache instead (stack_memo.h).
#include "recorder/core/capture.h"

#include "recorder/core/machine.h"
#include "recorder/core/recorder.h"
#include "recorder/core/stack_memo.h"
#include "recorder/core/too_deep.h"
#include "wire/stack_roots.h"

namespace heaptape::recorder {

constinit std::atomic<std::uint32_t> g_code_generation{0};

namespace {

enum class Step : std::uint8_t { Taken, Ended, Cut };

std::uint64_t load(std::uint64_t address) noexcept { return *reinterpret_cast<const std::uint64_t*>(address); }

bool reaches(StackMemory& memory, Range& range, std::uint64_t address) noexcept {
  return range.holds(address) || memory.extend_up(range, address);
}

[[gnu::noinline]] Step step_realigned(StackMemory& memory, Range& range, Rule rule, Frame& frame) noexcept {
  if (rule.kind != RuleKind::Drap) return rule.kind == RuleKind::End ? Step::Ended : Step::Cut;
  const std::uint64_t cfa_word = rule.cfa(frame.rbp);
  if ((cfa_word & 7) != 0 || !reaches(memory, range, cfa_word)) return Step::Cut;
  const std::uint64_t next = load(cfa_word) - 8;
  if (next <= frame.slot || (next & 7) != 0 || !reaches(memory, range, next)) return Step::Cut;
  if ((rule.flags & kSavesRbp) != 0) {
    const std::uint64_t saved = rule.rbp_at(frame.rbp);
    if ((saved & 7) != 0 || !reaches(memory, range, saved)) return Step::Cut;
    frame.rbp = load(saved);
  }
  frame.slot = next;
  frame.pc = load(next);
  return frame.pc != 0 ? Step::Taken : Step::Ended;
}

// Goes from a frame to its caller. Never reads outside the range.
inline Step step(StackMemory& memory, Range& range, Rule rule, Frame& frame) noexcept {
  std::uint64_t next = 0;
  // Branches, not selects, and kept so by the empty assembly: most frames do not need RBP, and a select would make every
  // step wait for the load of it.
  if (rule.kind == RuleKind::Rsp) [[likely]] {
    next = rule.cfa(frame.slot);
    asm volatile("" : "+r"(next));
  } else if (rule.kind == RuleKind::Rbp) {
    next = rule.cfa(frame.rbp) - 8;
    asm volatile("" : "+r"(next));
  } else {
    return step_realigned(memory, range, rule, frame);
  }
  if (next <= frame.slot || (next & 7) != 0) [[unlikely]]
    return Step::Cut;
  if (next >= range.high && !memory.extend_up(range, next)) [[unlikely]]
    return Step::Cut;
  if (rule.rbp_words != 0) {
    const std::uint64_t saved = rule.rbp_at(next + 8);
    if (!range.holds(saved)) [[unlikely]]
      return Step::Cut;
    frame.rbp = load(saved);
    asm volatile("");
  }
  frame.slot = next;
  frame.pc = load(next);
  return frame.pc != 0 ? Step::Taken : Step::Ended;
}

// Compares everything a full unwind from frame `index` outward would read. 0: it is all as it was. Otherwise one plus
// the outermost frame that may have changed.
std::size_t find_change(const StackCache& cache, std::size_t index) noexcept {
  const std::size_t extra_end = cache.details[index].extra_end;
  if (all_hold(cache.returns, index) && (extra_end == 0 || all_hold(cache.extra, extra_end))) [[likely]]
    return 0;
  if (!all_hold(cache.returns, 0)) return 1;
  if (const std::size_t changed = innermost_changed(cache.returns, index); changed != 0) return changed;
  const std::size_t extra = innermost_changed(cache.extra, extra_end);
  std::size_t frame = index;
  while (frame > 0 && cache.details[frame - 1].extra_end >= extra) --frame;
  return frame + 1;
}

// The same on a stack we know less about: word by word, so that nothing is read that the frames inside do not lead to.
std::size_t find_change_carefully(const StackCache& cache, std::size_t index, StackMemory& memory,
                                  Range& range) noexcept {
  const auto holds = [&](std::uint64_t address, std::uint64_t value) {
    return reaches(memory, range, address) && load(address) == value;
  };
  const auto& returns = cache.returns;
  for (std::size_t k = index; k > 0; --k) {
    if (!holds(returns.addresses[k - 1], returns.values[k - 1])) return k;
  }
  for (std::size_t k = 0; k < cache.details[index].extra_end; ++k) {
    if (!holds(cache.extra.addresses[k], cache.extra.values[k])) return index + 1;
  }
  for (std::size_t k = returns.kRound - returns.kRoot; k < returns.kRound; ++k) {
    const bool ours = returns.front_addresses[k] == reinterpret_cast<std::uint64_t>(&returns.front_values[k]);
    if (!ours && !holds(returns.front_addresses[k], returns.front_values[k])) return 1;
  }
  return 0;
}

} // namespace

std::uint32_t capture_changed(ThreadState& thread, std::uint64_t pc, std::uint64_t slot, std::uint64_t rbp) noexcept {
  StackCache& cache = thread.cache;
  const std::uint32_t generation = g_code_generation.load(std::memory_order_acquire); // pairs with note_unloading()
  if (thread.generation != generation) [[unlikely]] {
    cache.count = 0;
    thread.generation = generation;
  }
  StackMemory& memory = thread.stack;
  Range& range = memory.around(slot);
  const bool own = &range == &memory.own();

  std::size_t known = cache.count <= kMostFrames ? cache.count : 0; // frames outside this index may be met again
  std::size_t sound = known;                                        // and those outside this one are worth comparing
  std::size_t fresh = 0;
  Frame frame{pc, slot, rbp};
  RuleEntry* entry = nullptr;
  std::uint8_t doubts = 0; // about how this frame was found
  std::uint64_t root = 0;
  std::size_t most = g_recorder.max_depth;
  for (;;) {
    while (known > 0 && cache.returns.addresses[known - 1] < frame.slot) --known;
    Rule rule;
    if (known > 0 && is_frame(cache, known - 1, frame)) {
      if (known <= sound) {
        const std::size_t changed =
            own ? find_change(cache, known - 1) : find_change_carefully(cache, known - 1, memory, range);
        if (changed == 0) [[likely]] {
          if (known + fresh <= g_recorder.max_depth && cache.cut) [[unlikely]] {
            sound = 0; // how many frames there are further out, the cache does not say
            continue;
          }
          if (own && known + fresh <= g_recorder.max_depth) {
            const bool comes_again =
                thread.habit.repeats(thread.slot->reserved.load(std::memory_order_relaxed)) && fresh <= kMostWords;
            // As long as the cache fits into one round of comparing, more frames in it cost nothing.
            const bool free = known == cache.count && known < cache.returns.kRound;
            if ((free || !comes_again) && fresh > 1) {
              cache.count = static_cast<std::uint32_t>(known);
              add_frames(thread, 1, fresh, 0, range);
              known = cache.count;
              fresh = 1;
            }
            return add_path(thread, fresh, known - 1, {pc, slot, rbp}, generation);
          }
          cache.count = static_cast<std::uint32_t>(known);
          break;
        }
        sound = changed - 1;
      }
      rule = cache.details[--known].rule;
      entry = nullptr;
    } else {
      entry = entry != nullptr ? g_recorder.rules.find_next(entry, frame.pc) : g_recorder.rules.find(frame.pc);
      rule = entry->rule;
      if (doubts != 0 && !may_return_to(*entry, frame.pc)) [[unlikely]] { // this is not a frame
        root = wire::kRootCut;
        cache.count = 0;
        break;
      }
    }
    if (rule.kind == RuleKind::Slow) [[unlikely]] {
      if (fresh <= g_recorder.max_depth) return capture_slowly(thread, {pc, slot, rbp});
      return number_too_deep(thread, 0, fresh, wire::kRootTooDeep, range);
    }
    if (rule.kind == RuleKind::Stop) [[unlikely]]
      root = wire::kRootCut;
    NewFrame& next = thread.fresh[fresh++]; // field by field: a wide load of narrow stores would stall
    next.pc = frame.pc;
    next.slot = frame.slot;
    next.rbp = frame.rbp;
    next.rule = rule;
    if (fresh > most) [[unlikely]] { // however many more there are, and whatever the cache knows of them
      most = frames_to_unwind(thread);
      if (fresh > most) return number_too_deep(thread, 0, fresh, wire::kRootTooDeep, range);
    }
    doubts = rule.flags & kDoubtful;
    const Step taken = step(memory, range, rule, frame);
    if (taken == Step::Taken) [[likely]]
      continue;
    // A frame pointer of zero is how start-up code marks the outermost frame.
    if (taken == Step::Cut && !((doubts & kGuessed) != 0 && frame.rbp == 0)) root = wire::kRootCut;
    cache.count = 0;
    break;
  }
  if (cache.count + fresh > g_recorder.max_depth) [[unlikely]]
    return number_too_deep(thread, cache.count, fresh, root, range);
  add_frames(thread, 0, fresh, root, range);
  return number_of(cache, cache.count - 1);
}

} // namespace heaptape::recorder
