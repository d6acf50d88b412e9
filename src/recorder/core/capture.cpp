#include "recorder/core/capture.h"

#include "recorder/core/machine.h"
#include "recorder/core/recorder.h"
#include "wire/stack_roots.h"

namespace heaptape::recorder {

constinit std::atomic<std::uint32_t> g_code_generation{0};

namespace {

enum class Step : std::uint8_t { Taken, Ended, Cut };

// Off only in a build of the tests, which shows that the check is needed.
#ifdef HEAPTAPE_WITHOUT_SAVED_RBP_CHECK
constexpr bool kGuardSavedRbp = false;
#else
constexpr bool kGuardSavedRbp = true;
#endif

std::uint64_t load(std::uint64_t address) noexcept { return *reinterpret_cast<const std::uint64_t*>(address); }

bool reaches(StackMemory& memory, Range& range, std::uint64_t address) noexcept {
  return range.holds(address) || memory.extend_up(range, address);
}

[[gnu::noinline]] Step step_realigned(StackMemory& memory, Range& range, Rule rule, Frame& frame) noexcept {
  if (rule.kind != RuleKind::Drap) return rule.kind == RuleKind::End ? Step::Ended : Step::Cut;
  const std::uint64_t cfa_word = frame.rbp + static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
  if ((cfa_word & 7) != 0 || !reaches(memory, range, cfa_word)) return Step::Cut;
  const std::uint64_t next = load(cfa_word) - 8;
  if (next <= frame.slot || (next & 7) != 0 || !reaches(memory, range, next)) return Step::Cut;
  if ((rule.flags & kSavesRbp) != 0) {
    const std::uint64_t saved = frame.rbp + static_cast<std::uint64_t>(std::int64_t{rule.rbp_words} * 8);
    if ((saved & 7) != 0 || !reaches(memory, range, saved)) return Step::Cut;
    frame.rbp = load(saved);
  }
  frame.slot = next;
  frame.pc = load(next);
  return frame.pc != 0 ? Step::Taken : Step::Ended;
}

// The address of the caller's return slot by a plain rule.
std::uint64_t caller_slot(Rule rule, const NewFrame& frame) noexcept {
  const auto offset = static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
  return rule.kind == RuleKind::Rsp ? frame.slot + offset : frame.rbp + offset - 8;
}

// Goes from a frame to its caller. Never reads outside the range.
inline Step step(StackMemory& memory, Range& range, Rule rule, Frame& frame) noexcept {
  std::uint64_t next = 0;
  // Branches, not selects, and kept so by the empty assembly: most frames do not need RBP, and a select would make every
  // step wait for the load of it.
  if (rule.kind == RuleKind::Rsp) [[likely]] {
    next = frame.slot + static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
    asm volatile("" : "+r"(next));
  } else if (rule.kind == RuleKind::Rbp) {
    next = frame.rbp + static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset}) - 8;
    asm volatile("" : "+r"(next));
  } else {
    return step_realigned(memory, range, rule, frame);
  }
  if (next <= frame.slot || (next & 7) != 0) [[unlikely]]
    return Step::Cut;
  if (next >= range.high && !memory.extend_up(range, next)) [[unlikely]]
    return Step::Cut;
  if (rule.rbp_words != 0) {
    const std::uint64_t saved = next + 8 + static_cast<std::uint64_t>(std::int64_t{rule.rbp_words} * 8);
    if (!range.holds(saved)) [[unlikely]]
      return Step::Cut;
    frame.rbp = load(saved);
    asm volatile("");
  }
  frame.slot = next;
  frame.pc = load(next);
  return frame.pc != 0 ? Step::Taken : Step::Ended;
}

// Everything a full unwind from frame `index` outward would read, compared. 0: it is all as it was; otherwise the outermost
// frame from which on that may not be said, plus one.
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

