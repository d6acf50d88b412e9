#include "shell/explanation_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/path_text.h"
#include "shell/contents_text.h"
#include "shell/describe.h"
#include "shell/odd_calls.h"
#include "shell/pool_blocks.h"

namespace heaptape {
namespace {

std::string mapping_name(Session& session, const SpaceRange& range) {
  return printable(session.space().names[range.name]);
}

class Verdict {
public:
  Verdict(Session& session, const Explanation& answer) : session_(session), answer_(answer) {}

  std::string text() const {
    switch (answer_.kind) {
    case AddressKind::Null:
    case AddressKind::Poison:
    case AddressKind::Text:
    case AddressKind::NotCanonical: return answer_.oddity;
    case AddressKind::LiveBlock: return live();
    case AddressKind::FreedBlock: return place_in(*answer_.block) + " " + gone(*answer_.block);
    case AddressKind::PastEnd: return past_end();
    case AddressKind::BeforeStart:
      return fmt::format("{} in front of a live {}, where the allocator keeps its own notes",
                         count_of(answer_.offset, "byte"), block_words(answer_.block->size));
    case AddressKind::Stack: return "on the stack of " + whose_stack() + stack_part();
    case AddressKind::ThreadLocal: return "in the thread-local data of " + whose_stack();
    case AddressKind::Unmapped:
      return fmt::format("{} a mapping of {} that was unmapped {}",
                         offset_words(answer_.address - answer_.mapper->begin), bytes_text(answer_.mapper->bytes()),
                         since(answer_.unmapping.time_us));
    case AddressKind::Global:
    case AddressKind::Code: return symbol(*answer_.symbol);
    case AddressKind::FreeMemory:
      return answer_.range->kind == RangeKind::MainHeap
                 ? "in the heap, but no block ever covered it up to here"
                 : "in a thread's arena, but no block ever covered it up to here";
    case AddressKind::Mapping: return mapping(*answer_.range) + near_block();
    case AddressKind::Nothing:
      return (session_.space().from_kernel ? "in no mapping of the program" : "in nothing that the tape knows of") +
             near_block();
    }
    return {};
  }

private:
  std::string place_in(const Tenant& life) const { return offset_words(answer_.address - life.address); }
  std::string since(std::uint64_t us) const { return ago_text(us, session_.time_us()); }

  // ", 20 bytes before a live block of 100 bytes"
  std::string near_block() const {
    const std::uint64_t address = answer_.address;
    const auto& before = answer_.before;
    const auto& after = answer_.after;
    const std::uint64_t behind = before ? address - std::min(address, before->address + before->size) : 0;
    if (before && (!after || behind <= after->address - address))
      return fmt::format(", {} behind a live block of {}", count_of(behind, "byte"), count_of(before->size, "byte"));
    if (after)
      return fmt::format(", {} before a live block of {}", count_of(after->address - address, "byte"),
                         count_of(after->size, "byte"));
    return {};
  }

  // "a 64-byte block freed 1.20 ms earlier"
  std::string gone(const Tenant& life) const {
    const char* const how = life.ended != LifeEnd::Reallocated ? "freed"
                            : life.to == life.address          ? "cut off when realloc made it smaller where it was"
                                                               : "moved away by realloc";
    return fmt::format("{} {} {}", a_block(life.size), how, since(life.end_us));
  }

  std::string live() const {
    std::string text = fmt::format("{} a live {}{}", place_in(*answer_.block), block_words(answer_.block->size),
                                   answer_.block->inherited ? ", inherited at the fork" : "");
    if (const auto& former = answer_.former) {
      // What somebody with an old pointer wants to know.
      text += fmt::format("; until {} {} {} of {}", since(former->end_us), place_in(*former), a_block(former->size),
                          session_.stacks().site(former->owner.stack));
    }
    return text;
  }

  std::string past_end() const {
    const Tenant& block = *answer_.block;
    return fmt::format("{} the end of {}",
                       answer_.offset == 0 ? "one past" : count_of(answer_.offset, "byte") + " behind",
                       block.ended == LifeEnd::Live ? "a live " + block_words(block.size) : gone(block));
  }

