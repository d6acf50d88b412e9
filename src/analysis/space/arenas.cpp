#include "analysis/space/arenas.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/space/kernel_ranges.h"

namespace heaptape {

namespace {

// glibc puts a header of 16 bytes in front of a block, and a block with a mapping of its own behind the header of the
// first page.
constexpr std::uint64_t kHeaderBytes = 16;
constexpr std::uint64_t kLargeBlock = std::uint64_t{128} << 10;
constexpr std::size_t kNoArena = ~std::size_t{0};

struct PlacedBlock {
  std::uint64_t address = 0, size = 0, event = 0;
  std::uint32_t owner = 0;
};

std::uint64_t bytes_of_mapping(const PlacedBlock& block) {
  return page_end(block.address + std::max<std::uint64_t>(block.size, 1)) - page_of(block.address - kHeaderBytes);
}

// Counts the pages that blocks hold, which come by address, and those held by little.
class PageCount {
public:
  void add(std::uint64_t address, std::uint64_t size) {
    const std::uint64_t end = address + std::max<std::uint64_t>(size, 1);
    const std::uint64_t first = address / kPageBytes, last = (end - 1) / kPageBytes;
    if (first != page_) close(), page_ = first;
    if (last == first) {
      bytes_ += end - address;
      return;
    }
    bytes_ += (first + 1) * kPageBytes - address;
    close();
    pages_ += last - first - 1;
    page_ = last;
    bytes_ = end - last * kPageBytes;
  }
  void finish(Arena& arena) {
    close();
    arena.pages += pages_;
    arena.little_pages += little_;
    *this = PageCount();
  }

private:
  void close() {
    if (bytes_ != 0) {
      ++pages_;
      if (bytes_ < kLittle) ++little_;
    }
    bytes_ = 0;
  }

  std::uint64_t page_ = 0, bytes_ = 0;
  std::uint64_t pages_ = 0, little_ = 0;
};

class ArenaMaker {
public:
  ArenaMaker(const TapeReader& tape, const HeapState& state, const AddressSpace& space)
      : state_(state), space_(space), allocator_(allocator_of(tape.modules())) {}

  std::vector<Arena> make() {
    arena_of_range_.assign(space_.ranges.size(), kNoArena);
    for (std::size_t i = 0; i < space_.ranges.size(); ++i) {
      const RangeKind kind = space_.ranges[i].kind;
      if (kind == RangeKind::MainHeap) add_range(arena_of(ArenaKind::Main), i);
      if (kind == RangeKind::ThreadArena) add_range(new_arena(ArenaKind::Thread), i);
    }
    sort_blocks();
    for (std::size_t from = 0; from < blocks_.size();) from = add_blocks_of_range(from);
    for (Use& use : uses_) finish_threads(use);
    join_heaps();
    find_homes();
    return in_order();
  }

private:
  struct Use {
    Arena arena{};
    std::unordered_map<std::uint32_t, ArenaThread> threads{};
    PageCount pages{};
  };

  std::size_t new_arena(ArenaKind kind) {
    uses_.push_back({});
    uses_.back().arena.kind = kind;
    return uses_.size() - 1;
  }
  std::size_t arena_of(ArenaKind kind) {
    std::size_t& known = of_kind_[static_cast<std::size_t>(kind)];
    if (known == 0) known = new_arena(kind) + 1;
    return known - 1;
  }
  // Its ranges are the allocator's and nobody else's.
  static bool has_span(const Arena& arena) {
    return arena.kind != ArenaKind::LargeBlocks && arena.kind != ArenaKind::Elsewhere;
  }
  void add_range(std::size_t arena, std::size_t range) {
    Arena& to = uses_[arena].arena;
    arena_of_range_[range] = arena;
    to.ranges.push_back(range);
    if (!has_span(to)) return;
    to.committed += space_.ranges[range].committed;
    to.reserved += space_.ranges[range].bytes();
  }

