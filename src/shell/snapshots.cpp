// The snapshots of the tape, with and without memory.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "analysis/moment/totals_at.h"
#include "base/number_text.h"
#include "report/text/json_writer.h"
#include "report/text/time_text.h"
#include "shell/all_commands.h"

namespace heaptape {
namespace {

struct Row {
  std::string name;
  std::uint64_t event = 0, time_us = 0;
  const MemorySnapshot* memory = nullptr; // null: a named moment only
  std::uint64_t pages = 0;                // that it knows the contents of
  std::uint64_t tape_bytes = 0;           // of pages that were written with it
  std::uint64_t live_bytes = 0;
};

// The last page that it refers to has the highest number of all that were written up to it.
std::uint64_t highest_page(const MemorySnapshot& snapshot) {
  std::uint64_t highest = 0;
  for (const PageRun& run : snapshot.runs) {
    if (run.state == PageState::Stored) highest = std::max(highest, run.value + run.pages() - 1);
  }
  return highest;
}

void add_pages(const TapeReader& tape, std::vector<Row>& rows) {
  const Snapshots& snapshots = tape.snapshots();
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    const auto row = std::ranges::find_if(rows, [&](const Row& each) { return each.memory == &snapshots[i]; });
    for (const PageRun& run : snapshots.pages(i)) {
      if (run.state == PageState::Stored || run.state == PageState::Fill) row->pages += run.pages();
    }
    const std::uint64_t last = std::max(before, highest_page(snapshots[i]));
    for (const PagesChunk& chunk : tape.pages_chunks()) {
      if (chunk.first > before && chunk.first <= last) row->tape_bytes += chunk.bytes;
    }
    before = last;
  }
}

// Of a moment without memory the tape's events have to tell.
void add_live(Session& session, std::vector<Row>& rows) {
  std::vector<Row*> unknown;
  std::vector<std::uint64_t> events;
  for (Row& row : rows) {
    if (row.memory != nullptr && row.memory->live) {
      row.live_bytes = row.memory->live->bytes;
    } else {
      unknown.push_back(&row);
      events.push_back(row.event);
    }
  }
  if (unknown.empty()) return;
  std::vector<Damage> damage;
  const std::vector<HeapTotals> totals = totals_at(session.tape(), events, session.stopper(), damage);
  session.note(damage);
  for (std::size_t i = 0; i < totals.size(); ++i) unknown[i]->live_bytes = totals[i].live_bytes;
}

std::vector<Row> rows_of(Session& session) {
  std::vector<Row> rows;
  for (const MemorySnapshot& snapshot : session.tape().snapshots())
    rows.push_back({snapshot.name, snapshot.event, snapshot.time_us, &snapshot});
  for (const Mark& mark : session.view().marks()) {
    const bool has_memory = std::ranges::any_of(rows, [&](const Row& row) {
      return row.memory != nullptr && row.event == mark.event && row.time_us == mark.time_us && row.name == mark.name;
    });
    if (mark.kind == MarkKind::Snapshot && !has_memory) rows.push_back({mark.name, mark.event, mark.time_us});
  }
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return std::pair(row.event, row.time_us); });
  add_pages(session.tape(), rows);
  add_live(session, rows);
  return rows;
}

void write_json(JsonWriter& json, const std::vector<Row>& rows) {
  json.begin_object().key("snapshots").begin_array();
  for (const Row& row : rows) {
    json.begin_object().field("name", std::string_view(row.name)).field("event", row.event);
    json.field("time_us", row.time_us).field("live_bytes", row.live_bytes).field("contents", row.memory != nullptr);
    if (row.memory != nullptr) {
      json.field("number", row.memory->number).field("method", snapshot_method_name(row.memory->method));
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
  const std::vector<Row> rows = rows_of(session);
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
  std::size_t number = 0;
  for (const Row& row : rows) {
    const MemorySnapshot* const memory = row.memory;
    const auto known = [&](std::string value) { return memory != nullptr ? std::move(value) : std::string("-"); };
    text += fmt::format("{:>3} {:>12} {:>10} s {:>10} {:>8} {:>10} {:<5} {:>9}  {}\n", ++number,
                        with_separators(row.event), seconds_text(row.time_us), bytes_text(row.live_bytes),
                        known(with_separators(row.pages)), known(bytes_text(row.tape_bytes)),
                        memory != nullptr ? snapshot_method_name(memory->method) : std::string_view("-"),
                        known(memory != nullptr ? duration_text(memory->pause_us) : ""), printable(row.name));
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
            "A dash: the snapshot is a named moment and holds no memory.\n",
    .example = "snapshots",
    .group = CommandGroup::Memory,
    .run = snapshots,
    .options = kJsonOption,
};

} // namespace heaptape