  std::string stack_part() const {
    if (!answer_.frame && !answer_.below_frames) return "; in which function's frame is not on the tape";
    const MemorySnapshot& snapshot = session_.memory().value()->facts();
    const std::string when =
        snapshot.event == session_.event()
            ? ""
            : fmt::format(" at snapshot {}, {}", snapshot.number, ago_text(snapshot.time_us, session_.time_us()));
    if (!answer_.frame) return ", below what was in use" + when + ": left over from calls that have returned";
    SnapshotStacks& stacks = session_.memory_stacks();
    return fmt::format(", in the frame of {}{}", stacks.text_of(stacks.frame_at(*answer_.frame)), when);
  }

  std::string whose_stack() const {
    if (answer_.thread.value != 0) return thread_text(session_, answer_.thread);
    if (answer_.frame)
      return thread_words(session_, session_.memory().value()->facts().threads[answer_.frame->thread].tid);
    return answer_.range && answer_.range->kind == RangeKind::MainStack ? "the main thread" : "a thread";
  }

  std::string symbol(const FoundSymbol& found) const {
    const std::uint64_t offset = answer_.address - found.address;
    return fmt::format("{}{} {}, {} of {}", offset != 0 ? count_of(offset, "byte") + " into " : "",
                       answer_.kind == AddressKind::Code ? "the function" : "the variable", printable(found.name),
                       count_of(found.symbol->size, "byte"), printable(std::string(base_name(found.module->path))));
  }

  std::string mapping(const SpaceRange& range) const {
    const std::string name = mapping_name(session_, range);
    if (range.kind == RangeKind::Special) return "in the kernel's own mapping " + name;
    if (range.kind == RangeKind::Module)
      return "in " + (name.empty() ? "a file of the program" : name) + ", at no symbol that is known";
    return fmt::format("{} {} of {}", offset_words(answer_.address - range.begin),
                       range.kind == RangeKind::File ? "a mapping of " + (name.empty() ? "a file" : name)
                                                     : "an anonymous mapping",
                       bytes_text(range.end - range.begin));
  }

  Session& session_;
  const Explanation& answer_;
};

class Details {
public:
  Details(Session& session, const Explanation& answer) : session_(session), answer_(answer) {}

  std::string text() {
    if (answer_.block)
      add_block(*answer_.block);
    else if (answer_.range)
      add_range(*answer_.range);
    else if (answer_.kind == AddressKind::Unmapped)
      add_unmapped(*answer_.mapper);
    else if (answer_.thread.value != 0)
      text_ += "  the kernel never showed this stack: the program ended first, or its thread began too late\n";
    else if (answer_.oddity.empty())
      add_surroundings();
    if (answer_.frame) add_stack_frame(*answer_.frame);
    for (const PoolBlock& block : answer_.in_pools) text_ += pool_block_text(session_, block, answer_.address);
    for (const Event& event : answer_.bad_releases) text_ += "  wrongly released: " + bad_release_text(session_, event);
    text_ += odd_calls_text(session_, odd_calls_at(session_, {answer_.address, answer_.address + 1}, false));
    if (answer_.stopped) text_ += "  (stopped: what was there before is not complete)\n";
    return std::move(text_);
  }

private:
  std::string since(std::uint64_t us) const { return ago_text(us, session_.time_us()); }
  void add_frames(StackId stack) { text_ += session_.stacks().frames(stack, "    ", session_.style); }

