// The snapshots of the tape, with and without memory.
#include <vector>

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/contents/snapshot_list.h"
#include "report/text/json_writer.h"
#include "report/text/time_text.h"
#include "shell/all_commands.h"

namespace heaptape {
namespace {

std::vector<ListedSnapshot> rows_of(Session& session) {
  std::vector<ListedSnapshot> rows = list_snapshots(session.tape(), session.view().marks());
  add_pages(session.tape(), rows);
  std::vector<Damage> damage;
  add_live_bytes(session.tape(), rows, session.stopper(), damage);
  session.note(damage);
  return rows;
}

void write_json(JsonWriter& json, const std::vector<ListedSnapshot>& rows) {
  json.begin_object().key("snapshots").begin_array();
  for (const ListedSnapshot& row : rows) {
    json.begin_object().field("name", std::string_view(row.name)).field("event", row.event);
    json.field("time_us", row.time_us).field("live_bytes", row.live_bytes).field("contents", row.memory != nullptr);
    if (row.number != 0) json.field("number", row.number);
    if (row.memory != nullptr) {
      json.field("method", snapshot_method_name(row.memory->method));
      json.field("pause_us", row.memory->pause_us).field("duration_us", row.memory->duration_us);
      json.field("pages", row.pages).field("new_pages", row.memory->new_pages).field("tape_bytes", row.tape_bytes);
      json.field("threads", row.memory->threads.size());
    }
    json.end_object();
  }
  json.end_array().end_object();
}

Result<> snapshots(Session& session, Call& call, Printer& out) {
  const bool as_json = call.flag("--json");
  if (const Result<> done = call.finish(); !done) return done.error();
  const std::vector<ListedSnapshot> rows = rows_of(session);
  if (as_json) {
    JsonWriter json;
    write_json(json, rows);
    out.print(json.text() + "\n");
    return Unit{};
  }
  if (rows.empty()) {
    out.print("The tape has no snapshots. 'heaptape record --snapshot WHEN' takes them by itself,\n"
              "'heaptape snapshot -p PID --contents' while the program runs.\n");
    return Unit{};
  }
  std::string text =
      session.style.dim(fmt::format("{:>3} {:>12} {:>12} {:>10} {:>8} {:>10} {:<5} {:>9}  {}", "#", "event", "time",
                                    "live", "pages", "on tape", "how", "pause", "name")) +
      "\n";
  for (const ListedSnapshot& row : rows) {
    const MemorySnapshot* const memory = row.memory;
    const auto known = [&](std::string value) { return memory != nullptr ? std::move(value) : std::string("-"); };
    text += fmt::format("{:>3} {:>12} {:>10} s {:>10} {:>8} {:>10} {:<5} {:>9}  {}\n",
                        row.number != 0 ? std::to_string(row.number) : "-", with_separators(row.event),
                        seconds_text(row.time_us), bytes_text(row.live_bytes), known(with_separators(row.pages)),
                        known(bytes_text(row.tape_bytes)),
                        memory != nullptr ? snapshot_method_name(memory->method) : std::string_view("-"),
                        known(memory != nullptr ? duration_text(memory->pause_us) : ""),
                        row.name.empty() ? "(no name)" : printable(row.name));
  }
  out.print(text);
  return Unit{};
}

} // namespace

const Command kSnapshotsCommand{
    .name = "snapshots",
    .arguments = "",
    .summary = "the snapshots of the tape, and which of them hold the program's memory",
    .help = "For each: the event before it, its time, what was live, how many pages of\n"
            "memory it knows, what those that were new take on the tape, how they were\n"
            "copied (live, twin, stop), and for how long the program stood still.\n"
            "A dash: the snapshot is a named moment and holds no memory. The number or the\n"
            "name says which is meant: goto snapshot:2, TAPE@2 on the command line.\n",
    .example = "snapshots",
    .group = CommandGroup::Memory,
    .run = snapshots,
    .options = kJsonOption,
};

} // namespace heaptape
