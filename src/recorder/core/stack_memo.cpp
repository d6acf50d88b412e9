#include "recorder/core/stack_memo.h"

#include "recorder/core/recorder.h"
#include "wire/stack_roots.h"

namespace heaptape::recorder {

namespace {

// Off only in a build of the tests, which shows that the check is needed.
#ifdef HEAPTAPE_WITHOUT_SAVED_RBP_CHECK
constexpr bool kGuardSavedRbp = false;
#else
constexpr bool kGuardSavedRbp = true;
#endif

std::uint64_t load(std::uint64_t address) noexcept { return *reinterpret_cast<const std::uint64_t*>(address); }

// The address of the caller's return slot by a plain rule.
std::uint64_t caller_slot(Rule rule, const NewFrame& frame) noexcept {
  return rule.kind == RuleKind::Rsp ? rule.cfa(frame.slot) : rule.cfa(frame.rbp) - 8;
}

// The number a stack's outermost frame hangs on: 0, or a root that is not an address.
std::uint32_t root_of(std::uint64_t root, std::uint64_t& hash) noexcept {
  std::uint32_t id = 0;
  hash = kRootHash;
  const auto hang = [&](std::uint64_t pc) {
    hash = path_hash(hash, pc);
    id = g_recorder.stacks.intern(id, pc, hash);
  };
  if (const std::uint32_t epoch = g_recorder.code_epoch.load(std::memory_order_relaxed); epoch != 0) [[unlikely]] {
    hang(wire::kRootCodeEpoch + epoch % wire::kCodeEpochs);
  }
  if (const std::uint32_t epoch = g_recorder.epoch.load(std::memory_order_relaxed); epoch != 0) [[unlikely]] {
    hang(wire::kRootEpoch + epoch % wire::kEpochs);
  }
  if (root != 0) [[unlikely]]
    hang(root);
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
    const std::uint64_t cfa_word = root.rule.cfa(root.rbp);
    guard(cfa_word);
    if (used != 0) guard(load(cfa_word) - 8);
  }
  while (used < cache.returns.kRoot) cache.returns.always_holds(++used);
}

// Goes from the outermost frame inward and keeps track of whether the way outward depends on RBP.
struct Inward {
  bool needs_rbp;

  // Goes on to a frame inside; `caller_slot` is the return slot of the one before. Calls guard(address) for the words that the
  // way outward from here depends on, return slots aside.
  template <class Guard>
  void add(const NewFrame& frame, std::uint64_t caller_slot, Guard guard) noexcept {
    const Rule rule = frame.rule;
    if (rule.kind == RuleKind::Drap) [[unlikely]] {
      guard(rule.cfa(frame.rbp));
      if ((rule.flags & kSavesRbp) != 0 && needs_rbp) {
        guard(rule.rbp_at(frame.rbp));
      }
      needs_rbp = true;
      return;
    }
    if (rule.rbp_words != 0) {
      // The RBP that a frame further out starts from comes out of this word.
      if (needs_rbp && kGuardSavedRbp) {
        guard(rule.rbp_at(caller_slot + 8));
      }
      needs_rbp = false;
    }
    if (rule.kind == RuleKind::Rbp) needs_rbp = true;
  }
};

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

} // namespace

std::uint64_t too_deep_root_hash() noexcept {
  std::uint64_t hash = 0;
  (void)root_of(wire::kRootTooDeep, hash);
  return hash;
}

std::uint32_t intern_too_deep(ThreadState& thread, std::size_t kept, std::size_t fresh) noexcept {
  const std::size_t most = g_recorder.max_depth;
  std::uint64_t root_hash = 0;
  const std::uint32_t root = root_of(wire::kRootTooDeep, root_hash);
  if (fresh > most) fresh = most;
  const std::size_t first_kept = kept - (most - fresh > kept ? kept : most - fresh);
  const auto each = [&](auto add) {
    for (std::size_t i = first_kept; i < kept; ++i) add(thread.cache.returns.values[i]);
    for (std::size_t i = fresh; i > 0; --i) add(thread.fresh[i - 1].pc);
  };
  // A recursion looks alike at every depth: most likely it is known as a whole.
  std::uint64_t hash = root_hash;
  each([&](std::uint64_t pc) { hash = path_hash(hash, pc); });
  const std::uint64_t innermost = fresh != 0 ? thread.fresh[0].pc : thread.cache.returns.values[kept - 1];
  std::uint32_t id = g_recorder.stacks.find(innermost, hash);
  if (id != 0) return id;
  hash = root_hash;
  id = root;
  each([&](std::uint64_t pc) {
    hash = path_hash(hash, pc);
    id = g_recorder.stacks.intern(id, pc, hash);
  });
  return id;
}

std::uint32_t number_of(StackCache& cache, std::size_t index) noexcept {
  StackCache::Detail* const details = cache.details;
  if (details[index].id != 0) return details[index].id;
  std::uint32_t id = g_recorder.stacks.find(cache.returns.values[index], details[index].hash);
  if (id == 0) [[unlikely]] {
    std::size_t known = index; // frames outside this one have numbers
    while (known > 0 && details[known - 1].id == 0) --known;
    if (known > 0) id = details[known - 1].id;
    for (; known < index; ++known) {
      id = details[known].id = g_recorder.stacks.intern(id, cache.returns.values[known], details[known].hash);
    }
    id = g_recorder.stacks.intern(id, cache.returns.values[index], details[index].hash);
  }
  return details[index].id = id;
}

void add_frames(ThreadState& thread, std::size_t first, std::size_t fresh, std::uint64_t root,
                const Range& range) noexcept {
  StackCache& cache = thread.cache;
  std::size_t count = cache.count;

  Inward inward{};
  std::uint16_t extra = 0;
  std::uint64_t hash = 0;
  std::uint32_t outside = 0; // what the outermost frame hangs on
  if (count != 0) {
    const StackCache::Detail& outer = cache.details[count - 1];
    inward = {outer.needs_rbp};
    extra = outer.extra_end;
    hash = outer.hash;
  } else {
    outside = root_of(root, hash);
    cache.cut = root == wire::kRootTooDeep;
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
      detail.id = g_recorder.stacks.intern(outside, frame.pc, detail.hash);
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

} // namespace heaptape::recorder
