// The address space at the cursor, range by range.
#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "analysis/space/arenas.h"
#include "base/number_text.h"
#include "report/figures/tree_text.h"
#include "shell/all_commands.h"
#include "shell/space_text.h"

namespace heaptape {
namespace {

struct View {
  const AddressSpace& space;
  std::vector<Cost> live;            // beside space.ranges
  std::vector<std::size_t> chosen{}; // numbers of ranges to show
};

bool is_recorders(const AddressSpace& space, const SpaceRange& range) {
  return range.kind == RangeKind::Special && is_recorder_memory(space.names[range.name]);
}

// Where the list comes from and how old it is.
std::string origin_lines(const Session& session, const AddressSpace& space) {
  return folded_lines(session.style.dim(source_line(session, space) + permissions_line(space)), session.style.width);
}

// What a mapping is called in the list.
std::string what_text(const Session& session, const AddressSpace& space, const SpaceRange& range) {
  const std::string name = printable(space.names[range.name]);
  switch (range.kind) {
  case RangeKind::MainHeap: return "main heap";
  case RangeKind::ThreadArena: return "arena, " + bytes_text(range.committed) + " open";
  case RangeKind::MainStack: return "main stack";
  case RangeKind::ThreadStack: return "stack of " + thread_label(session.tape().threads(), range.thread);
  case RangeKind::Anonymous: return !name.empty() ? name : range.committed == 0 ? "reserved" : "anonymous";
  case RangeKind::Special: return is_recorders(space, range) ? "heaptape's own" : name;
  default: return !name.empty() ? name : std::string(kind_text(range.kind));
  }
}

// Of a path that is too long the end says more than the beginning.
std::string fitted(const std::string& text, std::size_t columns, const TextStyle& style) {
  const std::size_t taken = columns_of(text);
  if (taken <= columns || columns < 4) return text;
  const std::string_view dots = style.utf8 ? "…" : "...";
  if (!text.starts_with('/')) return shortened(text, columns);
  std::size_t at = text.size(), kept = 0;
  const std::size_t room = columns - columns_of(dots);
  while (at > 0 && kept < room) {
    --at;
    if ((static_cast<unsigned char>(text[at]) & 0xc0) != 0x80) ++kept;
  }
  return std::string(dots) + text.substr(at);
}

// "event 12 at 0.5 s, load_table (table.c:12) <- main": who mapped it; empty: not known.
std::string maker_text(Session& session, const SpaceRange& range, std::size_t most_frames) {
  if (range.event == 0) return {};
  const MappingPiece* piece = session.heap().state().mappings().find(range.begin);
  if (piece == nullptr) return {};
  std::string text = "event " + with_separators(piece->event) + " at " + seconds_text(piece->time_us) + " s";
  std::string stack;
  std::size_t frames = 0;
  for (const FrameId frame : session.names().frames_of(piece->stack)) {
    if (frames++ == most_frames) break;
    const std::string place = frame_location(session.names(), frame);
    stack += stack.empty() ? ", " : " <- ";
    stack += printable(session.names().function(frame));
    if (!place.empty() && frames == 1) stack += " (" + place + ")";
  }
  return text + stack;
}

std::string line_of(Session& session, const View& view, std::size_t number) {
  const SpaceRange& range = view.space.ranges[number];
  const TextStyle& style = session.style;
  const Cost& live = view.live[number];
  const std::string start = fmt::format("{} {} {:>9} {:>9}  ", range_text(range.begin, range.end),
                                        std::string_view(range.permissions.data(), 4), bytes_text(range.bytes()),
                                        live.blocks == 0 ? "" : bytes_text(live.bytes));
  const std::size_t room =
      style.width == 0 ? ~std::size_t{0} : style.width - std::min<std::size_t>(style.width, start.size());
  std::string text = start + fitted(what_text(session, view.space, range), room, style) + "\n";
  if (const std::string maker = maker_text(session, range, 3); !maker.empty()) {
    const std::size_t columns = style.width > 4 ? style.width - 4 : ~std::size_t{0};
    text += style.dim("    " + shortened(maker, columns)) + "\n";
  }
  return text;
}

void print_one(Session& session, const View& view, std::size_t number, std::uint64_t address, Printer& out) {
  const SpaceRange& range = view.space.ranges[number];
  const Cost& live = view.live[number];
  std::string text =
      fmt::format("{:#x} is in {}\n", address, session.style.bold(what_text(session, view.space, range)));
  const auto line = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<11}{}\n", what, value);
  };
  line("range", fmt::format("{:#x} - {:#x} {}, {} into it", range.begin, range.end,
                            std::string_view(range.permissions.data(), 4), bytes_text(address - range.begin)));
  line("kind", std::string(kind_text(range.kind)));
  line("name", printable(view.space.names[range.name]));
  line("size", exact_bytes_text(range.bytes()));
  line("committed", range.committed == range.bytes() ? "all of it" : exact_bytes_text(range.committed));
  line("live", live.blocks == 0 ? "no blocks" : bytes_text(live.bytes) + " in " + count_of(live.blocks, "block"));
  line("mapped by", maker_text(session, range, 8));
  out.print(text + origin_lines(session, view.space));
}

