#include "analysis/space/address_space.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "analysis/space/kernel_ranges.h"

namespace heaptape {

namespace {

// Events that are read to find what was unmapped since the kernel was asked: a fraction of a second. Mappings are rare
// among them.
constexpr std::uint64_t kMostEvents = 4'000'000;
// Blocks that no known range holds are taken for one range if no more than this lies between two of them.
constexpr std::uint64_t kLargestGap = std::uint64_t{1} << 20;
constexpr std::uint64_t kMmapArea = 0x7000'0000'0000;
// No block of glibc that is larger has a heap for its home for long.
constexpr std::uint64_t kSmallBlock = std::uint64_t{32} << 10;

struct Stray {
  std::uint64_t begin = 0, end = 0;
};

class SpaceMaker {
public:
  SpaceMaker(const TapeReader& tape, const HeapState& state, std::uint64_t time_us)
      : tape_(tape), state_(state), time_us_(std::max(time_us, state.time_us())), maps_(tape.maps()) {
    space_.names = maps_.names().texts();
  }

  AddressSpace make() {
    if (maps_.empty()) {
      guess_modules();
    } else {
      const auto until = maps_.last_until(time_us_);
      moment_ = until.value_or(0);
      space_.from_kernel = true;
      space_.maps_us = maps_.time_us(moment_);
      table_ = kernel_ranges(maps_, moment_, tape_.modules(), tape_.threads(), time_us_);
      // Asked too early: what was unmapped since has to go. Asked too late: what was mapped after our moment has to.
      if (until)
        undo_unmapped();
      else
        undo_mapped();
    }
    add_own_mappings();
    add_blocks();
    space_.ranges = table_.take();
    return std::move(space_);
  }

private:
  std::uint32_t name_of(const std::string& text) {
    const auto [place, is_new] = added_names_.try_emplace(text, static_cast<std::uint32_t>(space_.names.size()));
    if (is_new) space_.names.push_back(text);
    return place->second;
  }

  // Without MAPS. What was unloaded is unknown, but what was loaded over it is known.
  void guess_modules() {
    for (const Module& module : tape_.modules()) {
      if (module.first_seen_us > time_us_ && state_.event() != 0) continue;
      for (const Segment& segment : module.segments) {
        SpaceRange range;
        range.begin = page_of(segment.address);
        range.end = page_end(segment.address + segment.size);
        range.committed = range.end - range.begin;
        range.kind = RangeKind::Module;
        range.name = name_of(module.path);
        range.permissions = {(segment.flags & 4) != 0 ? 'r' : '-', (segment.flags & 2) != 0 ? 'w' : '-',
                             (segment.flags & 1) != 0 ? 'x' : '-', 'p'};
        table_.put(range);
      }
    }
  }

  // Calls visit(event) for mapping events; false when there were too many events to look at.
  template <class Visit>
  bool each_mapping(EventCursor events, std::uint64_t last_event, std::uint64_t last_us, Visit visit) {
    std::uint64_t left = kMostEvents;
    for (auto run = events.next_run_until(last_event); !run.empty(); run = events.next_run_until(last_event)) {
      for (const Event& event : run) {
        if (event.time_us > last_us) return true;
        if (is_mapping(event.kind)) visit(event);
      }
      if (run.size() >= left) return false;
      left -= run.size();
    }
    return true;
  }

  void undo_unmapped() {
    const auto count = [&](EventKind kind) { return state_.totals().per_kind[static_cast<std::size_t>(kind)]; };
    if (count(EventKind::Munmap) + count(EventKind::Mremap) == 0) return;
    const auto undo = [&](const Event& event) {
      if (event.kind == EventKind::Munmap) cut(event.address, event.size);
      if (event.kind == EventKind::Mremap && event.old_size != 0) cut(event.old_address, event.old_size);
    };
    each_mapping(tape_.events_from_time(space_.maps_us), state_.event(), time_us_, undo);
  }

  void undo_mapped() {
    const auto undo = [&](const Event& event) {
      if (event.kind != EventKind::Munmap) cut(event.address, event.size);
    };
    each_mapping(tape_.events(state_.event() + 1), ~std::uint64_t{0}, space_.maps_us, undo);
  }

  void cut(std::uint64_t address, std::uint64_t size) {
    const std::uint64_t end = address + size;
    if (end > address && end <= ~std::uint64_t{0} - kPageBytes) table_.cut(page_of(address), page_end(end));
  }

