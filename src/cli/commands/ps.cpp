// heaptape ps: what is being recorded.
#include <ctime>

#include "base/number_text.h"
#include "base/path_text.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "collector/control/control_client.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape ps [--json]",
    .purpose = "Lists your programs that are being recorded (as root: everybody's).",
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

std::string as_table(const std::vector<LiveRecording>& all) {
  std::string text =
      fmt::format("{:>8}  {:<16}  {:<12}  {:>14}  {:>10}  {}\n", "PID", "PROGRAM", "SINCE", "EVENTS", "LIVE", "TAPE");
  for (const LiveRecording& one : all) {
    text += fmt::format("{:>8}  {}  {:<12}  {:>14}  {:>10}  {}\n", one.pid,
                        padded_left(shortened(printable(base_name(one.program)), 16), 16),
                        since_text(one.started_realtime_ns), with_separators(one.events), bytes_text(one.live_bytes),
                        printable(one.tape));
  }
  return text;
}

std::string as_json(const std::vector<LiveRecording>& all) {
  JsonWriter json;
  json.begin_array();
  for (const LiveRecording& one : all) {
    json.begin_object().field("pid", one.pid).field("collector", one.collector);
    json.field("program", std::string_view(one.program)).field("tape", std::string_view(one.tape));
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
  const Result<std::vector<LiveRecording>> all = live_recordings();
  if (!all) return fail(all.error());
  Output output;
  if (json)
    output.print("{}", as_json(all.value()));
  else if (all.value().empty())
    say("nothing is being recorded");
  else
    output.print("{}", as_table(all.value()));
  return output.finish() ? kOk : kTrouble;
}

} // namespace heaptape::cli