  void add_block(const Tenant& block) {
    if (block.ended != LifeEnd::Live) add_ender(block);
    add_maker(block);
    if (answer_.former) add_former(*answer_.former);
    if (!answer_.older.empty()) add_older();
    if (answer_.kind == AddressKind::FreedBlock) add_next();
  }
  void add_maker(const Tenant& life) {
    if (life.inherited) {
      text_ += "  inherited: " + inherited_words(session_.tape(), life) + "\n";
      return add_frames(life.owner.stack);
    }
    text_ += fmt::format("  made {} by {} ({}, {})\n", since(life.time_us), thread_text(session_, life.owner.thread),
                         life.from != 0 ? "realloc of " + hex(life.from) : kind_name(life.kind),
                         moment_text(life.event, life.time_us));
    add_frames(life.owner.stack);
  }
  void add_ender(const Tenant& life) {
    if (life.ended == LifeEnd::Unseen) {
      text_ += "  its release is not on the tape\n";
      return;
    }
    text_ += fmt::format("  {} {} by {} ({}, {}), after a life of {}\n",
                         life.ended == LifeEnd::Released ? "freed" : "given up", since(life.end_us),
                         thread_text(session_, life.ender.thread),
                         life.ended == LifeEnd::Reallocated
                             ? (life.to == life.address ? "realloc in place" : "realloc moved it to " + hex(life.to))
                             : kind_name(life.end_kind),
                         moment_text(life.end_event, life.end_us), duration_text(life.lived_us(life.end_us)));
    add_frames(life.ender.stack);
  }
  void add_former(const Tenant& former) {
    text_ +=
        fmt::format("  before that, {} {}\n", offset_words(answer_.address - former.address), a_block(former.size));
    add_maker(former);
    add_ender(former);
  }
  // The first ones are among them: a pointer may be as old as that.
  void add_older() {
    constexpr std::size_t kShown = 6, kOldest = 4;
    const std::size_t count = answer_.older.size();
    text_ += fmt::format("  {} still earlier ('history {}' shows all in full):\n",
                         count_of(count + answer_.older_left_out, "other block was here", "other blocks were here"),
                         hex(answer_.address));
    const bool all = answer_.older_left_out == 0 && count <= kShown + kOldest + 1;
    for (std::size_t i = 0; i < count; ++i) {
      if (!all && i == std::min(kShown, count - std::min(count, kOldest))) {
        const std::size_t last = count - std::min(count, kOldest);
        text_ += fmt::format("    and {} between\n", with_separators(last - i + answer_.older_left_out));
        i = last;
      }
      const Tenant& life = answer_.older[i];
      const std::string end = life.ended == LifeEnd::Unseen ? "?" : with_separators(life.end_event);
      text_ +=
          fmt::format("    events {} to {}: {} of {}{}\n", with_separators(life.event), end, a_block(life.size),
                      session_.stacks().site(life.owner.stack),
                      life.ended == LifeEnd::Unseen ? "" : ", ended by " + session_.stacks().site(life.ender.stack));
    }
  }
  void add_unmapped(const MappingPiece& piece) {
    const Event& event = answer_.unmapping;
    text_ +=
        fmt::format("  {}-{}, {}\n", hex(piece.begin), hex(piece.end), piece.anonymous ? "anonymous" : "of a file");
    text_ += fmt::format("  {} {} by {} ({})\n",
                         event.kind == EventKind::Munmap   ? "unmapped"
                         : event.kind == EventKind::Mremap ? "moved away"
                                                           : "mapped over",
                         since(event.time_us), thread_text(session_, event.thread),
                         moment_text(event.number, event.time_us));
    add_frames(event.stack);
    text_ += fmt::format("  mapped {} by {} ({})\n", since(piece.time_us), thread_text(session_, piece.thread),
                         moment_text(piece.event, piece.time_us));
    add_frames(piece.stack);
  }
  void add_next() {
    if (const auto& piece = answer_.next_mapping) {
      text_ += fmt::format("  mapped {} ({}) by\n    {}\n", since(piece->time_us),
                           moment_text(piece->event, piece->time_us), session_.stacks().chain(piece->stack, 4));
    } else if (const auto& next = answer_.next) {
      text_ += fmt::format("  reused {} ({}) as part of {} of\n    {}\n", since(next->time_us),
                           moment_text(next->event, next->time_us), a_block(next->size),
                           session_.stacks().chain(next->owner.stack, 4));
    } else {
      text_ += "  not reused since\n";
    }
  }