  void add_own_mappings() {
    for (const auto& [begin, piece] : state_.mappings().pieces()) {
      if (!space_.from_kernel || piece.time_us > space_.maps_us) put_new(piece);
      table_.split(piece.begin);
      table_.split(piece.end);
      for (auto place = table_.first_above(piece.begin); place != table_.end() && place->first < piece.end; ++place)
        place->second.event = piece.event;
    }
  }

  // A mapping that the kernel did not show yet. Its permissions and its file are known if it was still there the next
  // time.
  void put_new(const MappingPiece& piece) {
    const RangeKind kind = piece.anonymous ? RangeKind::Anonymous : RangeKind::File;
    if (const auto there = table_.find(piece.begin); there != table_.end() && there->second.begin == piece.begin &&
                                                     there->second.end == piece.end && there->second.kind == kind)
      return;
    SpaceRange range;
    range.begin = piece.begin;
    range.end = piece.end;
    range.committed = piece.reserved ? 0 : range.bytes();
    range.kind = kind;
    range.permissions = {'?', '?', '?', 'p'};
    table_.put(range);
    RangeTable* later = next_table();
    if (later == nullptr || !covers(*later, piece.begin, piece.end)) return;
    for (auto place = later->first_above(piece.begin); place != later->end() && place->first < piece.end; ++place) {
      SpaceRange part = place->second;
      if ((part.kind == RangeKind::File) == piece.anonymous) return;
      if (part.begin < piece.begin || part.end > piece.end)
        part.committed = part.committed != 0 ? ~std::uint64_t{0} : 0;
      part.begin = std::max(part.begin, piece.begin);
      part.end = std::min(part.end, piece.end);
      part.committed = std::min(part.committed, part.bytes());
      table_.put(part);
    }
  }

  static bool covers(RangeTable& table, std::uint64_t begin, std::uint64_t end) {
    for (auto place = table.find(begin); place != table.end() && place->first <= begin; ++place) {
      begin = place->second.end;
      if (begin >= end) return true;
    }
    return false;
  }

  // What the kernel said the next time; nullptr: there is none.
  RangeTable* next_table() {
    if (!space_.from_kernel || maps_.time_us(moment_) > time_us_ || moment_ + 1 >= maps_.size()) return nullptr;
    if (!next_) next_ = kernel_ranges(maps_, moment_ + 1, tape_.modules(), tape_.threads(), time_us_);
    return &*next_;
  }