  void sort_blocks() {
    blocks_.reserve(state_.blocks().size());
    state_.blocks().for_each([&](const Block& block) {
      if (block.address + block.size < block.address) return; // a damaged tape
      blocks_.push_back({block.address, block.size, block.event, block.owner});
    });
    std::sort(blocks_.begin(), blocks_.end(),
              [](const PlacedBlock& a, const PlacedBlock& b) { return a.address < b.address; });
  }

  // Where blocks lie that are in this range, if they are like this one.
  std::size_t choose(std::size_t range, const PlacedBlock& block) {
    if (range < space_.ranges.size()) {
      const RangeKind kind = space_.ranges[range].kind;
      if (kind == RangeKind::MainHeap || kind == RangeKind::ThreadArena) return arena_of_range_[range];
      if (kind == RangeKind::Anonymous && space_.ranges[range].event == 0) {
        if (allocator_ != Allocator::Glibc) return arena_of(ArenaKind::Regions);
        if (block.size >= kLargeBlock || block.address % kPageBytes == kHeaderBytes)
          return arena_of(ArenaKind::LargeBlocks);
      }
    }
    return arena_of(ArenaKind::Elsewhere);
  }

  // The blocks of one range, from this one on; gives the first one behind it. Blocks of one range may be of different
  // arenas where the kernel has joined mappings.
  std::size_t add_blocks_of_range(std::size_t from) {
    const std::size_t above = space_.first_above(blocks_[from].address);
    const bool inside = above < space_.ranges.size() && space_.ranges[above].begin <= blocks_[from].address;
    const std::size_t range = inside ? above : space_.ranges.size();
    const std::uint64_t end = inside ? space_.ranges[range].end : blocks_[from].address + 1;
    struct Stretch {
      std::size_t arena = kNoArena;
      std::uint64_t first = 0, last = 0;
    };
    std::array<Stretch, 2> stretches; // one range has blocks of at most two
    std::size_t at = from;
    for (; at < blocks_.size() && (at == from || blocks_[at].address < end); ++at) {
      const PlacedBlock& block = blocks_[at];
      const std::size_t arena = choose(range, block);
      Stretch& stretch = stretches[0].arena == arena || stretches[0].arena == kNoArena ? stretches[0] : stretches[1];
      Use& use = uses_[arena];
      const std::uint64_t block_end = block.address + std::max<std::uint64_t>(block.size, 1);
      if (stretch.arena == kNoArena) {
        stretch = {arena, block.address, block_end};
        if (inside && arena_of_range_[range] != arena) add_range(arena, range);
      } else if (block.address > stretch.last && block.address - stretch.last > use.arena.largest_gap &&
                 has_span(use.arena)) {
        use.arena.largest_gap = block.address - stretch.last;
        use.arena.gap_begin = stretch.last;
      }
      stretch.last = std::max(stretch.last, block_end);
      add_block(use, block);
    }
    for (const Stretch& stretch : stretches) {
      if (stretch.arena == kNoArena) continue;
      Use& use = uses_[stretch.arena];
      use.pages.finish(use.arena);
      if (has_span(use.arena)) use.arena.span += stretch.last - stretch.first;
    }
    return at;
  }

  void add_block(Use& use, const PlacedBlock& block) {
    use.arena.live += Cost::of(block.size);
    use.pages.add(block.address, block.size);
    if (use.arena.kind == ArenaKind::LargeBlocks) {
      const std::uint64_t bytes = bytes_of_mapping(block);
      use.arena.committed += bytes;
      use.arena.reserved += bytes;
      use.arena.span += bytes;
    }
    const ThreadId thread = state_.owners()[block.owner].thread;
    ArenaThread& made = use.threads[thread.value];
    made.thread = thread;
    made.live += Cost::of(block.size);
    made.last = std::max(made.last, block.event);
  }