  void add_range(const SpaceRange& range) {
    const std::string name = mapping_name(session_, range);
    const std::string extent = hex(range.begin) + "-" + hex(range.end);
    if (range.kind == RangeKind::Module) {
      const Module* module = session_.symbols().modules().find_at_time(answer_.address, session_.time_us());
      text_ += fmt::format("  in {}  {}{}\n", extent, name,
                           module != nullptr ? "+" + hex(answer_.address - module->load_bias) : "");
      return;
    }
    text_ += fmt::format("  in {}{}\n", extent, name.empty() ? "" : "  " + name);
    add_neighbours();
    if (const auto& mapper = answer_.mapper) {
      text_ += fmt::format("  mapped {} by {} ({})\n", since(mapper->time_us), thread_text(session_, mapper->thread),
                           moment_text(mapper->event, mapper->time_us));
      add_frames(mapper->stack);
    }
  }
  void add_neighbours() {
    if (const auto& before = answer_.before)
      add_neighbour("before", *before, answer_.address - std::min(answer_.address, before->address + before->size));
    if (const auto& after = answer_.after) add_neighbour("after", *after, after->address - answer_.address);
  }
  void add_neighbour(const char* side, const Block& block, std::uint64_t gap) {
    text_ += fmt::format("  {:<7}{}  {}, {} away  {}\n", side, hex(block.address), block_words(block.size),
                         bytes_text(gap), session_.stacks().site(session_.heap().owner_of(block).stack));
  }

  void add_stack_frame(const SnapshotStacks::Place& place) {
    SnapshotStacks& stacks = session_.memory_stacks();
    const MemorySnapshot& snapshot = session_.memory().value()->facts();
    const StackFrame& frame = stacks.frame_at(place);
    std::string text;
    if (answer_.kind != AddressKind::Stack) {
      text =
          fmt::format("a stack of {}, in the frame of {}: ", thread_words(session_, snapshot.threads[place.thread].tid),
                      stacks.text_of(frame));
    }
    if (answer_.address == frame.begin)
      text += "at";
    else if (answer_.address < frame.begin)
      text += count_of(frame.begin - answer_.address, "byte") + " below";
    else
      text += count_of(answer_.address - frame.begin, "byte") + " behind";
    text += fmt::format(" the beginning of its frame #{}", place.frame);
    text += fmt::format(", {}-{}", hex(frame.begin), hex(frame.end));
    // A call leaves it there.
    if (answer_.address + 8 >= frame.end && !frame.signal_handler)
      text += ", where the address lies that it returns to";
    text_ += fmt::format("  {}\n  at snapshot {} ('{}'), {}\n", text, snapshot.number, printable(snapshot.name),
                         moment_text(snapshot.event, snapshot.time_us));
  }

  void add_surroundings() {
    add_neighbours();
    add_nearest_ranges();
  }
  void add_nearest_ranges() {
    const AddressSpace& space = session_.space();
    const auto after = std::partition_point(space.ranges.begin(), space.ranges.end(),
                                            [&](const SpaceRange& range) { return range.begin <= answer_.address; });
    const auto line = [&](const char* side, const SpaceRange& range, std::uint64_t gap) {
      text_ += fmt::format("  {:<7}{}-{}  {}, {} away\n", side, hex(range.begin), hex(range.end),
                           range.name != 0 ? printable(space.names[range.name]) : "anonymous", bytes_text(gap));
    };
    if (after != space.ranges.begin()) line("below", *std::prev(after), answer_.address - std::prev(after)->end);
    if (after != space.ranges.end()) line("above", *after, after->begin - answer_.address);
  }

  Session& session_;
  const Explanation& answer_;
  std::string text_;
};

} // namespace

std::string verdict_text(Session& session, const Explanation& answer) { return Verdict(session, answer).text(); }
std::string details_text(Session& session, const Explanation& answer) { return Details(session, answer).text(); }

} // namespace heaptape