  void add_blocks() {
    std::vector<SpaceRange> ranges = table_.take();
    std::vector<std::uint64_t> ends; // beside ranges
    bool has_arenas = false;
    for (const SpaceRange& range : ranges) {
      ends.push_back(range.end);
      has_arenas |= range.kind == RangeKind::ThreadArena;
    }
    std::map<std::uint64_t, bool> full_heaps;
    std::size_t last = 0;
    state_.blocks().for_each([&](const Block& block) {
      const std::uint64_t end = block.address + std::max<std::uint64_t>(block.size, 1);
      if (end < block.address || end > ~std::uint64_t{0} - kPageBytes) return; // a damaged tape
      if (last >= ranges.size() || block.address < ranges[last].begin || block.address >= ends[last])
        last = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), block.address) - ends.begin());
      if (last >= ranges.size() || block.address < ranges[last].begin || end > ranges[last].end) {
        strays_.push_back({block.address, end});
        return;
      }
      SpaceRange& range = ranges[last];
      if (range.committed != range.bytes())
        range.committed = std::max(range.committed, std::min(page_end(end), range.end) - range.begin);
      // What malloc gives out is not the recorder's, whatever it looked like.
      if (range.kind == RangeKind::Special && range.permissions[1] == 'w') {
        range.kind = RangeKind::Anonymous;
        range.name = 0;
      }
      if (has_arenas && range.kind == RangeKind::Anonymous && range.event == 0 && block.size < kSmallBlock) {
        const std::uint64_t heap = block.address & ~(kGlibcHeapBytes - 1);
        if (heap >= range.begin && heap + kGlibcHeapBytes <= range.end) full_heaps[heap] = true;
      }
    });
    for (const SpaceRange& range : ranges) table_.put(range);
    for (const auto& [begin, yes] : full_heaps) put_full_heap(begin);
    place_strays();
  }

  // A heap of an arena that is opened to its end looks like any other memory, but for the small blocks in it.
  void put_full_heap(std::uint64_t begin) {
    SpaceRange heap = table_.find(begin)->second;
    heap.kind = RangeKind::ThreadArena;
    heap.begin = begin;
    heap.end = begin + kGlibcHeapBytes;
    heap.committed = kGlibcHeapBytes;
    table_.put(heap);
  }

  void place_strays() {
    if (strays_.empty()) return;
    std::sort(strays_.begin(), strays_.end(), [](const Stray& a, const Stray& b) { return a.begin < b.begin; });
    RangeTable* later = next_table();
    for (const Stray& stray : strays_) {
      if (covers(table_, stray.begin, stray.end) || extend_heap(stray)) continue;
      if (later != nullptr && covers(*later, stray.begin, stray.end)) {
        table_.fill(later->find(stray.begin)->second);
        if (covers(table_, stray.begin, stray.end)) continue;
      }
      add_cluster(stray);
    }
  }

  // The main heap grows upwards, and nothing else comes between it and its blocks.
  bool extend_heap(const Stray& stray) {
    auto below = table_.first_above(stray.begin);
    if (stray.begin >= kMmapArea) return false;
    if (below == table_.end() || below->second.begin > stray.begin) {
      if (below == table_.begin()) return false;
      --below;
    }
    if (below->second.kind != RangeKind::MainHeap) return false;
    SpaceRange more = below->second;
    const std::uint64_t was = more.end;
    more.end = page_end(stray.end);
    const auto next = std::next(below);
    if (next != table_.end()) more.end = std::min(more.end, next->second.begin);
    if (more.end <= was) return false;
    more.committed += more.end - was;
    table_.put(more);
    return true;
  }

  void add_cluster(const Stray& stray) {
    SpaceRange range;
    range.begin = page_of(stray.begin);
    range.end = page_end(stray.end);
    range.permissions = {'r', 'w', '-', 'p'};
    // A cluster begun before goes on, unless something lies between.
    if (const auto cluster = table_.find(last_cluster_); cluster != table_.end()) {
      const auto next = std::next(cluster);
      SpaceRange more = cluster->second;
      if (range.begin - std::min(range.begin, more.end) <= kLargestGap &&
          (next == table_.end() || next->second.begin >= range.end)) {
        more.end = std::max(more.end, range.end);
        more.committed = more.bytes();
        table_.put(more);
        return;
      }
    }
    const bool in_brk = range.begin < kMmapArea && !has_heap() && behind_program(range.begin);
    range.kind = in_brk ? RangeKind::MainHeap : RangeKind::Anonymous;
    if (in_brk) range.name = name_of("[heap]");
    range.committed = range.bytes();
    last_cluster_ = table_.find(stray.begin) == table_.end() ? stray.begin : ~std::uint64_t{0};
    table_.fill(range);
  }

  bool has_heap() {
    return std::any_of(table_.begin(), table_.end(),
                       [](const auto& entry) { return entry.second.kind == RangeKind::MainHeap; });
  }
  // The kernel starts the heap some way behind the program's own segments.
  bool behind_program(std::uint64_t address) const {
    constexpr std::uint64_t kFarthest = std::uint64_t{2} << 30;
    if (tape_.modules().empty()) return true;
    return std::any_of(tape_.modules().begin(), tape_.modules().end(), [&](const Module& module) {
      return module.end <= address && address - module.end < kFarthest && module.end < kMmapArea;
    });
  }

  const TapeReader& tape_;
  const HeapState& state_;
  const std::uint64_t time_us_;
  const Maps& maps_;
  AddressSpace space_;
  std::size_t moment_ = 0;
  RangeTable table_;
  std::optional<RangeTable> next_;
  std::map<std::string, std::uint32_t> added_names_;
  std::vector<Stray> strays_;
  std::uint64_t last_cluster_ = ~std::uint64_t{0}; // an address in the last cluster of strays
};

} // namespace

std::size_t AddressSpace::first_above(std::uint64_t address) const {
  const auto above = std::upper_bound(ranges.begin(), ranges.end(), address,
                                      [](std::uint64_t wanted, const SpaceRange& range) { return wanted < range.end; });
  return static_cast<std::size_t>(above - ranges.begin());
}

const SpaceRange* AddressSpace::find(std::uint64_t address) const {
  const std::size_t above = first_above(address);
  return above < ranges.size() && ranges[above].begin <= address ? &ranges[above] : nullptr;
}

AddressSpace address_space_at(const TapeReader& tape, const HeapState& state, std::uint64_t time_us) {
  return SpaceMaker(tape, state, time_us).make();
}

} // namespace heaptape
