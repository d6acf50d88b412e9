// heaptape top: the most expensive functions or stacks, of a finished recording or of one that is going on.
#include <unistd.h>

#include "cli/beside/tape_in_use.h"
#include "cli/commands/commands.h"
#include "cli/live/live_top.h"
#include "cli/options/by_pid.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "collector/control/control_client.h"
#include "collector/options/live_options.h"
#include "report/figures/top_table.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape top [options] [TAPE | -p PID]",
    .purpose = "Prints a table of the functions or stacks with the largest figures: live at the peak, live at the end, "
               "ever allocated, temporary. For a program that is being recorded: a live view, or a table at intervals.",
    .more =
        R"(A stack is charged to its innermost function that is not plumbing (operator new, xmalloc, std::vector, libc, ...).

With -p PID, or with a TAPE that is still being written, a terminal shows a full-screen view; press h for the keys.
--once prints the largest stacks now, --every T prints them at intervals and when the program ends, largest last.

Examples:
  heaptape top app.tape
  heaptape top --sort temporary --blocks -n 50 app.tape
  heaptape top --by stack --sort live app.tape
  heaptape top -p 4711
  heaptape top -p 4711 --every 10s -o top.txt
  heaptape top --where 'size<64 and lifetime<1ms' --sort allocated app.tape
)"};

Result<TopOptions> top_options(const std::string& sort, const std::string& by, bool blocks, std::size_t rows) {
  TopOptions options{.measure = blocks ? Measure::Blocks : Measure::Bytes, .rows = rows};
  if (sort == "allocated")
    options.sort = TopSort::Allocated;
  else if (sort == "live" || sort == "leaks")
    options.sort = TopSort::Live;
  else if (sort == "peak")
    options.sort = TopSort::Peak;
  else if (sort == "temporary")
    options.sort = TopSort::Temporary;
  else
    return Error{ErrorCode::Usage, "--sort must be allocated, live, peak or temporary, not '" + sort + "'"};
  if (by == "stack")
    options.by = TopBy::Stack;
  else if (by != "function")
    return Error{ErrorCode::Usage, "--by must be function or stack, not '" + by + "'"};
  return options;
}

// Options about a recording that is still running.
struct LiveRequest {
  bool once = false, first = false, frames = false;
  std::string every, output;
  std::uint64_t count = 0;

  bool plain() const { return once || !every.empty(); }
};

Result<TopOrder> live_order(const std::string& sort) {
  if (sort == "live") return TopOrder::Live;
  if (sort == "growth") return TopOrder::Growth;
  if (sort == "allocated") return TopOrder::Allocated;
  if (sort == "rate") return TopOrder::Rate;
  if (sort == "blocks") return TopOrder::Blocks;
  return Error{ErrorCode::Usage,
               "for a running program, --sort must be live, growth, allocated, rate or blocks, not '" + sort + "'"};
}

int live_top(const LiveRequest& arguments, const TapeChoice& tape, const std::string& sort, std::size_t rows, bool json,
             const TextStyle& style) {
  LiveTop options{.tape = tape.path,
                  .plain = arguments.plain(),
                  .count = arguments.once ? 1 : arguments.count,
                  .rows = rows,
                  .largest_first = arguments.first,
                  .frames = arguments.frames,
                  .json = json,
                  .output = arguments.output,
                  .style = style};
  if (json && !options.plain)
    return fail({ErrorCode::Usage, "for a running program, --json needs --once or --every T"});
  if (!sort.empty()) {
    const Result<TopOrder> order = live_order(sort);
    if (!order) return fail(order.error());
    if (options.plain) {
      const Result<TableSort> table = parse_table_sort(sort);
      if (!table) return fail({ErrorCode::Usage, "with --once and --every, --sort " + table.error().sentence});
      options.table_sort = table.value();
    }
    options.order = order.value();
  }
  if (!arguments.every.empty()) {
    const Result<std::uint64_t> every = parse_interval_us(arguments.every);
    if (!every) return fail({ErrorCode::Usage, "--every: " + every.error().sentence});
    options.every_us = every.value();
  }
  if (!options.output.empty()) options.style = TextStyle{};
  if (tape.pid) { // the view follows the tape, so nothing need be put onto it now
    const Result<pid_t> pid = find_process(*tape.pid);
    if (!pid) return fail(pid.error());
    const Result<LiveRecording> recording = live_recording(pid.value());
    if (!recording) return fail(recording.error());
    if (recording.value().tape.empty())
      return fail({ErrorCode::NotFound, "process " + *tape.pid + " is recorded without a tape"});
    options.tape = recording.value().tape;
  }
  return run_live_top(options);
}

} // namespace

