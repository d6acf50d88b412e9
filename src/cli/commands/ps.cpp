// heaptape ps: what is being recorded.
#include <algorithm>
#include <ctime>

#include "base/number_text.h"
#include "base/path_text.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "cli/terminal/terminal.h"
#include "collector/control/control_client.h"
#include "report/pages/tape_facts.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape ps [--json]",
    .purpose = "Lists your programs that are being recorded (as root: everybody's), children below their parents. "
               "'--json' has the tapes too.",
    .more =
        R"(Every command that reads a tape can ask about one of them: heaptape leaks -p PID. So can 'heaptape mark', 'snapshot'
and 'stop'.
)"};

// "14:03:22", or the day when it was not today.
std::string since_text(std::uint64_t realtime_ns) {
  const auto then = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  const std::time_t now = std::time(nullptr);
  std::tm then_parts{}, now_parts{};
  ::localtime_r(&then, &then_parts);
  ::localtime_r(&now, &now_parts);
  const bool today = then_parts.tm_year == now_parts.tm_year && then_parts.tm_yday == now_parts.tm_yday;
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, today ? "%H:%M:%S" : "%b %d %H:%M", &then_parts);
  return std::string(text, size);
}

std::string command_of(const LiveRecording& one) {
  const std::string text = command_text(split_command(one.command));
  return text.empty() ? printable(base_name(one.program)) : text;
}

// Children come behind their parent, one step to the right; a parent that is not recorded is only a number.
struct Row {
  const LiveRecording* recording;
  std::size_t depth;
};

std::vector<Row> as_tree(const std::vector<LiveRecording>& all) {
  std::vector<Row> rows;
  const auto is_listed = [&](pid_t pid) {
    return std::any_of(all.begin(), all.end(), [&](const LiveRecording& one) { return one.pid == pid; });
  };
  const auto add = [&](const auto& self, const LiveRecording& one, std::size_t depth) -> void {
    // What two collectors say was not said at the same moment, so that pids may go round in a circle.
    if (std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row.recording == &one; })) return;
    rows.push_back({&one, depth});
    for (const LiveRecording& other : all)
      if (other.parent == one.pid) self(self, other, depth + 1);
  };
  for (const LiveRecording& one : all)
    if (!is_listed(one.parent)) add(add, one, 0);
  for (const LiveRecording& one : all) add(add, one, 0);
  return rows;
}

std::string as_table(const std::vector<LiveRecording>& all, const TextStyle& style) {
  std::string text =
      fmt::format("{:>8}  {:>8}  {:<12}  {:>14}  {:>10}  {}\n", "PID", "PARENT", "SINCE", "EVENTS", "LIVE", "COMMAND");
  for (const auto& [one, depth] : as_tree(all)) {
    const std::string before =
        fmt::format("{:>8}  {:>8}  {:<12}  {:>14}  {:>10}  {}", one->pid, one->parent,
                    since_text(one->started_realtime_ns), with_separators(one->events), bytes_text(one->live_bytes),
                    depth == 0 ? "" : std::string(2 * (depth - 1), ' ') + (style.utf8 ? "└ " : "+ "));
    const std::size_t used = columns_of(before);
    const std::string command = command_of(*one);
    constexpr std::size_t kLeast = 12; // of a command, however narrow the terminal is
    const std::size_t room = style.width > used + kLeast ? style.width - used : kLeast;
    text += before + (style.width == 0 ? command : shortened(command, room)) + "\n";
  }
  return text;
}

std::string as_json(const std::vector<LiveRecording>& all) {
  JsonWriter json;
  json.begin_array();
  for (const LiveRecording& one : all) {
    json.begin_object().field("pid", one.pid).field("parent", one.parent).field("collector", one.collector);
    json.field("program", std::string_view(one.program)).field("tape", std::string_view(one.tape));
    json.key("command").begin_array();
    for (const std::string& word : split_command(one.command)) json.value(std::string_view(word));
    json.end_array();
    json.field("started_ns", one.started_realtime_ns).field("elapsed_us", one.elapsed_us).field("events", one.events);
    json.field("live_bytes", one.live_bytes).field("live_blocks", one.live_blocks).field("peak_bytes", one.peak_bytes);
    json.field("tape_bytes", one.tape_bytes).end_object();
  }
  return json.end_array().text() + "\n";
}

} // namespace

int ps(Arguments arguments) {
  bool json = false;
  OptionList list("ps");
  list.flag("--json", json, "one JSON array");
  if (const auto status = parse(list, kHelp, arguments)) return *status;
  std::size_t silent = 0;
  const Result<std::vector<LiveRecording>> all = live_recordings(&silent);
  if (!all) return fail(all.error());
  const Result<TextStyle> style = style_of_output("never");
  if (!style) return fail(style.error());
  Output output;
  if (json)
    output.print("{}", as_json(all.value()));
  else if (!all.value().empty())
    output.print("{}", as_table(all.value(), style.value()));
  else if (silent == 0)
    say("nothing is being recorded");
  if (silent != 0)
    say(fmt::format("{} not answer: stopped, or very busy",
                    silent == 1 ? "1 recording is not listed, because its collector does"
                                : with_separators(silent) + " recordings are not listed, because their collectors do"));
  return output.finish() ? kOk : kTrouble;
}

} // namespace heaptape::cli