// The number a stack's outermost frame hangs on: 0, or a mark.
std::uint32_t root_of(std::uint64_t mark, std::uint64_t& hash) noexcept {
  std::uint32_t id = 0;
  hash = kRootHash;
  const auto hang = [&](std::uint64_t pc) {
    hash = path_hash(hash, pc);
    id = g_recorder.stacks.intern(id, pc, hash);
  };
  if (const std::uint32_t epoch = g_recorder.epoch.load(std::memory_order_relaxed); epoch != 0) [[unlikely]] {
    hang(wire::kRootEpoch + epoch % wire::kEpochs);
  }
  if (mark != 0) [[unlikely]]
    hang(mark);
  return id;
}

// Interns the innermost frames that fit: the cache's first `kept`, then the fresh ones. The cache stays as it is.
[[gnu::noinline]] std::uint32_t intern_too_deep(ThreadState& thread, std::size_t kept, std::size_t fresh) noexcept {
  const std::size_t most = g_recorder.max_depth;
  std::uint64_t hash = 0;
  std::uint32_t id = root_of(wire::kRootTooDeep, hash);
  const auto add = [&](std::uint64_t pc) {
    hash = path_hash(hash, pc);
    id = g_recorder.stacks.intern(id, pc, hash);
  };
  if (fresh > most) fresh = most;
  for (std::size_t i = kept - (most - fresh > kept ? kept : most - fresh); i < kept; ++i)
    add(thread.cache.returns.values[i]);
  for (std::size_t i = fresh; i > 0; --i) add(thread.fresh[i - 1].pc);
  return id;
}

// Notes the words that the way outward from the outermost frame read: why it ended there must stay true.
void guard_root(StackCache& cache, const NewFrame& root, const Range& range) noexcept {
  std::size_t used = 0;
  const auto guard = [&](std::uint64_t address) {
    if ((address & 7) == 0 && range.holds(address)) cache.returns.set_front(++used, address, load(address));
  };
  if (root.rule.kind == RuleKind::Rsp || root.rule.kind == RuleKind::Rbp) {
    guard(caller_slot(root.rule, root));
  } else if (root.rule.kind == RuleKind::Drap) {
    const std::uint64_t cfa_word = root.rbp + static_cast<std::uint64_t>(std::int64_t{root.rule.cfa_offset});
    guard(cfa_word);
    if (used != 0) guard(load(cfa_word) - 8);
  }
  while (used < cache.returns.kRoot) cache.returns.always_holds(++used);
}

// The number of the stack whose innermost frame is the cache's `index`. Most stacks were seen before, and are found without their
// callers' numbers. The outermost frame's is always known.
std::uint32_t number_of(StackCache& cache, std::size_t index) noexcept {
  StackCache::Detail* const details = cache.details;
  if (details[index].id != 0) return details[index].id;
  std::uint32_t id = g_recorder.stacks.find(cache.returns.values[index], details[index].hash);
  if (id == 0) [[unlikely]] {
    std::size_t known = index - 1;
    while (details[known].id == 0) --known;
    id = details[known].id;
    while (++known < index) {
      id = details[known].id = g_recorder.stacks.intern(id, cache.returns.values[known], details[known].hash);
    }
    id = g_recorder.stacks.intern(id, cache.returns.values[index], details[index].hash);
  }
  return details[index].id = id;
}

// Whether the way outward depends on RBP, on the way from the outside to the innermost frame.
struct Inward {
  bool needs_rbp;

  // Goes on to a frame inside; `caller_slot` is the return slot of the one before. Calls guard(address) for the words that the
  // way outward from here depends on, return slots aside.
  template <class Guard>
  void add(const NewFrame& frame, std::uint64_t caller_slot, Guard guard) noexcept {
    const Rule rule = frame.rule;
    if (rule.kind == RuleKind::Drap) [[unlikely]] {
      guard(frame.rbp + static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset}));
      if ((rule.flags & kSavesRbp) != 0 && needs_rbp) {
        guard(frame.rbp + static_cast<std::uint64_t>(std::int64_t{rule.rbp_words} * 8));
      }
      needs_rbp = true;
      return;
    }
    if (rule.rbp_words != 0) {
      // The RBP that a frame further out starts from comes out of this word.
      if (needs_rbp && kGuardSavedRbp) {
        guard(caller_slot + 8 + static_cast<std::uint64_t>(std::int64_t{rule.rbp_words} * 8));
      }
      needs_rbp = false;
    }
    if (rule.kind == RuleKind::Rbp) needs_rbp = true;
  }
};

