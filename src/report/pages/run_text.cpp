#include "report/pages/run_text.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/number_text.h"
#include "base/path_text.h"
#include "base/signal_name.h"
#include "report/pages/tape_facts.h"
#include "report/text/json_writer.h"

namespace heaptape {

namespace {

constexpr std::size_t kDeepestIndent = 8;

std::string short_ending(const RunProcess& process) {
  if (!process.finished) return process.running ? "running" : "no end";
  switch (process.summary.ending) {
  case Ending::Exited: return "exit " + std::to_string(process.summary.ending_detail);
  case Ending::Killed: return signal_name(process.summary.ending_detail);
  case Ending::Replaced: return "exec";
  case Ending::CollectorStopped: return "stopped";
  case Ending::Unknown: break;
  }
  return "unknown";
}

struct Row {
  std::size_t process, depth;
};

// In the order of the tree, parents before their children. Every process once, whatever the tapes say about each other: a parent always
// began before its child.
std::vector<Row> rows_of(const Run& run) {
  std::vector<std::vector<std::size_t>> children(run.programs.size());
  std::vector<std::size_t> roots;
  for (std::size_t i = 0; i < run.programs.size(); ++i) {
    const RunProcess& process = run.programs[i];
    if (process.became) continue;
    (process.parent && *process.parent != i ? children[*process.parent] : roots).push_back(i);
  }
  std::vector<Row> rows, waiting;
  std::vector<bool> seen(run.programs.size());
  const auto visit = [&](std::size_t root) {
    waiting.push_back({root, 0});
    while (!waiting.empty()) {
      const Row row = waiting.back();
      waiting.pop_back();
      if (seen[row.process]) continue;
      seen[row.process] = true;
      rows.push_back(row);
      const std::vector<std::size_t>& below = children[row.process];
      for (auto child = below.rbegin(); child != below.rend(); ++child) waiting.push_back({*child, row.depth + 1});
    }
  };
  for (const std::size_t root : roots) visit(root);
  for (std::size_t i = 0; i < run.programs.size(); ++i) {
    if (!run.programs[i].became && !seen[i]) visit(i);
  }
  return rows;
}

// Those with the largest peaks and what stands above them, at most so many.
std::vector<bool> chosen_rows(const Run& run, const std::vector<Row>& rows, std::size_t most) {
  std::vector<bool> chosen(run.programs.size());
  std::vector<std::size_t> order;
  for (const Row& row : rows) order.push_back(row.process);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return memory_of(run.programs[a]) > memory_of(run.programs[b]);
  });
  std::size_t count = 0;
  for (const std::size_t process : order) {
    std::vector<std::size_t> path;
    for (std::optional<std::size_t> at = process; at && !chosen[*at] && path.size() <= rows.size();
         at = run.programs[*at].parent)
      path.push_back(*at);
    if (count + path.size() > most) break;
    for (const std::size_t step : path) chosen[step] = true;
    count += path.size();
  }
  return chosen;
}

} // namespace

std::string processes_text(const Run& run) { return count_of(run.process_count(), "process", "processes"); }

std::string run_tree_text(const Run& run, std::size_t most_lines, const TextStyle& style) {
  const std::vector<Row> rows = rows_of(run);
  const bool cut = most_lines != 0 && rows.size() > most_lines;
  const std::vector<bool> chosen =
      cut ? chosen_rows(run, rows, most_lines - 1) : std::vector<bool>(run.programs.size(), true);
  struct Line {
    std::string name, pid, events, peak, rss, end;
    bool main = false;
  };
  std::vector<Line> lines;
  std::size_t main = run.main;
  while (run.programs[main].became) main = *run.programs[main].became;
  for (const Row& row : rows) {
    if (!chosen[row.process]) continue;
    const RunProcess& process = run.programs[row.process];
    std::string name = std::string(2 * std::min(row.depth, kDeepestIndent), ' ') + printable(process.name);
    if (!process.before.empty()) name += " (was " + printable(process.before.back()) + ")";
    lines.push_back({std::move(name), std::to_string(process.pid), count_of(process.summary.events, "event"),
                     bytes_text(process.summary.peak_bytes),
                     process.rss_bytes != 0 ? bytes_text(process.rss_bytes) : std::string(), short_ending(process),
                     row.process == main});
  }
  const auto widest = [&](auto field) {
    std::size_t width = 0;
    for (const Line& line : lines) width = std::max(width, columns_of(line.*field));
    return width;
  };
  const std::size_t name = std::min<std::size_t>(widest(&Line::name), 44);
  std::string text;
  for (const Line& line : lines) {
    std::string one = "  " + padded_left(shortened(line.name, name), name) + "  " +
                      padded_right(line.pid, widest(&Line::pid)) + "  " +
                      padded_right(line.events, widest(&Line::events)) + "  peak " +
                      padded_right(line.peak, widest(&Line::peak));
    if (const std::size_t rss = widest(&Line::rss); rss != 0)
      one += line.rss.empty() ? std::string(rss + 6, ' ') : "  rss " + padded_right(line.rss, rss);
    one += "  " + line.end;
    text += (line.main ? style.bold(one + "  <-") : one) + "\n";
  }
  if (cut)
    text += "  and " + count_of(rows.size() - lines.size(), "more process", "more processes") + ": heaptape info " +
            printable(run.folder) + "\n";
  if (!run.unreadable.empty()) {
    constexpr std::size_t kMostNamed = 3;
    text += "  and " + count_of(run.unreadable.size(), "tape") + " that cannot be read: ";
    for (std::size_t i = 0; i < std::min(run.unreadable.size(), kMostNamed); ++i)
      text += (i == 0 ? "" : ", ") + printable(base_name(run.unreadable[i]));
    text += run.unreadable.size() > kMostNamed ? ", …\n" : "\n";
  }
  return text;
}

std::string run_json(const Run& run) {
  JsonWriter json;
  json.begin_object().field("run", std::string_view(run.folder));
  json.field("processes", run.process_count());
  json.field("opens", std::string_view(run.programs[run.main].tape));
  json.key("programs").begin_array();
  for (const RunProcess& process : run.programs) {
    json.begin_object();
    json.field("tape", std::string_view(process.tape)).field("name", std::string_view(process.name));
    json.field("pid", process.pid).field("parent_pid", process.parent_pid);
    json.field("started_by", std::string_view(process.started_by.empty() ? "user" : process.started_by));
    json.field("command", std::string_view(process.command));
    json.field("events", process.summary.events).field("peak_bytes", process.summary.peak_bytes);
    json.field("peak_rss_bytes", process.rss_bytes);
    json.field("live_bytes", process.summary.live_bytes).field("duration_us", process.summary.duration_us);
    json.field("finished", process.finished)
        .field("running", process.running)
        .field("ending", std::string_view(ending_name(process.summary.ending)));
    json.field("ending_detail", process.summary.ending_detail);
    json.key("became");
    if (process.became)
      json.value(std::string_view(run.programs[*process.became].tape));
    else
      json.null();
    json.end_object();
  }
  json.end_array().key("unreadable").begin_array();
  for (const std::string& path : run.unreadable) json.value(std::string_view(path));
  json.end_array().end_object();
  return json.text() + "\n";
}

} // namespace heaptape
