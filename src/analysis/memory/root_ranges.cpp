#include "analysis/memory/root_ranges.h"

#include <algorithm>
#include <string_view>

#include "analysis/heap/allocator_code.h"
#include "analysis/heap/recorder_memory.h"
#include "analysis/memory/glibc_arena.h"
#include "analysis/memory/range_set.h"
#include "base/path_text.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kRedZone = 128; // below the stack pointer, for the use of the function that runs
constexpr std::uint64_t kWord = 8;
// The thread's control block lies above its thread pointer. glibc's takes less.
constexpr std::uint64_t kControlBlock = 0x980;
constexpr std::uint32_t kNone = RootRange::kNone;

constexpr std::uint64_t less(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }
constexpr std::uint64_t page_end(std::uint64_t address) { return (address + kPageBytes - 1) & ~(kPageBytes - 1); }

class RootRangeMaker {
public:
  RootRangeMaker(const RootFacts& facts, const MemoryImage& image, const BlockRanks& ranks)
      : facts_(facts), cursor_(image), ranks_(ranks) {
    for (const RootArea& range : facts.arenas) arenas_.add(range.begin, range.end);
    for (const RootArea& range : facts.own) own_.add(range.begin, range.end);
    for (const RootArea& range : facts.excluded) taken_.add(range.begin, range.end);
    stack_of_.assign(facts.regions.size(), false);
  }

  std::vector<RootRange> make() {
    for (const RootArea& range : facts_.named) claim(RootKind::Named, range.begin, range.end, kNone, kNone);
    for (const RootArea& range : facts_.frames)
      claim(RootKind::Stack, range.begin, range.end, kNone, region_at(range.begin));
    bool all_stopped = true;
    for (std::uint32_t i = 0; i < facts_.threads.size(); ++i) {
      all_stopped = all_stopped && facts_.threads[i].stopped;
      if (facts_.threads[i].stopped) add_thread(i);
    }
    for (std::uint32_t i = 0; i < facts_.regions.size(); ++i) {
      // Of the first thread; it may be on another one just now.
      if (is_main_stack(i) && !stack_of_[i])
        claim(RootKind::Stack, facts_.regions[i].begin, facts_.regions[i].end, kNone, i);
    }
    for (const RootArea& stack : facts_.stacks) {
      claim_kept_table(stack);
      if (!all_stopped) claim(RootKind::Stack, stack.begin, stack.end, kNone, region_at(stack.begin));
      taken_.add(stack.begin, stack.end);
    }
    for (std::uint32_t i = 0; i < facts_.regions.size(); ++i) add_region(i);
    std::sort(ranges_.begin(), ranges_.end(), [](const RootRange& a, const RootRange& b) { return a.begin < b.begin; });
    std::vector<RootRange> all;
    for (std::uint32_t i = 0; i < facts_.threads.size(); ++i) {
      if (facts_.threads[i].stopped) all.push_back({RootKind::Registers, 0, 0, i, kNone});
    }
    all.insert(all.end(), ranges_.begin(), ranges_.end());
    return all;
  }

private:
  // What nobody has claimed before becomes a root.
  void claim(RootKind kind, std::uint64_t begin, std::uint64_t end, std::uint32_t thread, std::uint32_t region) {
    taken_.for_each_outside(begin, end, [&](std::uint64_t from, std::uint64_t till) {
      ranges_.push_back({kind, from, till, thread, region});
    });
    taken_.add(begin, end);
  }

  std::uint32_t region_at(std::uint64_t address) const {
    const auto behind = std::partition_point(facts_.regions.begin(), facts_.regions.end(),
                                             [&](const MappedRange& region) { return region.end <= address; });
    if (behind == facts_.regions.end() || behind->begin > address) return kNone;
    return static_cast<std::uint32_t>(behind - facts_.regions.begin());
  }
  std::string_view name_of(std::uint32_t region) const {
    const std::uint32_t number = facts_.regions[region].name;
    return number < facts_.names.size() ? std::string_view(facts_.names[number]) : std::string_view();
  }
  bool is_main_stack(std::uint32_t region) const { return name_of(region).starts_with("[stack"); }
  bool is_file(std::uint32_t region) const {
    const std::string_view name = name_of(region);
    return !name.empty() && name[0] != '[';
  }