  static void finish_threads(Use& use) {
    for (const auto& [number, thread] : use.threads) use.arena.threads.push_back(thread);
    sort_threads(use.arena);
  }
  static void sort_threads(Arena& arena) {
    std::sort(arena.threads.begin(), arena.threads.end(), [](const ArenaThread& a, const ArenaThread& b) {
      return a.live.bytes != b.live.bytes ? a.live.bytes > b.live.bytes : a.thread < b.thread;
    });
  }

  // Heaps of one arena do not name each other where we could see it, but a thread stays with its arena.
  void join_heaps() {
    std::map<ThreadId, Arena*> by_thread;
    for (Use& use : uses_) {
      if (use.arena.kind != ArenaKind::Thread || use.arena.threads.empty()) continue;
      const auto [place, is_first] = by_thread.try_emplace(use.arena.threads.front().thread, &use.arena);
      if (!is_first) join(*place->second, use.arena);
    }
  }
  static void join(Arena& to, Arena& from) {
    to.ranges.insert(to.ranges.end(), from.ranges.begin(), from.ranges.end());
    to.live += from.live;
    to.committed += from.committed;
    to.reserved += from.reserved;
    to.span += from.span;
    if (from.largest_gap > to.largest_gap) {
      to.largest_gap = from.largest_gap;
      to.gap_begin = from.gap_begin;
    }
    to.pages += from.pages;
    to.little_pages += from.little_pages;
    for (const ArenaThread& thread : from.threads) {
      const auto same = std::find_if(to.threads.begin(), to.threads.end(),
                                     [&](const ArenaThread& known) { return known.thread == thread.thread; });
      if (same == to.threads.end()) {
        to.threads.push_back(thread);
      } else {
        same->live += thread.live;
        same->last = std::max(same->last, thread.last);
      }
    }
    sort_threads(to);
    from = Arena();
  }

  void find_homes() {
    std::map<ThreadId, ArenaThread*> latest;
    for (Use& use : uses_) {
      if (use.arena.ranges.empty() || !has_span(use.arena)) continue;
      for (ArenaThread& thread : use.arena.threads) {
        ArenaThread*& known = latest[thread.thread];
        if (known == nullptr || known->last < thread.last) known = &thread;
      }
    }
    for (const auto& [id, thread] : latest) thread->home = true;
  }

  std::vector<Arena> in_order() {
    std::vector<Arena> arenas;
    for (Use& use : uses_) {
      if (!use.arena.ranges.empty() || use.arena.live.blocks != 0) arenas.push_back(std::move(use.arena));
    }
    const auto place = [](const Arena& arena) {
      return std::pair(arena.kind, arena.ranges.empty() ? 0 : arena.ranges.front());
    };
    std::sort(arenas.begin(), arenas.end(), [&](const Arena& a, const Arena& b) { return place(a) < place(b); });
    return arenas;
  }

  const HeapState& state_;
  const AddressSpace& space_;
  Allocator allocator_;
  std::vector<Use> uses_;
  std::array<std::size_t, 5> of_kind_{}; // number + 1; 0: none yet
  std::vector<std::size_t> arena_of_range_;
  std::vector<PlacedBlock> blocks_;
};

} // namespace

Allocator allocator_of(const std::vector<Module>& modules) {
  for (const Module& module : modules) {
    if (const auto allocator = allocator_named(module.path)) return *allocator;
  }
  return Allocator::Glibc;
}

std::vector<Arena> arenas_at(const TapeReader& tape, const HeapState& state, const AddressSpace& space) {
  return ArenaMaker(tape, state, space).make();
}

std::vector<Cost> live_by_range(const HeapState& state, const AddressSpace& space) {
  std::vector<Cost> costs(space.ranges.size());
  std::size_t last = 0;
  state.blocks().for_each([&](const Block& block) {
    const auto holds = [&] {
      return last < costs.size() && space.ranges[last].begin <= block.address && block.address < space.ranges[last].end;
    };
    if (!holds()) last = space.first_above(block.address);
    if (holds()) costs[last] += Cost::of(block.size);
  });
  return costs;
}

} // namespace heaptape
