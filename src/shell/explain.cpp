#include "shell/explain.h"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/address_space.h"
#include "base/number_text.h"
#include "shell/all_commands.h"
#include "shell/describe.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kReach = 64; // an overrun is seldom longer

// What glibc lets a block of this size use.
std::uint64_t usable_bytes(std::uint64_t size) {
  return std::max<std::uint64_t>((size + 8 + 15) & ~std::uint64_t{15}, 32) - 8;
}

class Explainer {
public:
  Explainer(Session& session, std::uint64_t address) : session_(session), address_(address) {}

  Explanation run() {
    if (const OddAddress odd = odd_address(address_); odd.kind != AddressKind::Nothing) {
      answer_.kind = odd.kind;
      answer_.verdict = odd.sentence;
      // Some patterns and texts are addresses all the same, if something is mapped there.
      if (odd.kind == AddressKind::Null || session_.space().find(address_) == nullptr) return answer_;
      answer_ = {};
    }
    past_ = history_of(session_.tape(), {.range = {address_ > kReach ? address_ - kReach : 0, address_ + kReach},
                                         .until = session_.event(),
                                         .most = 2000,
                                         .should_stop = session_.stopper()});
    if (in_live_block() || behind_live_block(true) || in_freed_block()) return finish();
    if (behind_live_block(false) || before_live_block()) return finish();
    by_mapping();
    return finish();
  }

private:
  // The latest that satisfies.
  template <class Predicate>
  const Tenant* latest(Predicate predicate) const {
    const auto found = std::find_if(past_.lives.rbegin(), past_.lives.rend(), predicate);
    return found != past_.lives.rend() ? &*found : nullptr;
  }
  bool covers(const Tenant& life) const { return MemoryRange{address_, address_ + 1}.meets(life.address, life.size); }

  std::string place_in(const Tenant& life) const {
    const std::uint64_t offset = address_ - life.address;
    return offset == 0 ? "the start of a" : count_of(offset, "byte") + " into a";
  }
  std::string since(std::uint64_t us) const { return ago_text(us, session_.time_us()); }

  void add_maker(const Tenant& life) {
    answer_.details += fmt::format(
        "  made {} by {} ({}, {})\n", since(life.time_us), thread_text(session_, life.owner.thread),
        life.from != 0 ? "realloc of " + hex(life.from) : kind_name(life.kind), moment_text(life.event, life.time_us));
    answer_.details += session_.stacks().frames(life.owner.stack, "    ", session_.style);
  }
  void add_ender(const Tenant& life) {
    if (life.ended == LifeEnd::Unseen) {
      answer_.details += "  its release is not on the tape\n";
      return;
    }
    answer_.details += fmt::format(
        "  {} {} by {} ({}, {}), after a life of {}\n", life.ended == LifeEnd::Released ? "freed" : "given up",
        since(life.end_us), thread_text(session_, life.ender.thread),
        life.ended == LifeEnd::Reallocated ? "realloc moved it to " + hex(life.to) : kind_name(life.end_kind),
        moment_text(life.end_event, life.end_us), duration_text(life.end_us - life.time_us));
    answer_.details += session_.stacks().frames(life.ender.stack, "    ", session_.style);
  }
  // What somebody with an old pointer wants to know.
  void add_former(const Tenant& now) {
    const Tenant* before = latest([&](const Tenant& life) { return life.event < now.event && covers(life); });
    if (before == nullptr) return;
    answer_.details +=
        fmt::format("  before that, {} bytes into a {} of {}, {} {}\n", address_ - before->address,
                    block_words(before->size), session_.stacks().site(before->owner.stack),
                    before->ended == LifeEnd::Reallocated ? "moved away" : "freed", since(before->end_us));
    if (before->ended == LifeEnd::Released)
      answer_.details += "    by " + session_.stacks().chain(before->ender.stack, 4) + "\n";
  }

  bool in_live_block() {
    const Tenant* life = latest([&](const Tenant& one) { return one.ended == LifeEnd::Live && covers(one); });
    if (life == nullptr) return false;
    set(AddressKind::LiveBlock, *life, address_ - life->address);
    answer_.verdict = fmt::format("{} live {}", place_in(*life), block_words(life->size));
    add_maker(*life);
    add_former(*life);
    return true;
  }

  // `owned`: in the rounding that malloc gave the block with its size.
  bool behind_live_block(bool owned) {
    const Tenant* life = latest([&](const Tenant& one) {
      const std::uint64_t end = one.address + one.size;
      if (one.ended != LifeEnd::Live || address_ < end) return false;
      return owned ? address_ < one.address + usable_bytes(one.size) && address_ >= end : address_ - end < kReach;
    });
    if (life == nullptr) return false;
    const std::uint64_t past = address_ - life->address - life->size;
    set(AddressKind::PastEnd, *life, past);
    answer_.verdict = fmt::format("{} the end of a live {}",
                                  past == 0 ? "one past" : count_of(past, "byte") + " behind", block_words(life->size));
    add_maker(*life);
    if (!owned) add_freed_here();
    return true;
  }