  void add_thread(std::uint32_t number) {
    const ThreadState& thread = facts_.threads[number];
    const std::uint64_t fs = thread[ThreadState::FsBase];
    const std::uint64_t rsp = lowest_in_use(thread);
    const std::uint32_t home = region_at(fs), region = region_at(thread[ThreadState::Rsp]);
    if (home != kNone) {
      const MappedRange& in = facts_.regions[home];
      claim(RootKind::ThreadLocal, std::max(in.begin, less(fs, facts_.static_tls) & ~(kWord - 1)),
            std::min(in.end, page_end(fs + kControlBlock)), number, home);
    }
    if (region == kNone) return;
    const MappedRange& in = facts_.regions[region];
    if (is_main_stack(region)) return claim_stack(std::max(in.begin, rsp), in.end, number, region);
    claim_home(home, region, fs, number);
    if (has_variables(region)) // an array of the program, among others
      return claim(RootKind::Stack, rsp, std::min(in.end, fs > rsp ? fs : in.end), number, region);
    if (region == home && rsp < fs) { // of a thread that pthread_create made: its variables lie on top
      return claim_stack(std::max(in.begin, rsp), fs, number, region);
    }
    if (ranks_.find(thread[ThreadState::Rsp]) != BlockRanks::kNone) return; // in a block, which the register leads to
    if (arenas_.touches(thread[ThreadState::Rsp], thread[ThreadState::Rsp] + 1) || has_blocks(in.begin, in.end)) {
      const std::uint32_t next = ranks_.first_from(rsp);
      const std::uint64_t end = next < ranks_.size() ? std::min(in.end, ranks_.begin(next)) : in.end;
      return claim(RootKind::Stack, std::max(in.begin, rsp), end, number, region);
    }
    // An alternate stack, a coroutine's: where it begins is not known, nor how far the thread's own stack is in use.
    claim_stack(in.begin, in.end, number, region);
  }
  // The thread's own stack, when it is on another one.
  void claim_home(std::uint32_t home, std::uint32_t region, std::uint64_t fs, std::uint32_t number) {
    if (home != kNone && home != region && is_thread_stack(home))
      claim_stack(facts_.regions[home].begin, fs, number, home);
  }
  // Variables of a module, zeroed ones too.
  bool has_variables(std::uint32_t region) const {
    const auto follows = [&](std::uint32_t i) {
      return i > 0 && is_file(i - 1) && facts_.regions[i - 1].end == facts_.regions[i].begin;
    };
    return is_file(region) || (name_of(region).empty() && follows(region));
  }
  // A function that calls others has nothing below its stack pointer: there lies where the last call returns to.
  std::uint64_t lowest_in_use(const ThreadState& thread) {
    const std::uint64_t rsp = thread[ThreadState::Rsp], rip = thread[ThreadState::Rip];
    const auto below = cursor_.word(rsp - kWord);
    const bool has_called =
        below && rip != 0 && (*below == rip || *below == rip + 1); // the latter: a call without return
    return (has_called ? rsp : less(rsp, kRedZone)) & ~(kWord - 1);
  }
  // glibc keeps the stack of a thread that has ended for the next one, and with it the table of where its variables lie. The thread's
  // control block, near the upper end, knows it by its second word, and itself by the first and the third.
  void claim_kept_table(const RootArea& stack) {
    constexpr std::uint64_t kMostAbove = 0x4000, kAligned = 64;
    const std::uint64_t lowest = std::max(stack.begin, less(stack.end, kMostAbove));
    for (std::uint64_t at = less(stack.end, kAligned) & ~(kAligned - 1); at >= lowest && at != 0; at -= kAligned) {
      if (cursor_.word(at) != at || cursor_.word(at + 2 * kWord) != at) continue;
      return claim(RootKind::ThreadLocal, at + kWord, at + 2 * kWord, kNone, region_at(at));
    }
  }
  // What lies below in the region is not in use.
  void claim_stack(std::uint64_t begin, std::uint64_t end, std::uint32_t thread, std::uint32_t region) {
    stack_of_[region] = true;
    claim(RootKind::Stack, begin, end, thread, region);
    taken_.add(facts_.regions[region].begin, end);
  }
  // The guard below a stack tells it from the mapping that holds the variables of the first thread.
  bool is_thread_stack(std::uint32_t region) const {
    if (region == 0 || is_file(region)) return false;
    const MappedRange& below = facts_.regions[region - 1];
    return below.end == facts_.regions[region].begin && (below.permissions & (kMapRead | kMapWrite | kMapExecute)) == 0;
  }