void print_list(Session& session, const View& view, Printer& out) {
  std::string text =
      session.style.dim(fmt::format("{:<25} {:<4} {:>9} {:>9}  {}", "range", "", "size", "live", "what")) + "\n";
  std::uint64_t bytes = 0, committed = 0, recorders = 0;
  Cost live;
  for (const std::size_t number : view.chosen) {
    if (session.should_stop()) return;
    text += line_of(session, view, number);
    const SpaceRange& range = view.space.ranges[number];
    if (is_recorders(view.space, range)) {
      recorders += range.bytes();
    } else {
      bytes += range.bytes();
      committed += range.committed;
    }
    live += view.live[number];
    if (text.size() < 16'384) continue;
    if (!out.print(text)) return;
    text.clear();
  }
  text += fmt::format("\n{}: {}, {} of it accessible, {} live in {}\n", count_of(view.chosen.size(), "mapping"),
                      bytes_text(bytes), bytes_text(committed), bytes_text(live.bytes), count_of(live.blocks, "block"));
  if (recorders != 0) text += bytes_text(recorders) + " of address space more are heaptape's own.\n";
  out.print(text + origin_lines(session, view.space));
}

void write_json(JsonWriter& json, Session& session, const View& view) {
  json.begin_object().field("event", session.event()).field("time_us", session.time_us());
  write_source_json(json, view.space);
  json.key("mappings").begin_array();
  for (const std::size_t number : view.chosen) {
    const SpaceRange& range = view.space.ranges[number];
    json.begin_object().field("begin", std::string_view(fmt::format("{:#x}", range.begin)));
    json.field("end", std::string_view(fmt::format("{:#x}", range.end))).field("bytes", range.bytes());
    json.field("committed_bytes", range.committed).field("live_bytes", view.live[number].bytes);
    json.field("live_blocks", view.live[number].blocks).field("kind", kind_word(range.kind));
    json.field("permissions", std::string_view(range.permissions.data(), 4));
    if (range.name != 0) json.field("name", std::string_view(view.space.names[range.name]));
    if (range.thread.value != 0) json.field("thread", range.thread.value);
    if (range.event != 0) {
      json.field("event", range.event);
      if (const MappingPiece* piece = session.heap().state().mappings().find(range.begin); piece != nullptr)
        json.field("stack_id", piece->stack.value);
    }
    json.end_object();
  }
  json.end_array().end_object();
}

// By kind ("stack", "arena"), or by a part of the name if the word is none of a kind.
void choose_by_word(View& view, std::string_view word) {
  const auto is_kind = [&](RangeKind kind) {
    return kind_text(kind).find(word) != std::string_view::npos || kind_word(kind) == word;
  };
  bool any_kind = false;
  for (std::size_t kind = 0; kind < kRangeKinds; ++kind) any_kind |= is_kind(static_cast<RangeKind>(kind));
  for (std::size_t i = 0; i < view.space.ranges.size(); ++i) {
    const SpaceRange& range = view.space.ranges[i];
    if (any_kind ? is_kind(range.kind) : view.space.names[range.name].find(word) != std::string::npos)
      view.chosen.push_back(i);
  }
}

Result<> mappings(Session& session, Call& call, Printer& out) {
  const bool as_json = call.flag("--json");
  const std::optional<std::string> word = call.next();
  if (const Result<> done = call.finish(); !done) return done.error();
  const HeapState& state = session.heap().state();
  View view{.space = session.space(), .live = {}};
  view.live = live_by_range(state, view.space);
  if (!word) {
    for (std::size_t i = 0; i < view.space.ranges.size(); ++i) view.chosen.push_back(i);
  } else {
    choose_by_word(view, *word);
    const Result<std::uint64_t> found = view.chosen.empty() ? session.address(*word) : Error{ErrorCode::NotFound, ""};
    if (found) {
      const std::uint64_t address = found.value();
      const SpaceRange* range = view.space.find(address);
      if (range == nullptr) return Error{ErrorCode::NotFound, "nothing is mapped at " + fmt::format("{:#x}", address)};
      view.chosen.push_back(static_cast<std::size_t>(range - view.space.ranges.data()));
      if (!as_json) {
        print_one(session, view, view.chosen.front(), address, out);
        return Unit{};
      }
    }
    if (view.chosen.empty())
      return Error{ErrorCode::NotFound,
                   "no mapping has '" + *word + "' for its kind or in its name; 'mappings' alone lists them all"};
  }
  if (as_json) {
    JsonWriter json;
    write_json(json, session, view);
    out.print(json.text() + "\n");
  } else {
    print_list(session, view, out);
  }
  return Unit{};
}

} // namespace

const Command kMappingsCommand{
    .name = "mappings",
    .arguments = "[ADDR|WORD]",
    .summary = "the address space: what is mapped where, how much of it is live",
    .help = "Every mapping with its permissions, its size, what is live in it, and what it\n"
            "is: a heap, an arena, a thread's stack, a module, a file, anonymous memory.\n"
            "Below a mapping that the program made itself stands the call that made it.\n"
            "With an address, the mapping that holds it, in full. With a word, those of\n"
            "that kind (heap, arena, anonymous, file, module, stack, special) or with the\n"
            "word in their name.\n",
    .example = "mappings stack",
    .group = CommandGroup::Memory,
    .takes = Takes::Address,
    .run = mappings,
    .options = kJsonOption,
};

} // namespace heaptape