  bool before_live_block() {
    const Tenant* life = latest([&](const Tenant& one) {
      return one.ended == LifeEnd::Live && address_ < one.address && one.address - address_ <= 16;
    });
    if (life == nullptr) return false;
    set(AddressKind::BeforeStart, *life, life->address - address_);
    answer_.verdict = fmt::format("{} in front of a live {}, where the allocator keeps its own notes",
                                  count_of(life->address - address_, "byte"), block_words(life->size));
    add_maker(*life);
    return true;
  }

  void add_freed_here() {
    const Tenant* life = latest([&](const Tenant& one) { return one.ended != LifeEnd::Live && covers(one); });
    if (life == nullptr) return;
    answer_.details += fmt::format("  earlier it was {} bytes into a {}, freed {}\n", address_ - life->address,
                                   block_words(life->size), since(life->end_us));
  }

  bool in_freed_block() {
    const Tenant* life = nullptr;
    for (const Tenant& one : past_.lives) {
      if (one.ended == LifeEnd::Live || !covers(one)) continue;
      if (life == nullptr || one.end_event > life->end_event) life = &one;
    }
    if (life == nullptr) return false;
    set(AddressKind::FreedBlock, *life, address_ - life->address);
    const char* const how = life->ended == LifeEnd::Reallocated ? "moved away by realloc" : "freed";
    answer_.verdict = fmt::format("{} {} {} {}", place_in(*life), block_words(life->size), how, since(life->end_us));
    add_ender(*life);
    add_maker(*life);
    // Whether somebody writes there later is not in past_, which ends at the cursor.
    const History later = history_of(session_.tape(), {.range = {address_, address_ + 1},
                                                       .until = session_.last_event(),
                                                       .most = 1'000'000,
                                                       .should_stop = session_.stopper()});
    for (const Tenant& next : later.lives) {
      if (next.event <= life->end_event) continue;
      answer_.details += fmt::format("  reused {} ({}) as part of a {} of\n    {}\n", since(next.time_us),
                                     moment_text(next.event, next.time_us), block_words(next.size),
                                     session_.stacks().chain(next.owner.stack, 4));
      return true;
    }
    answer_.details += "  not reused since\n";
    return true;
  }

  void by_mapping() {
    const AddressSpace& space = session_.space();
    const SpaceRange* range = space.find(address_);
    if (range == nullptr) return nothing(space);
    const std::string name = printable(space.names[range->name]);
    const std::string extent = hex(range->begin) + "-" + hex(range->end);
    switch (range->kind) {
    case RangeKind::MainStack:
    case RangeKind::ThreadStack:
      answer_.kind = AddressKind::Stack;
      answer_.verdict = "on the stack of " + (range->thread.value != 0 ? thread_text(session_, range->thread)
                                              : range->kind == RangeKind::MainStack ? std::string("the main thread")
                                                                                    : std::string("a thread"));
      break;
    case RangeKind::MainHeap:
    case RangeKind::ThreadArena:
      answer_.kind = AddressKind::FreeMemory;
      answer_.verdict = range->kind == RangeKind::MainHeap
                            ? "in the heap, but no block ever covered it up to here"
                            : "in a thread's arena, but no block ever covered it up to here";
      add_neighbours();
      break;
    case RangeKind::Module: return in_module(extent, name);
    case RangeKind::Special:
      answer_.kind = AddressKind::Mapping;
      answer_.verdict = "in the kernel's own mapping " + name;
      break;
    case RangeKind::File:
    case RangeKind::Anonymous:
      answer_.kind = AddressKind::Mapping;
      answer_.verdict = fmt::format("{} into {} of {}", count_of(address_ - range->begin, "byte"),
                                    range->kind == RangeKind::File ? "a mapping of " + (name.empty() ? "a file" : name)
                                                                   : "an anonymous mapping",
                                    bytes_text(range->end - range->begin));
      if (range->event != 0) add_mapper(*range);
      break;
    }
    answer_.details = fmt::format("  in {}{}\n", extent, name.empty() ? "" : "  " + name) + answer_.details;
  }

  void add_mapper(const SpaceRange& range) {
    const MappingPiece* piece = session_.heap().state().mappings().find(range.begin);
    if (piece == nullptr) return;
    answer_.details += fmt::format("  mapped {} by {} ({})\n", since(piece->time_us),
                                   thread_text(session_, piece->thread), moment_text(piece->event, piece->time_us));
    answer_.details += session_.stacks().frames(piece->stack, "    ", session_.style);
  }

  void in_module(const std::string& extent, const std::string& name) {
    const auto symbol = session_.symbols().at(address_, session_.time_us());
    if (symbol) {
      const std::uint64_t offset = address_ - symbol->address;
      const bool code = symbol->symbol->sort == SymbolSort::Function;
      answer_.kind = code ? AddressKind::Code : AddressKind::Global;
      answer_.verdict =
          fmt::format("{}{} {}, {} of {}", offset != 0 ? count_of(offset, "byte") + " into " : "",
                      code ? "the function" : "the variable", printable(symbol->name),
                      count_of(symbol->symbol->size, "byte"), printable(std::string(last_part(symbol->module->path))));
    } else {
      answer_.kind = AddressKind::Mapping;
      answer_.verdict = "in " + (name.empty() ? "a file of the program" : name) + ", at no symbol that is known";
    }
    const Module* module = session_.symbols().modules().find_at_time(address_, session_.time_us());
    answer_.details +=
        fmt::format("  in {}  {}{}\n", extent, name, module != nullptr ? "+" + hex(address_ - module->load_bias) : "");
  }

