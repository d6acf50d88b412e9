#include "analysis/space/kernel_ranges.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace heaptape {

namespace {

// The thread's control block lies above the address that a thread goes by, at the very top of its stack. glibc's takes
// less.
constexpr std::uint64_t kControlBlockBytes = 0x900;
constexpr std::uint64_t kLargestGuard = std::uint64_t{1} << 20;
// Where the kernel puts mappings that name no address.
constexpr std::uint64_t kMmapArea = 0x7000'0000'0000;

RangeKind kind_of_name(std::string_view name) {
  if (name == kRecorderTables) return RangeKind::Special;
  if (name.empty() || name.starts_with("[anon")) return RangeKind::Anonymous;
  if (name == "[heap]") return RangeKind::MainHeap;
  if (name.starts_with("[stack")) return RangeKind::MainStack;
  if (name.starts_with('[') || name.starts_with(kRecorderMemory)) return RangeKind::Special;
  return RangeKind::File;
}

SpaceRange range_of(const MappedRange& mapped, RangeKind kind) {
  const auto letter = [&](std::uint8_t bit, char yes, char no) { return (mapped.permissions & bit) != 0 ? yes : no; };
  SpaceRange range;
  range.begin = mapped.begin;
  range.end = mapped.end;
  range.kind = kind;
  range.name = mapped.name;
  range.permissions = {letter(kMapRead, 'r', '-'), letter(kMapWrite, 'w', '-'), letter(kMapExecute, 'x', '-'),
                       letter(kMapShared, 's', 'p')};
  const bool open = (mapped.permissions & (kMapRead | kMapWrite | kMapExecute)) != 0;
  range.committed = open ? range.bytes() : 0;
  return range;
}

bool is_plain(const SpaceRange& range) {
  return range.kind == RangeKind::Anonymous && range.permissions[3] == 'p' && range.permissions[2] == '-';
}
bool is_open(const SpaceRange& range) {
  return is_plain(range) && range.permissions[0] == 'r' && range.permissions[1] == 'w';
}
bool is_closed(const SpaceRange& range) { return is_plain(range) && range.committed == 0; }

// The modules that the files of one moment belong to, and where their zeroed memory lies.
class LoadedModules {
public:
  explicit LoadedModules(const std::vector<Module>& modules) {
    for (const Module& module : modules) {
      for (const Segment& segment : module.segments) {
        const std::uint64_t begin = page_of(segment.address);
        const std::uint64_t end = page_end(segment.address + segment.size);
        if (begin >= end) continue;
        segments_.push_back({begin, end, 0, page_of(segment.file_offset) - begin, &module, 0});
      }
    }
    std::sort(segments_.begin(), segments_.end(), [](const Place& a, const Place& b) { return a.begin < b.begin; });
    std::uint64_t highest = 0;
    for (Place& place : segments_) place.highest_end = highest = std::max(highest, place.end);
  }

  // Whether the file is mapped here just as a module's segment would be. Paths prove nothing: the loader may have
  // followed a link.
  bool holds(const MappedRange& file) {
    bool found = false;
    each_between(file.begin, file.end, [&](Place& place) {
      if (place.offset_minus_address != file.offset - file.begin) return;
      place.name = file.name;
      found = true;
    });
    return found;
  }

  // Calls visit(begin, end, name) for every segment of a file that holds() was asked for.
  template <class Visit>
  void each_found(Visit visit) const {
    for (const Place& place : segments_) {
      if (place.name != 0) visit(place.begin, place.end, place.name);
    }
  }

private:
  struct Place {
    std::uint64_t begin, end;
    std::uint64_t highest_end; // of this and all before it
    std::uint64_t offset_minus_address;
    const Module* module;
    std::uint32_t name; // of the file that was found there; 0: none
  };

  template <class Visit>
  void each_between(std::uint64_t begin, std::uint64_t end, Visit visit) {
    auto after = std::lower_bound(segments_.begin(), segments_.end(), end,
                                  [](const Place& place, std::uint64_t wanted) { return place.begin < wanted; });
    while (after != segments_.begin()) {
      --after;
      if (after->highest_end <= begin) return;
      if (begin < after->end) visit(*after);
    }
  }

