#include "report/contents/checked_heap.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/memory/glibc_arena.h"
#include "analysis/memory/glibc_heap.h"
#include "analysis/space/arenas.h"
#include "base/path_text.h"
#include "report/contents/snapshot_heap.h"
#include "wire/loss_name.h"

namespace heaptape {

namespace {

// Of a thread. A handler that interrupted malloc may itself have called much.
constexpr std::size_t kFramesLookedAt = 256;

bool is_libc(std::string_view path) {
  const std::string_view name = base_name(path);
  return name.starts_with("libc.so") || name.starts_with("libc-2.");
}

// "__libc_malloc", "__GI___libc_free" and "_int_malloc" are parts of it.
std::string_view plain_name(std::string_view name) {
  for (const std::string_view front : {"__GI_", "__libc_"}) {
    if (name.starts_with(front)) name.remove_prefix(front.size());
  }
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  return name;
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, plain_name(name)) != names.end();
}

constexpr std::array<std::string_view, 26> kAllocating{
    "malloc",        "free",          "calloc",     "realloc",        "reallocarray",
    "memalign",      "aligned_alloc", "valloc",     "posix_memalign", "pvalloc",
    "malloc_trim",   "cfree",         "int_malloc", "int_free",       "int_realloc",
    "int_memalign",  "mid_memalign",  "sysmalloc",  "systrim",        "malloc_consolidate",
    "tcache_init",   "arena_get2",    "mallopt",    "thread_freeres", "malloc_arena_thread_freeres",
    "int_free_chunk"};
constexpr std::array<std::string_view, 6> kDying{"abort",       "malloc_printerr", "message",
                                                 "assert_fail", "malloc_assert",   "fortify_fail"};

// The whole function: of those that were inlined into it the name says nothing.
std::string_view name_of(const SourcePlaces& places) {
  return places.empty() ? std::string_view() : std::string_view(places.back().function);
}

class HeapChecker {
public:
  HeapChecker(const TapeReader& tape, SnapshotMemory& memory, SnapshotStacks& stacks, bool events_missing)
      : tape_(tape), memory_(memory), stacks_(stacks) {
    checked_.all_blocks_known = !events_missing && !has_losses();
  }

  CheckedHeap run(BlockRanks ranks) {
    checked_.ranks = std::move(ranks);
    checked_.allocator = allocator_of(tape_.modules());
    const std::optional<std::uint64_t> arena = find_arena();
    if (!arena) return std::move(checked_);
    find_threads();
    GlibcFacts facts;
    facts.main_arena = *arena;
    std::tie(facts.heap_begin, facts.heap_end) = brk_heap();
    facts.threads = memory_.facts().threads;
    facts.in_flight = memory_.facts().in_flight;
    facts.all_blocks_known = checked_.all_blocks_known;
    facts.may_be_allocating = [this](const ThreadState& thread) {
      const auto number = static_cast<std::uint32_t>(&thread - memory_.facts().threads.data());
      return std::ranges::find(checked_.allocating, number) != checked_.allocating.end();
    };
    checked_.check = check_glibc_heap(memory_.image(), checked_.ranks, facts);
    checked_.is_glibcs = holds_the_blocks(checked_.check);
    return std::move(checked_);
  }

private:
  bool has_losses() const {
    if (!tape_.summary()) return false;
    return std::ranges::any_of(tape_.summary()->losses, [](const auto& loss) {
      return loss.first == wire::kPausedName || loss.first == wire::kLossUnknown ||
             loss.first == wire::loss_name(wire::Loss::RingFull);
    });
  }

  // In the variables of libc, else of whatever has it inside.
  std::optional<std::uint64_t> find_arena() {
    for (const bool in_libc : {true, false}) {
      for (const MappedRange& region : memory_.facts().regions) {
        const bool is_private = (region.permissions & (kMapWrite | kMapShared)) == kMapWrite;
        const std::string& name = memory_.name_of(region);
        if (!is_private || !name.starts_with('/') || is_libc(name) != in_libc) continue;
        if (const auto arena = find_main_arena(memory_.cursor(), region.begin, region.end)) return arena;
        if (in_libc && is_hidden(region)) checked_.is_hidden = true;
      }
    }
    return std::nullopt;
  }

  bool is_hidden(const MappedRange& region) {
    for (std::uint64_t page = region.begin; page < region.end; page += kPageBytes)
      if (!memory_.cursor().word(page)) return true;
    return false;
  }

  std::pair<std::uint64_t, std::uint64_t> brk_heap() const {
    std::pair<std::uint64_t, std::uint64_t> found{0, 0};
    for (const MappedRange& region : memory_.facts().regions) {
      if (memory_.name_of(region) != "[heap]") continue;
      if (found.first == 0) found.first = region.begin;
      found.second = region.end;
    }
    return found;
  }

  void find_threads() {
    const std::size_t count = memory_.facts().threads.size();
    std::vector<StackFrame> frames;
    for (std::size_t thread = 0; thread < count; ++thread) {
      const std::vector<StackFrame>& all = stacks_.frames_of(thread).frames;
      frames.insert(frames.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(looked_at(all)));
    }
    stacks_.name(frames);
    for (std::uint32_t thread = 0; thread < count; ++thread) look_at(thread);
  }
  static std::size_t looked_at(const std::vector<StackFrame>& frames) {
    return std::min(frames.size(), kFramesLookedAt);
  }
  void look_at(std::uint32_t thread) {
    const ThreadState& state = memory_.facts().threads[thread];
    const std::vector<StackFrame>& frames = stacks_.frames_of(thread).frames;
    const bool in_system_call = static_cast<std::int64_t>(state[ThreadState::OrigRax]) >= 0;
    bool is_dying = !in_system_call && memory_.facts().name.starts_with("crash SIG");
    bool is_allocating = false;
    for (std::size_t i = 0; i < looked_at(frames) && !is_allocating; ++i) {
      const std::string_view name = name_of(stacks_.places_of(frames[i]));
      is_allocating = is_one_of(kAllocating, name);
      // Without debug information what malloc does inside has no names.
      if (i == 0 && !in_system_call && name.empty() && frames[i].module != nullptr && is_libc(frames[i].module->path))
        is_allocating = true;
      if (is_one_of(kDying, name)) is_dying = true;
    }
    if (is_allocating) (is_dying ? checked_.dying : checked_.allocating).push_back(thread);
  }

  // Where another allocator is in use, this one has next to nothing.
  bool holds_the_blocks(const HeapCheck& check) const {
    std::uint64_t bytes = check.mapped.bytes, blocks = check.mapped.chunks;
    for (const ArenaCheck& arena : check.arenas) bytes += arena.system_bytes, blocks += arena.blocks.chunks;
    if (checked_.allocator == Allocator::Glibc && check.unseen != 0) return true; // what is elsewhere may not be
    if (blocks == 0 && checked_.allocator != Allocator::Glibc) return false;
    return check.elsewhere.bytes <= bytes;
  }

  const TapeReader& tape_;
  SnapshotMemory& memory_;
  SnapshotStacks& stacks_;
  CheckedHeap checked_;
};

} // namespace

Result<CheckedHeap> check_heap(const TapeReader& tape, SnapshotMemory& memory, HeapCursor& heap, SnapshotStacks& stacks,
                               bool events_missing) {
  Result<BlockRanks> ranks = ranks_of(heap);
  if (!ranks) return ranks.error();
  return HeapChecker(tape, memory, stacks, events_missing).run(std::move(ranks).value());
}

} // namespace heaptape