int top(Arguments arguments) {
  TapeChoice tape;
  std::string sort, by = "function";
  bool blocks = false, json = false;
  std::size_t rows = 0;
  LiveRequest live;
  ReportOptions common;
  OptionList list("top");
  list.text("--sort FIGURE", sort,
            "peak (default), live, allocated or temporary; for a running program: live (default), "
            "growth, allocated, rate or blocks")
      .one_of({"peak", "live", "allocated", "temporary", "growth", "rate", "blocks"})
      .also({"leaks"});
  list.text("--by WHAT", by, "function (default) or stack").one_of({"function", "stack"});
  list.flag("--blocks", blocks, "count blocks instead of bytes");
  list.number("-n,--rows N", rows, "show at most N rows (default: 20, or 10 for a running program)")
      .between(1, 1'000'000);
  list.flag("--json", json, "print the rows as a JSON array");
  list.flag("--once", live.once, "print what is in use now, and exit");
  list.text("--every TIME", live.every, "print it at this interval (2s, 1min), and when the program ends");
  list.number("--count N", live.count, "with --every: print at most N times").between(1, 1'000'000'000);
  list.flag("--first", live.first, "with --once or --every: largest first, not last");
  list.flag("--frames", live.frames, "with --once or --every: whole stacks");
  list.text("-o,--output FILE", live.output, "with --once or --every: write to this file");
  common.add_where(list);
  common.add_filters(list);
  common.add_names_and_color(list);
  tape.add(list);
  if (const auto status = parse(list, kHelp, arguments)) return *status;

  const Result<TextStyle> style = common.style();
  if (!style) return fail(style.error());
  if (const Result<> checked = check_choice(tape); !checked) return fail(checked.error());
  const Error no_live_plumbing{ErrorCode::Usage,
                               "for a view of a running program, set HEAPTAPE_PLUMBING instead of --plumbing"};
  const bool on_screen = ::isatty(STDOUT_FILENO) == 1;
  if (live.plain() || (tape.pid && on_screen)) {
    if (!tape.pid) {
      if (const Result<> chosen = choose_tape(tape); !chosen) return fail(chosen.error());
    }
    if (list.given("--plumbing")) return fail(no_live_plumbing);
    return live_top(live, tape, sort, rows != 0 ? rows : 10, json, style.value());
  }
  if (!live.output.empty() || live.first || live.frames || live.count != 0)
    return fail({ErrorCode::Usage, "-o, --first, --frames and --count need --once or --every T"});
  if (!tape.path.empty() && !json && on_screen && is_being_written(tape.path))
    return list.given("--plumbing") ? fail(no_live_plumbing) : live_top(live, tape, sort, 0, false, style.value());
  const Result<TopOptions> options = top_options(sort.empty() ? "peak" : sort, by, blocks, rows != 0 ? rows : 20);
  if (!options) return fail(options.error());
  Result<FrameFilter> filter = common.filter();
  if (!filter) return fail(filter.error());
  const Result<TapeView> view = common.open(tape);
  if (!view) return fail(view.error());
  Result<Filter> where = common.where(view.value());
  if (!where) return fail(where.error());

  const TopTable table = make_top_table(view.value(), filter.value(), options.value(), &where.value());
  Output output;
  if (json) {
    JsonWriter writer;
    write_top_json(writer, view.value(), table);
    output.print("{}\n", with_damage(writer.text(), view.value().damage()));
  } else {
    output.print("{}", top_text(view.value(), table, options.value(), style.value()));
  }
  return output.finish() ? kOk : kTrouble;
}

} // namespace heaptape::cli
