// Commands about one address: who has it now, and who ever had it.
#include <algorithm>

#include <fmt/format.h>

#include "analysis/moment/address_facts.h"
#include "base/number_text.h"
#include "shell/all_commands.h"
#include "shell/describe.h"
#include "shell/odd_calls.h"
#include "shell/pool_blocks.h"

namespace heaptape {
namespace {

Result<std::uint64_t> address_in(Session& session, Call& call, const Command& command) {
  const auto word = call.next();
  if (!word)
    return Error{ErrorCode::Usage,
                 std::string(command.name) + " needs an address or a symbol: " + std::string(command.example)};
  return session.address(*word);
}

std::string neighbour_line(Session& session, const char* side, const std::optional<Block>& block, std::uint64_t gap) {
  if (!block) return fmt::format("  {:<8}no live block\n", side);
  return fmt::format("  {:<8}{}  {}, {} away  {}\n", side, hex(block->address), block_words(block->size),
                     bytes_text(gap), session.stacks().site(session.heap().owner_of(*block).stack));
}

Result<> owner(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  const Result<std::uint64_t> address = address_in(session, call, kOwnerCommand);
  if (!address) return address.error();
  if (const Result<> done = call.finish(); !done) return done.error();
  HeapCursor& heap = session.heap();
  const std::optional<Block> holder = heap.find_around(address.value());
  const std::uint64_t begin = holder ? holder->address : address.value();
  const std::uint64_t end = holder ? holder->address + holder->size : address.value();
  const std::optional<Block> before = heap.block_before(begin);
  const std::optional<Block> after = heap.block_after(begin);
  const std::vector<PoolBlock> in_pools = pool_blocks_around(session, address.value());
  // Blocks from before a fork are not part of the heap that the cursor has.
  AddressFacts facts;
  if (!holder && session.tape().inheritance()) {
    facts = find_address_facts(session.tape(), {.address = address.value(), .event = session.event()});
    session.note(facts.damage);
  }
  const Tenant* const inherited = facts.live_inherited();
  if (json) {
    JsonWriter writer;
    writer.begin_object().field("address", std::string_view(hex(address.value()))).field("event", session.event());
    for (const auto& [name, block] :
         {std::pair{"block", &holder}, std::pair{"before", &before}, std::pair{"after", &after}}) {
      writer.key(name);
      if (*block)
        write_block_json(writer, session, session.stacks(), **block);
      else
        writer.null();
    }
    if (holder) writer.field("offset", address.value() - holder->address);
    if (inherited != nullptr) {
      writer.field("offset", address.value() - inherited->address).key("inherited");
      write_life_json(writer, session.stacks(), *inherited);
    }
    if (!in_pools.empty()) write_pool_blocks_json(writer.key("pool_blocks"), session, in_pools);
    out.print(writer.end_object().text() + "\n");
    return Unit{};
  }
  std::string text;
  if (holder) {
    const Owner who = heap.owner_of(*holder);
    const std::uint64_t offset = address.value() - holder->address;
    text += fmt::format("{} is {} a live {} at {}\n", hex(address.value()), offset_words(offset),
                        block_words(holder->size), hex(holder->address));
    text += fmt::format("  made {} by {} ({})\n", ago_text(holder->time_us, session.time_us()),
                        thread_text(session, who.thread), moment_text(holder->event, holder->time_us));
    text += session.stacks().frames(who.stack, "    ", session.style);
  } else if (inherited != nullptr) {
    text += fmt::format("{} is {} a live {} at {}, inherited at the fork\n  {}\n", hex(address.value()),
                        offset_words(address.value() - inherited->address), block_words(inherited->size),
                        hex(inherited->address), inherited_words(session.tape(), *inherited));
    text += session.stacks().frames(inherited->owner.stack, "    ", session.style);
  } else {
    const std::string shown = hex(address.value());
    text += fmt::format("no live block holds {} here; {} says what was there, {} what it may be\n", shown,
                        session.how_to_ask("history", shown), session.how_to_ask("explain", shown));
  }
  for (const PoolBlock& block : in_pools) text += pool_block_text(session, block, address.value());
  text +=
      neighbour_line(session, "before", before, before ? begin - std::min(begin, before->address + before->size) : 0);
  text += neighbour_line(session, "after", after, after ? after->address - std::min(after->address, end) : 0);
  out.print(folded_lines(text, session.style.width));
  return Unit{};
}

std::string mapping_line(Session& session, const MappingLife& life) {
  const MappingPiece& piece = life.piece;
  std::string text = fmt::format("{}-{}  {} mapping of {}\n", hex(piece.begin), hex(piece.end),
                                 piece.anonymous ? "anonymous" : "file", bytes_text(piece.bytes()));
  text += fmt::format("  {:<10}event {:<12} {} s  {}\n{:12}{}\n", "mapped", with_separators(piece.event),
                      seconds_text(piece.time_us), thread_text(session, piece.thread), "",
                      session.stacks().chain(piece.stack, 4));
  if (life.closed_event != 0) {
    text += fmt::format("  {:<10}event {:<12} {} s\n", "unmapped", with_separators(life.closed_event),
                        seconds_text(life.closed_us));
  }
  return text;
}

// Lives that 'history' holds in memory, about 200 MB; nobody reads as many.
constexpr std::size_t kMostLives = 1'000'000;

Result<> history(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  const bool all = call.flag("--all");
  const Result<std::uint64_t> rows = call.count("--last", 20);
  if (!rows) return rows.error();
  const Result<std::uint64_t> begin = address_in(session, call, kHistoryCommand);
  if (!begin) return begin.error();
  std::uint64_t end = begin.value() + 1;
  if (const auto word = call.next()) {
    const Result<std::uint64_t> last = session.address(*word);
    if (!last) return last.error();
    if (last.value() < begin.value()) return Error{ErrorCode::Usage, "the second address is below the first"};
    end = last.value() + 1;
  }
  if (const Result<> done = call.finish(); !done) return done.error();
  if (end == 0) end = ~std::uint64_t{0};
  const History found =
      history_of(session.tape(), {.range = {begin.value(), end},
                                  .until = session.last_event(),
                                  .most = all || json ? kMostLives : std::min<std::size_t>(rows.value(), kMostLives),
                                  .should_stop = session.stopper()});
  session.note(found.damage);
  if (json) {
    JsonWriter writer;
    writer.begin_object().field("earlier", found.earlier).key("blocks").begin_array();
    for (const Tenant& life : found.lives) write_life_json(writer, session.stacks(), life);
    writer.end_array().key("mappings").begin_array();
    for (const MappingLife& life : found.mappings) {
      writer.begin_object()
          .field("begin", std::string_view(hex(life.piece.begin)))
          .field("end", std::string_view(hex(life.piece.end)));
      writer.field("event", life.piece.event)
          .field("time_us", life.piece.time_us)
          .field("anonymous", life.piece.anonymous);
      if (life.closed_event != 0) writer.field("closed_event", life.closed_event).field("closed_us", life.closed_us);
      writer.end_object();
    }
    writer.end_array().key("bad_releases").begin_array();
    for (const Event& event : found.bad_releases) writer.value(event.number);
    writer.end_array();
    write_odd_calls(writer.key("odd_calls"), session, odd_calls_at(session, {begin.value(), end}, true));
    out.print(writer.end_object().text() + "\n");
    return Unit{};
  }
  const std::vector<OddFinding> odd = odd_calls_at(session, {begin.value(), end}, false);
  if (found.lives.empty() && found.mappings.empty() && found.bad_releases.empty() && odd.empty()) {
    const bool one = end == begin.value() + 1;
    out.print(fmt::format("{}no block ever covered {}\n", found.stopped ? "stopped; so far " : "",
                          one ? hex(begin.value()) : "any of these addresses"));
    return Unit{};
  }
  for (const MappingLife& life : found.mappings) {
    if (!out.print(mapping_line(session, life))) return Unit{};
  }
  if (found.earlier != 0) {
    out.print(
        fmt::format("({} before these; --all shows them, --last N the last N)\n", count_of(found.earlier, "block")));
  }
  bool past = true;
  for (const Tenant& life : found.lives) {
    if (past && life.event > session.event()) {
      past = false;
      out.print(fmt::format("---- the cursor: {} ----\n", moment_text(session.event(), session.time_us())));
    }
    if (!out.print(folded_lines(life_text(session, session.stacks(), life, session.time_us()), session.style.width)))
      return Unit{};
  }
  for (const Event& event : found.bad_releases) out.print(bad_release_text(session, event));
  out.print(odd_calls_text(session, odd));
  if (found.stopped) out.print("stopped: there may be more\n");
  return Unit{};
}

constexpr CommandOption kHistoryOptions[] = {
    {"--last N", "show the latest N (default: 20)"},
    {"--all", "show all of them"},
    {"--json", "as JSON"},
};

} // namespace

const Command kOwnerCommand{.name = "owner",
                            .arguments = "ADDR",
                            .summary = "the live block that holds an address, and its neighbours",
                            .help = "ADDR may point anywhere into a block. An address is hexadecimal, a symbol, or\n"
                                    "symbol+offset.\n",
                            .example = "owner 0x55d0c4a2e2a0",
                            .group = CommandGroup::Memory,
                            .takes = Takes::Address,
                            .run = owner,
                            .alias = "o",
                            .options = kJsonOption};
const Command kHistoryCommand{.name = "history",
                              .arguments = "ADDR [ADDR2]",
                              .summary = "every block that ever covered an address",
                              .help =
                                  "Oldest first: who made it, who ended it, how long it lived; both sides of a\n"
                                  "realloc; mappings the program made itself. With ADDR2: every block that shares a\n"
                                  "byte with ADDR..ADDR2. A line shows where the cursor stands among them.\n",
                              .example = "history 0x55d0c4a2e2a0",
                              .group = CommandGroup::Memory,
                              .takes = Takes::Address,
                              .run = history,
                              .alias = "h",
                              .options = kHistoryOptions};

} // namespace heaptape