  std::vector<Place> segments_;
};

// Anonymous memory (also what the kernel takes for the heap) in a module's segment is the part that no file backs.
void find_zeroed_parts(RangeTable& table, const LoadedModules& loaded) {
  loaded.each_found([&](std::uint64_t begin, std::uint64_t end, std::uint32_t name) {
    for (std::uint64_t at = begin; at < end;) {
      auto place = table.first_above(at);
      if (place == table.end() || place->second.begin >= end) return;
      const RangeKind kind = place->second.kind;
      const std::uint64_t from = std::max(at, place->second.begin), until = std::min(end, place->second.end);
      if (kind == RangeKind::Anonymous || kind == RangeKind::MainHeap) {
        table.split(from);
        table.split(until);
        place = table.find(from);
        place->second.kind = RangeKind::Module;
        place->second.name = name;
      }
      at = until;
    }
  });
}

void find_arenas(RangeTable& table) {
  for (auto place = table.begin(); place != table.end(); ++place) {
    const SpaceRange open = place->second;
    if (!is_open(open) || open.begin < kMmapArea) continue;
    // The kernel joins neighbours, so that a heap may begin inside; only the last one can be followed by its closed
    // rest.
    const std::uint64_t begin = (open.end - 1) & ~(kGlibcHeapBytes - 1);
    const auto next = std::next(place);
    if (begin < open.begin || next == table.end()) continue;
    const SpaceRange closed = next->second;
    if (closed.begin != open.end || !is_closed(closed) || closed.end < begin + kGlibcHeapBytes) continue;
    SpaceRange arena = open;
    arena.kind = RangeKind::ThreadArena;
    arena.begin = begin;
    arena.end = begin + kGlibcHeapBytes;
    arena.committed = open.end - begin;
    table.put(arena);
    place = table.find(begin);
  }
}

// The recorder's private tables are mapped right after what it shares with the collector, which is right below it.
void find_recorder(RangeTable& table, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), kRecorderTables) != names.end()) return; // the kernel said it
  constexpr unsigned kMostPieces = 3; // large pages, and what lies in front of them and behind
  for (auto place = table.begin(); place != table.end(); ++place) {
    const SpaceRange shared = place->second;
    if (!names[shared.name].starts_with(kRecorderMemory)) continue;
    auto below = place;
    for (unsigned pieces = 0; pieces < kMostPieces && below != table.begin(); ++pieces) {
      const std::uint64_t begin = below->second.begin;
      --below;
      if (!is_open(below->second) || below->second.end != begin) break;
      below->second.kind = RangeKind::Special;
      below->second.name = shared.name;
    }
  }
}

void find_stack(RangeTable& table, const Thread& thread) {
  const auto holder = table.find(thread.stack_top);
  if (holder == table.end()) return;
  if (holder->second.kind == RangeKind::MainStack) {
    holder->second.thread = thread.id;
    return;
  }
  // Stacks are used again, by one thread after the other.
  if (holder->second.kind == RangeKind::ThreadStack) holder->second.thread = thread.id;
  if (!is_open(holder->second)) return;
  table.split(page_end(thread.stack_top + kControlBlockBytes));
  SpaceRange stack = holder->second;
  stack.kind = RangeKind::ThreadStack;
  stack.thread = thread.id;
  stack.committed = stack.bytes();
  if (holder != table.begin()) {
    const SpaceRange& guard = std::prev(holder)->second;
    if (guard.end == stack.begin && is_closed(guard) && guard.bytes() <= kLargestGuard) stack.begin = guard.begin;
  }
  table.put(stack);
}

void join_heap(RangeTable& table) {
  SpaceRange* last = nullptr;
  std::vector<SpaceRange> joined;
  for (auto place = table.begin(); place != table.end(); ++place) {
    const SpaceRange& range = place->second;
    if (range.kind != RangeKind::MainHeap) {
      last = nullptr;
    } else if (last != nullptr && last->end == range.begin) {
      last->end = range.end;
      last->committed += range.committed;
    } else {
      joined.push_back(range);
      last = &joined.back();
    }
  }
  for (const SpaceRange& range : joined) table.put(range);
}

} // namespace

RangeTable kernel_ranges(const Maps& maps, std::size_t moment, const std::vector<Module>& modules,
                         const std::vector<Thread>& threads, std::uint64_t time_us) {
  const std::vector<MappedRange> mapped = maps.ranges(moment);
  LoadedModules loaded(modules);
  // A file with code is a module, even if the recorder has not reported it yet.
  std::vector<bool> has_code(maps.names().size());
  for (const MappedRange& range : mapped) {
    if ((range.permissions & kMapExecute) != 0) has_code[range.name] = true;
  }
  RangeTable table;
  for (const MappedRange& range : mapped) {
    RangeKind kind = kind_of_name(maps.names()[range.name]);
    if (kind == RangeKind::File && (loaded.holds(range) || has_code[range.name])) kind = RangeKind::Module;
    table.put(range_of(range, kind));
  }
  find_zeroed_parts(table, loaded);
  find_arenas(table);
  for (const Thread& thread : threads) {
    if (thread.stack_top != 0 && thread.first_seen_us <= time_us) find_stack(table, thread);
  }
  find_recorder(table, maps.names().texts());
  join_heap(table);
  return table;
}

} // namespace heaptape
