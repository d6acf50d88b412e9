#include "shell/explain.h"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/moment/event_search.h"
#include "analysis/space/address_space.h"
#include "base/number_text.h"
#include "base/path_text.h"
#include "shell/describe.h"
#include "shell/pool_blocks.h"

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
    past_ = look(address_, address_ + 1);
    if (in_live_block() || behind_live_block(true) || in_freed_block()) return finish();
    if (behind_freed_block() || behind_live_block(false) || before_live_block()) return finish();
    by_mapping();
    return finish();
  }

private:
  History look(std::uint64_t begin, std::uint64_t end) {
    History found =
        history_of(session_.tape(),
                   {.range = {begin, end}, .until = session_.event(), .most = 2000, .should_stop = session_.stopper()});
    session_.note(found.damage);
    return found;
  }

  // A live block as history tells it; the blocks of the heap are those that count.
  Tenant tenant_of(const Block& block) const {
    Tenant tenant{.address = block.address, .size = block.size, .event = block.event, .time_us = block.time_us};
    tenant.owner = session_.heap().owner_of(block);
    if (const auto event = event_numbered(session_.tape(), block.event)) {
      tenant.kind = event->kind;
      if (is_reallocation(event->kind)) tenant.from = event->old_address;
    }
    return tenant;
  }
  // The live blocks beside the address; nullopt: none.
  std::optional<Block> live_before() const {
    const std::vector<Block>& blocks = session_.heap().blocks_by_address();
    const auto after = std::partition_point(blocks.begin(), blocks.end(),
                                            [&](const Block& block) { return block.address <= address_; });
    return after != blocks.begin() ? std::optional(*std::prev(after)) : std::nullopt;
  }
  std::optional<Block> live_after() const {
    const std::vector<Block>& blocks = session_.heap().blocks_by_address();
    const auto after = std::partition_point(blocks.begin(), blocks.end(),
                                            [&](const Block& block) { return block.address <= address_; });
    return after != blocks.end() ? std::optional(*after) : std::nullopt;
  }

  // The latest that satisfies.
  template <class Predicate>
  const Tenant* latest(Predicate predicate) const {
    const auto found = std::find_if(past_.lives.rbegin(), past_.lives.rend(), predicate);
    return found != past_.lives.rend() ? &*found : nullptr;
  }
  bool covers(const Tenant& life) const { return MemoryRange{address_, address_ + 1}.meets(life.address, life.size); }

  std::string place_in(const Tenant& life) const { return offset_words(address_ - life.address); }
  static const char* end_word(const Tenant& life) {
    if (life.ended != LifeEnd::Reallocated) return "freed";
    return life.to == life.address ? "cut off when realloc made it smaller where it was" : "moved away by realloc";
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
        life.ended == LifeEnd::Reallocated
            ? (life.to == life.address ? "realloc in place" : "realloc moved it to " + hex(life.to))
            : kind_name(life.end_kind),
        moment_text(life.end_event, life.end_us), duration_text(life.end_us - life.time_us));
    answer_.details += session_.stacks().frames(life.ender.stack, "    ", session_.style);
  }
  // What somebody with an old pointer wants to know.
  void add_former(const Tenant& now) {
    const Tenant* before = latest([&](const Tenant& life) { return life.event < now.event && covers(life); });
    if (before == nullptr) return;
    answer_.verdict += fmt::format("; until {} {} {} of {}", since(before->end_us), place_in(*before),
                                   a_block(before->size), session_.stacks().site(before->owner.stack));
    answer_.details += fmt::format("  before that, {} {}\n", place_in(*before), a_block(before->size));
    add_maker(*before);
    add_ender(*before);
  }

  // Somebody freed it once more, or freed what was none.
  void add_bad_releases() {
    for (const Event& event : past_.bad_releases) {
      const std::uint64_t address = is_reallocation(event.kind) ? event.old_address : event.address;
      if (answer_.block && address - answer_.block->address < std::max<std::uint64_t>(answer_.block->size, 1))
        answer_.details += "  wrongly released: " + bad_release_text(session_, event);
    }
  }

  bool in_live_block() {
    const std::optional<Block> holder = session_.heap().find_around(address_);
    if (!holder) return false;
    const Tenant life = tenant_of(*holder);
    set(AddressKind::LiveBlock, life, address_ - life.address);
    answer_.verdict = fmt::format("{} a live {}", place_in(life), block_words(life.size));
    add_maker(life);
    add_former(life);
    return true;
  }

  // `owned`: in the rounding that malloc gave the block with its size.
  bool behind_live_block(bool owned) {
    const std::optional<Block> before = live_before();
    if (!before) return false;
    const std::uint64_t end = before->address + before->size;
    if (address_ < end || (owned ? address_ >= before->address + usable_bytes(before->size) : address_ - end >= kReach))
      return false;
    const Tenant life = tenant_of(*before);
    const std::uint64_t past = address_ - life.address - life.size;
    set(AddressKind::PastEnd, life, past);
    answer_.verdict = fmt::format("{} the end of a live {}",
                                  past == 0 ? "one past" : count_of(past, "byte") + " behind", block_words(life.size));
    add_maker(life);
    return true;
  }

  bool before_live_block() {
    const std::optional<Block> after = live_after();
    if (!after || after->address - address_ > 16) return false;
    const Tenant life = tenant_of(*after);
    set(AddressKind::BeforeStart, life, life.address - address_);
    answer_.verdict = fmt::format("{} in front of a live {}, where the allocator keeps its own notes",
                                  count_of(life.address - address_, "byte"), block_words(life.size));
    add_maker(life);
    return true;
  }

  // One past the end of a block that is gone, when nothing else is as near.
  bool behind_freed_block() {
    // Only now: it reads the whole tape once more.
    const History near = look(address_ > kReach ? address_ - kReach : 0, address_ + 1);
    past_.stopped |= near.stopped;
    const Tenant* nearest = nullptr;
    for (const Tenant& one : near.lives) {
      const std::uint64_t end = one.address + one.size;
      if (one.ended == LifeEnd::Live || address_ < end || address_ >= one.address + usable_bytes(one.size)) continue;
      if (nearest == nullptr || one.end_event > nearest->end_event) nearest = &one;
    }
    if (nearest == nullptr) return false;
    const std::uint64_t past = address_ - nearest->address - nearest->size;
    set(AddressKind::PastEnd, *nearest, past);
    answer_.verdict = fmt::format("{} the end of {} {} {}", past == 0 ? "one past" : count_of(past, "byte") + " behind",
                                  a_block(nearest->size), end_word(*nearest), since(nearest->end_us));
    add_ender(*nearest);
    add_maker(*nearest);
    return true;
  }

  bool in_freed_block() {
    const Tenant* life = nullptr;
    for (const Tenant& one : past_.lives) {
      if (one.ended == LifeEnd::Live || !covers(one)) continue;
      if (life == nullptr || one.end_event > life->end_event) life = &one;
    }
    if (life == nullptr) return false;
    set(AddressKind::FreedBlock, *life, address_ - life->address);
    const char* const how = end_word(*life);
    answer_.verdict = fmt::format("{} {} {} {}", place_in(*life), a_block(life->size), how, since(life->end_us));
    add_ender(*life);
    add_maker(*life);
    // Whether somebody writes there later is not in past_, which ends at the cursor.
    const History later = history_of(session_.tape(), {.range = {address_, address_ + 1},
                                                       .until = session_.last_event(),
                                                       .most = 1'000'000,
                                                       .should_stop = session_.stopper()});
    session_.note(later.damage);
    const auto mapping = std::find_if(later.mappings.begin(), later.mappings.end(),
                                      [&](const MappingLife& one) { return one.piece.event > life->end_event; });
    const auto next = std::find_if(later.lives.begin(), later.lives.end(),
                                   [&](const Tenant& one) { return one.event > life->end_event; });
    const bool is_mapped = mapping != later.mappings.end();
    const bool is_reused = next != later.lives.end();
    if (is_mapped && (!is_reused || mapping->piece.event < next->event)) {
      answer_.details += fmt::format("  mapped {} ({}) by\n    {}\n", since(mapping->piece.time_us),
                                     moment_text(mapping->piece.event, mapping->piece.time_us),
                                     session_.stacks().chain(mapping->piece.stack, 4));
      return true;
    }
    if (is_reused) {
      answer_.details += fmt::format("  reused {} ({}) as part of {} of\n    {}\n", since(next->time_us),
                                     moment_text(next->event, next->time_us), a_block(next->size),
                                     session_.stacks().chain(next->owner.stack, 4));
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
                      count_of(symbol->symbol->size, "byte"), printable(std::string(base_name(symbol->module->path))));
    } else {
      answer_.kind = AddressKind::Mapping;
      answer_.verdict = "in " + (name.empty() ? "a file of the program" : name) + ", at no symbol that is known";
    }
    const Module* module = session_.symbols().modules().find_at_time(address_, session_.time_us());
    answer_.details +=
        fmt::format("  in {}  {}{}\n", extent, name, module != nullptr ? "+" + hex(address_ - module->load_bias) : "");
  }

  void add_neighbours() {
    const auto line = [&](const char* side, const Block& block, std::uint64_t gap) {
      answer_.details += fmt::format("  {:<7}{}  {}, {} away  {}\n", side, hex(block.address), block_words(block.size),
                                     bytes_text(gap), session_.stacks().site(session_.heap().owner_of(block).stack));
    };
    if (const auto before = live_before())
      line("before", *before, address_ - std::min(address_, before->address + before->size));
    if (const auto after = live_after()) line("after", *after, after->address - address_);
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
    answer_.in_pools = pool_blocks_around(session_, address_);
    for (const PoolBlock& block : answer_.in_pools) answer_.details += pool_block_text(session_, block, address_);
    add_bad_releases();
    if (past_.stopped) answer_.details += "  (stopped: what was there before is not complete)\n";
    return std::move(answer_);
  }

  Session& session_;
  std::uint64_t address_;
  History past_; // that covered the address
  Explanation answer_;
};

} // namespace

Explanation explain_address(Session& session, std::uint64_t address) { return Explainer(session, address).run(); }

} // namespace heaptape