  bool has_blocks(std::uint64_t begin, std::uint64_t end) const {
    bool has = false;
    arenas_.for_each_outside(begin, end, [&](std::uint64_t from, std::uint64_t till) {
      const std::uint32_t first = ranks_.first_from(from);
      has = has || (first < ranks_.size() && ranks_.begin(first) < till);
    });
    return has;
  }

  void add_region(std::uint32_t number) {
    const MappedRange& region = facts_.regions[number];
    const std::string_view name = name_of(number);
    const std::uint32_t before = module_;
    const bool follows = module_ != kNone && number > 0 && facts_.regions[number - 1].end == region.begin;
    module_ = kNone;
    if (is_recorder_memory(name)) {
      if (is_file(number) && (region.permissions & kMapShared) == 0) module_ = number;
      return;
    }
    if (is_main_stack(number)) return;
    if (is_file(number)) return add_file(number);
    if (!name.empty() && !name.starts_with("[anon")) return; // the heap, and the kernel's own
    if ((region.permissions & kMapExecute) != 0) return claim(RootKind::Code, region.begin, region.end, kNone, number);
    if (follows && (region.permissions & kMapWrite) != 0) return add_zeroed_globals(before, number);
    add_mapping(number);
  }

  void add_file(std::uint32_t number) {
    const MappedRange& region = facts_.regions[number];
    if ((region.permissions & kMapShared) != 0) {
      if ((region.permissions & kMapWrite) != 0) claim(RootKind::Shared, region.begin, region.end, kNone, number);
      return;
    }
    if ((region.permissions & kMapExecute) != 0 && (region.permissions & kMapWrite) == 0) return;
    add_globals(number, region);
    module_ = number;
  }
  // Variables of a module that begin in this region. Pages that only the loader has changed are among them: it keeps pointers there, too.
  void add_globals(std::uint32_t module, const MappedRange& region) {
    const std::string_view name = name_of(module);
    if (allocator_named(name) || is_recorder_memory(name)) return;
    const std::string_view file = base_name(name);
    if (file.starts_with("libc.") || file.starts_with("libc-") || region_is_of_program(module)) {
      if (const auto arena = find_main_arena(cursor_, region.begin, region.end))
        taken_.add(*arena, *arena + GlibcArena::kBytes);
    }
    arenas_.for_each_outside(region.begin, region.end, [&](std::uint64_t from, std::uint64_t till) {
      claim(RootKind::Globals, from, till, kNone, module);
    });
  }
  // The kernel may have joined them with other memory behind, up to the allocator's.
  void add_zeroed_globals(std::uint32_t module, std::uint32_t number) {
    MappedRange region = facts_.regions[number];
    if (has_blocks(region.begin, region.end)) {
      region.end = ranks_.begin(ranks_.first_from(region.begin)) & ~(kPageBytes - 1);
      add_mapping(number);
    }
    add_globals(module, region);
  }
  // A program that is linked statically has the allocator's variables among its own.
  bool region_is_of_program(std::uint32_t module) const {
    return !facts_.regions.empty() && facts_.regions[module].name == facts_.regions.front().name;
  }

  void add_mapping(std::uint32_t number) {
    const MappedRange& region = facts_.regions[number];
    const auto outside_arenas = [&](std::uint64_t begin, std::uint64_t end) {
      arenas_.for_each_outside(begin, end, [&](std::uint64_t from, std::uint64_t till) {
        claim(RootKind::Mapping, from, till, kNone, number);
      });
    };
    // Memory in which blocks lie is the allocator's, but for what the program itself has mapped there.
    if (has_blocks(region.begin, region.end))
      own_.for_each_inside(region.begin, region.end, outside_arenas);
    else
      outside_arenas(region.begin, region.end);
  }

  const RootFacts& facts_;
  MemoryCursor cursor_;
  const BlockRanks& ranks_;
  RangeSet arenas_, own_;
  RangeSet taken_;               // claimed, or not to be looked at
  std::vector<bool> stack_of_;   // by region: a thread has its stack there
  std::uint32_t module_ = kNone; // the file of the region before; zeroed variables may follow
  std::vector<RootRange> ranges_;
};

} // namespace

std::vector<RootRange> root_ranges(const RootFacts& facts, const MemoryImage& image, const BlockRanks& ranks) {
  return RootRangeMaker(facts, image, ranks).make();
}

} // namespace heaptape
