// How well the allocator uses its memory at the cursor.
#include "analysis/space/arenas.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/figures/tree_text.h"
#include "shell/all_commands.h"
#include "shell/space_text.h"

namespace heaptape {
namespace {

constexpr std::size_t kThreadsShown = 6; // of each arena
constexpr std::size_t kColumns = 8;
using Row = std::array<std::string, kColumns>;

// Names of arenas, which count the thread arenas from 1.
class ArenaNames {
public:
  explicit ArenaNames(Allocator allocator) : allocator_(allocator) {}
  std::string next(const Arena& arena) {
    switch (arena.kind) {
    case ArenaKind::Main: return "main heap";
    case ArenaKind::Thread: return "arena " + std::to_string(++arenas_);
    case ArenaKind::LargeBlocks: return "large blocks";
    case ArenaKind::Regions: return std::string(allocator_name(allocator_));
    case ArenaKind::Elsewhere: return "elsewhere";
    }
    return {};
  }

private:
  Allocator allocator_;
  unsigned arenas_ = 0;
};

std::string_view kind_word(ArenaKind kind) {
  switch (kind) {
  case ArenaKind::Main: return "main_heap";
  case ArenaKind::Thread: return "thread_arena";
  case ArenaKind::LargeBlocks: return "large_blocks";
  case ArenaKind::Regions: return "regions";
  case ArenaKind::Elsewhere: return "elsewhere";
  }
  return "";
}

// Ranges that are the arena's own, so that what lies between blocks is its own too.
bool has_span(const Arena& arena) {
  return arena.kind == ArenaKind::Main || arena.kind == ArenaKind::Thread || arena.kind == ArenaKind::Regions;
}

Row row_of(const std::string& name, const Arena& arena) {
  const bool known = arena.kind != ArenaKind::Elsewhere;
  return {name,
          bytes_text(arena.live.bytes),
          with_separators(arena.live.blocks),
          known ? bytes_text(arena.committed) : "-",
          known ? bytes_text(arena.reserved) : "-",
          has_span(arena) && arena.span != 0 ? fmt::format("{:.1f} %", 100 * std::max(arena.fragmentation(), 0.0))
                                             : "-",
          with_separators(arena.pages),
          has_span(arena) ? with_separators(arena.little_pages) : "-"};
}

std::string threads_text(const Session& session, const Arena& arena) {
  std::string text;
  std::size_t shown = 0;
  for (const ArenaThread& thread : arena.threads) {
    if (++shown > kThreadsShown) {
      text += fmt::format("    and {} more\n", count_of(arena.threads.size() - kThreadsShown, "thread"));
      break;
    }
    const bool guest = has_span(arena) && !thread.home;
    text += fmt::format("    {}: {} in {}{}\n", thread_label(session.tape().threads(), thread.thread),
                        bytes_text(thread.live.bytes), count_of(thread.live.blocks, "block"),
                        guest ? ", uses another arena" : "");
  }
  return text;
}

std::string details(const Session& session, const std::string& name, const Arena& arena, const AddressSpace& space) {
  std::string text = session.style.bold(name);
  if (has_span(arena)) {
    constexpr std::size_t kRangesShown = 4;
    for (std::size_t i = 0; i < std::min(arena.ranges.size(), kRangesShown); ++i) {
      const SpaceRange& range = space.ranges[arena.ranges[i]];
      text += (i == 0 ? "  " : ", ") + range_text(range.begin, range.end);
      if (i % 2 == 1 && i + 1 < std::min(arena.ranges.size(), kRangesShown)) text += "\n   ";
    }
    if (arena.ranges.size() > kRangesShown) text += fmt::format(" and {} more", arena.ranges.size() - kRangesShown);
  }
  text += '\n';
  if (arena.live.blocks == 0) return text + "    nothing in it is live\n";
  if (has_span(arena)) {
    text += fmt::format("    {} from first to last live byte", bytes_text(arena.span));
    if (arena.largest_gap != 0)
      text += fmt::format("; largest gap {} at {:#x}", bytes_text(arena.largest_gap), arena.gap_begin);
    text += '\n';
  }
  return text + threads_text(session, arena);
}

std::string table(const TextStyle& style, const std::vector<Row>& rows) {
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  std::string text;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    std::string line = padded_left(rows[at][0], widths[0]);
    for (std::size_t i = 1; i < kColumns; ++i) line += "  " + padded_right(rows[at][i], widths[i]);
    text += (at == 0 ? style.dim(line) : line) + "\n";
  }
  return text;
}

Arena sum_of_arenas(const std::vector<Arena>& arenas) {
  Arena sum{.kind = ArenaKind::LargeBlocks};
  for (const Arena& arena : arenas) {
    sum.live += arena.live;
    sum.committed += arena.committed;
    sum.reserved += arena.reserved;
    sum.pages += arena.pages;
  }
  return sum;
}

void write_json(JsonWriter& json, const Session& session, const std::vector<Arena>& arenas, const AddressSpace& space,
                Allocator allocator) {
  json.begin_object().field("event", session.event()).field("time_us", session.time_us());
  write_source_json(json, space);
  json.field("allocator", allocator_name(allocator)).key("arenas").begin_array();
  ArenaNames names(allocator);
  for (const Arena& arena : arenas) {
    json.begin_object().field("name", std::string_view(names.next(arena))).field("kind", kind_word(arena.kind));
    json.field("live_bytes", arena.live.bytes).field("live_blocks", arena.live.blocks);
    json.field("committed_bytes", arena.committed).field("reserved_bytes", arena.reserved);
    json.field("span_bytes", arena.span).field("fragmentation", arena.fragmentation(), 4);
    json.field("largest_gap_bytes", arena.largest_gap).field("pages", arena.pages);
    json.field("little_pages", arena.little_pages).key("ranges").begin_array();
    for (const std::size_t number : arena.ranges) {
      const SpaceRange& range = space.ranges[number];
      json.begin_object().field("begin", std::string_view(fmt::format("{:#x}", range.begin)));
      json.field("end", std::string_view(fmt::format("{:#x}", range.end))).end_object();
    }
    json.end_array().key("threads").begin_array();
    for (const ArenaThread& thread : arena.threads) {
      json.begin_object().field("thread", thread.thread.value).field("live_bytes", thread.live.bytes);
      json.field("live_blocks", thread.live.blocks).field("last_event", thread.last).field("home", thread.home);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

Result<> arenas(Session& session, Call& call, Printer& out) {
  const bool as_json = call.flag("--json");
  if (const Result<> done = call.finish(); !done) return done.error();
  const HeapState& state = session.heap().state();
  const AddressSpace& space = session.space();
  const std::vector<Arena> list = arenas_at(session.tape(), state, space);
  const Allocator allocator = allocator_of(session.tape().modules());
  if (as_json) {
    JsonWriter json;
    write_json(json, session, list, space, allocator);
    out.print(json.text() + "\n");
    return Unit{};
  }
  if (list.empty()) {
    out.print("No block is live, and no heap is known at this moment.\n");
    return Unit{};
  }
  std::vector<Row> rows{{"arena", "live", "blocks", "committed", "reserved", "unused", "pages", "little"}};
  std::string more;
  ArenaNames names(allocator);
  for (const Arena& arena : list) {
    const std::string name = names.next(arena);
    rows.push_back(row_of(name, arena));
    more += details(session, name, arena, space);
  }
  if (list.size() > 1) rows.push_back(row_of("total", sum_of_arenas(list)));
  out.print(table(session.style, rows) + "\n" + more + "\n" +
            session.style.dim(fmt::format("unused: of what lies between the first and the last live byte\n"
                                          "little: pages with fewer than {} live bytes\n{}",
                                          kLittle, source_line(session, space))));
  return Unit{};
}

} // namespace

const Command kArenasCommand{
    .name = "arenas",
    .arguments = "",
    .summary = "how well the allocator uses its memory: arenas, fragmentation, threads",
    .help = "For the main heap, every other arena of glibc, the blocks that have a mapping\n"
            "of their own, and the memory of another allocator: what is live, what can be\n"
            "accessed (committed), what is set aside (reserved), which part of the span\n"
            "from the first to the last live byte is unused, how many pages hold a live\n"
            "byte and how many of those hold fewer than 64; the largest gap; and\n"
            "the threads that made the live blocks. A thread uses the arena in which its\n"
            "latest block lies.\n",
    .example = "arenas",
    .group = CommandGroup::Memory,
    .takes = Takes::Nothing,
    .run = arenas,
    .options = kJsonOption,
};

} // namespace heaptape