  void add_neighbours() {
    const std::vector<Block>& blocks = session_.heap().blocks_by_address();
    const auto after = std::partition_point(blocks.begin(), blocks.end(),
                                            [&](const Block& block) { return block.address <= address_; });
    const auto line = [&](const char* side, const Block& block, std::uint64_t gap) {
      answer_.details += fmt::format("  {:<7}{}  {}, {} away  {}\n", side, hex(block.address), block_words(block.size),
                                     bytes_text(gap), session_.stacks().site(session_.heap().owner_of(block).stack));
    };
    if (after != blocks.begin())
      line("before", *std::prev(after), address_ - std::prev(after)->address - std::prev(after)->size);
    if (after != blocks.end()) line("after", *after, after->address - address_);
  }

  void nothing(const AddressSpace& space) {
    answer_.kind = AddressKind::Nothing;
    answer_.verdict = space.from_kernel ? "in no mapping of the program" : "in nothing that the tape knows of";
    const auto after = std::partition_point(space.ranges.begin(), space.ranges.end(),
                                            [&](const SpaceRange& range) { return range.begin <= address_; });
    const auto line = [&](const char* side, const SpaceRange& range, std::uint64_t gap) {
      answer_.details +=
          fmt::format("  {:<7}{}-{}  {}, {} away\n", side, hex(range.begin), hex(range.end),
                      range.name != 0 ? printable(space.names[range.name]) : "anonymous", bytes_text(gap));
    };
    if (after != space.ranges.begin()) line("below", *std::prev(after), address_ - std::prev(after)->end);
    if (after != space.ranges.end()) line("above", *after, after->begin - address_);
  }

  void set(AddressKind kind, const Tenant& life, std::uint64_t offset) {
    answer_.kind = kind;
    answer_.block = life;
    answer_.offset = offset;
  }

  Explanation finish() {
    if (past_.stopped) answer_.details += "  (stopped: what was there before is not complete)\n";
    return std::move(answer_);
  }

  Session& session_;
  std::uint64_t address_;
  History past_;
  Explanation answer_;
};

Result<> explain(Session& session, Words& words, Printer& out) {
  const bool json = words.flag("--json");
  const auto word = words.next();
  if (!word) return Error{ErrorCode::Usage, "explain needs an address or a symbol: explain 0x55d0c4a2e2a0"};
  if (const Result<> done = words.finish(); !done) return done.error();
  const Result<std::uint64_t> address = session.address(*word);
  if (!address) return address.error();
  const Explanation answer = explain_address(session, address.value());
  if (!json) {
    out.print(session.style.bold(hex(address.value()) + " is " + answer.verdict) + "\n" + answer.details);
    return Unit{};
  }
  JsonWriter writer;
  writer.begin_object().field("address", std::string_view(hex(address.value()))).field("event", session.event());
  writer.field("kind", address_kind_name(answer.kind)).field("verdict", std::string_view(answer.verdict));
  if (answer.block) {
    writer.field("offset", answer.offset).key("block");
    write_life_json(writer, session.stacks(), *answer.block);
  }
  out.print(writer.end_object().text() + "\n");
  return Unit{};
}

} // namespace

const char* address_kind_name(AddressKind kind) {
  switch (kind) {
  case AddressKind::Null: return "null";
  case AddressKind::Poison: return "poison";
  case AddressKind::Text: return "text";
  case AddressKind::NotCanonical: return "not canonical";
  case AddressKind::LiveBlock: return "live block";
  case AddressKind::FreedBlock: return "freed block";
  case AddressKind::PastEnd: return "past the end";
  case AddressKind::BeforeStart: return "before the start";
  case AddressKind::Stack: return "stack";
  case AddressKind::Global: return "global";
  case AddressKind::Code: return "code";
  case AddressKind::FreeMemory: return "free memory";
  case AddressKind::Mapping: return "mapping";
  case AddressKind::Nothing: return "nothing";
  }
  return "?";
}

Explanation explain_address(Session& session, std::uint64_t address) { return Explainer(session, address).run(); }

const Command kExplainCommand{.name = "explain",
                              .arguments = "ADDR",
                              .summary = "what an address is: block, freed block, stack, global, nothing",
                              .help =
                                  "For an address out of a crash. Says whether it lies in a live block, in a freed\n"
                                  "one (by whom, how long ago, who has reused it), just behind or in front of one,\n"
                                  "on a thread's stack, in a variable, in code, in a mapping; whether it is null\n"
                                  "with an offset, a pattern that marks bad memory, or text.\n"
                                  "--json   as JSON\n",
                              .example = "explain 0x55d0c4a2e2b0",
                              .group = CommandGroup::Memory,
                              .takes = Takes::Address,
                              .run = explain,
                              .alias = "x"};

} // namespace heaptape