// Puts the fresh frames [first, fresh), innermost first in the array, inside the cache's frames.
void add_frames(ThreadState& thread, std::size_t first, std::size_t fresh, std::uint64_t mark,
                const Range& range) noexcept {
  StackCache& cache = thread.cache;
  std::size_t count = cache.count;

  Inward inward{};
  std::uint16_t extra = 0;
  std::uint64_t hash = 0;
  std::uint32_t root = 0;
  if (count != 0) {
    const StackCache::Detail& outer = cache.details[count - 1];
    inward = {outer.needs_rbp};
    extra = outer.extra_end;
    hash = outer.hash;
  } else {
    root = root_of(mark, hash);
  }
  // Where the number is looked up depends on addresses only, so that can be under way meanwhile.
  for (std::size_t i = fresh, k = count; i > first; --i, ++k) {
    hash = path_hash(hash, thread.fresh[i - 1].pc);
    cache.details[k].hash = hash;
  }
  if (first == 0) __builtin_prefetch(g_recorder.stacks.place_of(hash));
  for (std::size_t i = fresh; i > first; --i, ++count) {
    const NewFrame& frame = thread.fresh[i - 1];
    StackCache::Detail& detail = cache.details[count];
    detail.id = 0;
    if (count == 0) [[unlikely]] {
      detail.id = g_recorder.stacks.intern(root, frame.pc, detail.hash);
      inward.needs_rbp = frame.rule.kind == RuleKind::Rbp || frame.rule.kind == RuleKind::Drap;
      guard_root(cache, frame, range);
    } else {
      inward.add(frame, cache.returns.addresses[count - 1],
                 [&](std::uint64_t address) { cache.extra.set(extra++, address, load(address)); });
    }
    cache.returns.set(count, frame.slot, frame.pc);
    detail.rbp = frame.rbp;
    detail.rule = frame.rule;
    detail.extra_end = extra;
    detail.needs_rbp = inward.needs_rbp;
    cache.stamps[count] = ++cache.stamps_given;
  }
  cache.count = static_cast<std::uint32_t>(count);
}

// The number of a stack that is new: the fresh frames inside the cache's frame `join`.
[[gnu::noinline, gnu::cold]] std::uint32_t intern_inside(ThreadState& thread, std::size_t fresh,
                                                         std::size_t join) noexcept {
  std::uint32_t id = number_of(thread.cache, join);
  std::uint64_t hash = thread.cache.details[join].hash;
  for (std::size_t i = fresh; i > 0; --i) {
    hash = path_hash(hash, thread.fresh[i - 1].pc);
    id = g_recorder.stacks.intern(id, thread.fresh[i - 1].pc, hash);
  }
  return id;
}

