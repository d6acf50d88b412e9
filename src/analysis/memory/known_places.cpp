#include "analysis/memory/known_places.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace heaptape {

namespace {

constexpr std::uint32_t kHabit = 16;
constexpr std::uint64_t kWord = 8;

// Where blocks are referred to inside: block << 32 | offset, in order, each once.
TableVector<std::uint64_t> places_inside(const HeapView& heap) {
  TableVector<std::uint64_t> places;
  const auto add = [&](std::uint32_t block, std::uint32_t offset) {
    if (offset != 0) places.push_back(std::uint64_t{block} << 32 | offset);
  };
  heap.graph.for_each_interior([&](std::uint32_t, std::uint32_t target, std::uint32_t offset) { add(target, offset); });
  for (const RootWord& word : heap.roots.words()) add(word.block, word.offset);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

// Looks into the block whether something points there on purpose.
class Inspector {
public:
  Inspector(const HeapView& heap, const MayBeVtable& may_be_vtable)
      : heap_(heap), cursor_(heap.image), may_be_vtable_(may_be_vtable) {}

  bool is_known(std::uint32_t block, std::uint32_t offset) {
    if (block != block_) {
      block_ = block;
      head_ = {};
      const std::uint64_t size = heap_.ranks.end(block) - heap_.ranks.begin(block);
      cursor_.read(heap_.ranks.begin(block),
                   std::as_writable_bytes(std::span(head_)).first(std::min<std::uint64_t>(size, sizeof head_)));
    }
    const std::uint64_t bytes = heap_.ranks.bytes(block);
    if (offset == kWord && (is_cookie(bytes, kWord) || head_[0] == bytes - kWord)) return true;
    if ((offset == 2 * kWord || offset == 4 * kWord) && heap_.graph.options().cpython)
      return true; // behind the collector's links
    if (heap_.graph.options().cpython && is_attributes(block, bytes, offset)) return true;
    if (offset == 3 * kWord && is_string_header(bytes)) return true;
    return is_second_base(block, offset) || keeps_start(block, offset) || is_exception(bytes, offset);
  }

private:
  bool is_cookie(std::uint64_t bytes, std::uint64_t offset) const {
    const std::uint64_t count = head_[0];
    return count != 0 && count <= bytes - offset && (bytes - offset) % count == 0;
  }
  // The values of an object's attributes, since CPython 3.11: in front of them is a byte for each, in which order they were set, the number
  // of these, and in the last byte where the values begin.
  bool is_attributes(std::uint32_t block, std::uint64_t bytes, std::uint32_t offset) {
    constexpr std::uint32_t kFarthest = 256;
    if (offset % kWord != 0 || offset >= kFarthest || bytes % kWord != 0 || bytes < offset) return false;
    const std::uint64_t in_front = (bytes - offset) / kWord + 2;
    if ((in_front + kWord - 1) / kWord * kWord != offset) return false;
    const std::uint64_t last = cursor_.word(heap_.ranks.begin(block) + offset - kWord).value_or(0);
    return last >> 56 == offset && (last >> 48 & 0xff) <= in_front - 2;
  }
  bool is_string_header(std::uint64_t bytes) const {
    const std::uint64_t length = head_[0], capacity = head_[1];
    return length <= capacity && capacity < bytes && capacity + 3 * kWord + 1 <= bytes && capacity >= bytes / 2 &&
           static_cast<std::int32_t>(head_[2]) >= -1;
  }
  bool is_second_base(std::uint32_t block, std::uint32_t offset) {
    if (offset % kWord != 0 || !may_be_vtable_ || !may_be_vtable_(head_[0])) return false;
    const auto word = cursor_.word(heap_.ranks.begin(block) + offset);
    return word && may_be_vtable_(*word);
  }

  // Who aligns a block himself keeps the address to be released right before what he uses, or in its first words.
  bool keeps_start(std::uint32_t block, std::uint32_t offset) {
    const std::uint64_t begin = heap_.ranks.begin(block), place = begin + offset;
    for (const std::uint64_t at : {place - kWord, place, place + kWord})
      if (offset % kWord == 0 && at + kWord <= heap_.ranks.end(block) && cursor_.word(at) == begin) return true;
    return false;
  }

  // libstdc++ and libc++ put a count of references and a header in front of what is thrown; its last part, for the unwinder, begins with the
  // name of the language.
  bool is_exception(std::uint64_t bytes, std::uint32_t offset) {
    constexpr std::uint64_t kHeader = 16, kUnwinders = 96, kThrown = 128;
    constexpr std::uint64_t kGnu = 0x474e'5543'432b'2b00, kClang = 0x434c'4e47'432b'2b00; // "GNUCC++", "CLNGC++"
    if (bytes < kThrown || (offset != kHeader && offset != kUnwinders && offset != kThrown)) return false;
    const std::uint64_t language =
        cursor_.word(heap_.ranks.begin(block_) + kUnwinders).value_or(0) & ~std::uint64_t{0xff};
    return language == kGnu || language == kClang;
  }

  const HeapView& heap_;
  MemoryCursor cursor_;
  const MayBeVtable& may_be_vtable_;
  std::uint32_t block_ = BlockRanks::kNone;
  std::array<std::uint64_t, 3> head_{};
};

} // namespace

MayBeVtable vtables_in(std::span<const MappedRange> regions, std::span<const std::string> names) {
  std::vector<MappedRange> data;
  for (const MappedRange& region : regions) {
    const bool is_file = region.name < names.size() && !names[region.name].empty() && names[region.name][0] != '[';
    if (is_file && (region.permissions & (kMapExecute | kMapShared)) == 0) data.push_back(region);
  }
  return [data = std::move(data)](std::uint64_t address) {
    const auto behind = std::partition_point(data.begin(), data.end(),
                                             [&](const MappedRange& region) { return region.end <= address; });
    return address % kWord == 0 && behind != data.end() && behind->begin <= address;
  };
}

KnownPlaces KnownPlaces::of(const HeapView& heap, const MayBeVtable& may_be_vtable, const MakerOf& maker_of) {
  KnownPlaces known;
  const TableVector<std::uint64_t> places = places_inside(heap);
  std::unordered_map<std::uint64_t, std::uint32_t> counts; // by group and offset
  for (const std::uint64_t place : places) {
    const std::uint32_t group = heap.ranks.group(static_cast<std::uint32_t>(place >> 32));
    if (group != 0) ++counts[key(group, static_cast<std::uint32_t>(place))];
  }
  for (const auto& [habit, count] : counts) {
    if (count >= kHabit) known.habits_.insert(habit);
  }
  if (maker_of) known.add_habits_of_makers(heap.ranks, places, maker_of);
  MemoryCursor cursor(heap.image);
  // The second word of a thread's control block leads behind the first entry of the table of its variables, also when the block lies on a
  // stack that the program made.
  for (const ThreadState& thread : heap.threads) {
    const std::uint64_t table = cursor.word(thread[ThreadState::FsBase] + kWord).value_or(0);
    const std::uint32_t block = heap.ranks.find(table);
    if (block != BlockRanks::kNone)
      known.places_.insert(key(block, static_cast<std::uint32_t>(table - heap.ranks.begin(block))));
  }
  for (const RootWord& word : heap.roots.words()) {
    const RootRange& range = heap.roots.ranges()[word.range];
    // A stack that nobody knows as one; the first and the third word of the control block lead to itself.
    const std::uint64_t control_block = word.address - kWord;
    if (word.offset == 2 * kWord && range.kind != RootKind::Registers && cursor.word(control_block) == control_block &&
        cursor.word(word.address + kWord) == control_block)
      known.places_.insert(key(word.block, word.offset));
    if (range.kind != RootKind::ThreadLocal) continue;
    // Of a thread that has ended nothing else is looked at.
    const std::uint64_t second_word =
        range.thread < heap.threads.size() ? heap.threads[range.thread][ThreadState::FsBase] + kWord : range.begin;
    if (word.address == second_word) known.places_.insert(key(word.block, word.offset));
  }
  Inspector inspector(heap, may_be_vtable);
  for (const std::uint64_t place : places) {
    const auto block = static_cast<std::uint32_t>(place >> 32), offset = static_cast<std::uint32_t>(place);
    if (!known.holds(heap.ranks, block, offset) && inspector.is_known(block, offset)) known.places_.insert(place);
  }
  return known;
}

void KnownPlaces::add_habits_of_makers(const BlockRanks& ranks, std::span<const std::uint64_t> places,
                                       const MakerOf& maker_of) {
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>, std::vector<std::uint64_t>>
      kin; // maker, size, offset
  for (const std::uint64_t place : places) {
    const auto block = static_cast<std::uint32_t>(place >> 32), offset = static_cast<std::uint32_t>(place);
    if (holds(ranks, block, offset)) continue;
    const std::uint64_t maker = maker_of(ranks.group(block));
    if (maker != 0) kin[{maker, ranks.bytes(block), offset}].push_back(place);
  }
  for (const auto& [what, alike] : kin)
    if (alike.size() >= kHabit) places_.insert(alike.begin(), alike.end());
}

void KnownPlaces::mark(const BlockRanks& ranks, ReferenceGraph& graph) const {
  std::vector<std::uint32_t> known;
  graph.for_each_interior([&](std::uint32_t edge, std::uint32_t target, std::uint32_t offset) {
    if (holds(ranks, target, offset)) known.push_back(edge);
  });
  for (const std::uint32_t edge : known) graph.set_known(edge);
}

} // namespace heaptape