// The number of the stack that the fresh frames make inside the cache's frame `join`. The cache stays as it is; the way is
// remembered, if it is short enough.
std::uint32_t add_path(ThreadState& thread, std::size_t fresh, std::size_t join, const Frame& site,
                       std::uint32_t generation) noexcept {
  StackCache& cache = thread.cache;
  const StackCache::Detail& outer = cache.details[join];
  const std::uint64_t join_slot = cache.returns.addresses[join];
  KnownPath& path = thread.known.make_room(site.pc, site.slot);
  path.pc = 0; // not valid before it is complete
  std::size_t words = 0;
  bool fits = true;
  const auto note = [&](std::uint64_t address, std::uint64_t value) {
    const std::uint64_t offset = address - site.slot;
    if (offset >= join_slot - site.slot || offset != static_cast<std::uint32_t>(offset) || words == kMostWords) {
      fits = false;
      return;
    }
    path.offsets[words] = static_cast<std::uint32_t>(offset);
    path.values[words++] = value;
  };
  for (std::size_t i = 1; i < fresh; ++i) note(thread.fresh[i].slot, thread.fresh[i].pc);
  path.frames = static_cast<std::uint8_t>(words);

  std::uint64_t hash = outer.hash;
  for (std::size_t i = fresh; i > 0; --i) hash = path_hash(hash, thread.fresh[i - 1].pc);
  __builtin_prefetch(g_recorder.stacks.place_of(hash));
  Inward inward{outer.needs_rbp};
  std::uint64_t caller_slot = join_slot;
  for (std::size_t i = fresh; i > 0; --i) {
    const NewFrame& frame = thread.fresh[i - 1];
    inward.add(frame, caller_slot, [&](std::uint64_t address) { note(address, load(address)); });
    caller_slot = frame.slot;
  }
  std::uint32_t id = g_recorder.stacks.find(site.pc, hash);
  if (id == 0) [[unlikely]]
    id = intern_inside(thread, fresh, join);
  if (!fits) return id;
  path.words = static_cast<std::uint8_t>(words);
  for (; words != 0 && words < kMostWords; ++words) {
    path.offsets[words] = 0;
    path.values[words] = site.pc;
  }
  path.slot = site.slot;
  path.rbp = site.rbp;
  path.needs_rbp = inward.needs_rbp ? 1 : 0;
  path.join_stamp = cache.stamps[join];
  path.join = static_cast<std::uint32_t>(join);
  path.id = id;
  path.generation = generation;
  path.pc = site.pc;
  return id;
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

  std::size_t known = cache.count; // frames outside this index may be met again
  std::size_t sound = known;       // and those outside this one are worth comparing
  std::size_t fresh = 0;
  Frame frame{pc, slot, rbp};
  RuleEntry* entry = nullptr;
  bool guessed = false;
  std::uint64_t mark = 0;
  for (;;) {
    while (known > 0 && cache.returns.addresses[known - 1] < frame.slot) --known;
    Rule rule;
    if (known > 0 && is_frame(cache, known - 1, frame)) {
      if (known <= sound) {
        const std::size_t changed =
            own ? find_change(cache, known - 1) : find_change_carefully(cache, known - 1, memory, range);
        if (changed == 0) [[likely]] {
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
    }
    if (rule.kind == RuleKind::Slow) [[unlikely]]
      return capture_slowly(thread, {pc, slot, rbp});
    if (rule.kind == RuleKind::Stop) [[unlikely]] {
      mark = wire::kRootCut;
      if (guessed) { // a guess that led nowhere: this is no frame
        cache.count = 0;
        break;
      }
    }
    NewFrame& next = thread.fresh[fresh++]; // field by field: a wide load of narrow stores would stall
    next.pc = frame.pc;
    next.slot = frame.slot;
    next.rbp = frame.rbp;
    next.rule = rule;
    if (fresh == kMostFrames) [[unlikely]]
      return intern_too_deep(thread, 0, fresh);
    guessed = (rule.flags & kGuessed) != 0;
    const Step taken = step(memory, range, rule, frame);
    if (taken == Step::Taken) [[likely]]
      continue;
    // A frame pointer of zero is how start-up code marks the outermost frame.
    if (taken == Step::Cut && !(guessed && frame.rbp == 0)) mark = wire::kRootCut;
    cache.count = 0;
    break;
  }
  if (cache.count + fresh > g_recorder.max_depth) [[unlikely]]
    return intern_too_deep(thread, cache.count, fresh);
  add_frames(thread, 0, fresh, mark, range);
  return number_of(cache, cache.count - 1);
}

} // namespace heaptape::recorder
