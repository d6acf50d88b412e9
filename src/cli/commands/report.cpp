// heaptape report, and its short forms leaks and peak.
#include <array>
#include <map>

#include "base/number_text.h"

#include "cli/beside/tape_in_use.h"
#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/options/leak_options.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/pages/report_page.h"
#include "report/pages/report_text.h"
#include "report/pages/run.h"
#include "report/pages/run_text.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape report [options] [TAPE]",
    .purpose = "Shows what a program did with its heap: a first page with what stands out, then trees of the call "
               "stacks behind it. With --leaks, --peak, ... only those trees.",
    .more =
        R"(A moment is a time (12.5s, 200ms), an event number, a mark set by the program, or start, peak, total-peak, end.
A tree shows the innermost function first and its callers below it (--bottom-up), or main first (--top-down).
Children and the line for pruned places add up to their parent exactly.

Examples:
  heaptape report app.tape
  heaptape report --leaks --suppressions lsan.supp app.tape
  heaptape report --from 10s --to 20s --by thread app.tape
  heaptape report --peak --top-down --include-module libfoo app.tape
  heaptape report --peak --where 'size>1M and age>10s' app.tape

--where counts only blocks that a filter accepts, as they were at the moment that a tree is about. Without --peak, --leaks, ... there are
trees of the peak, of what is still live and of everything allocated, and no first page.
)"};
constexpr CommandHelp kLeaksHelp{
    .usage = "heaptape leaks [options] [TAPE]",
    .purpose = "What the program could not get at any more, by class and with a line for each cause. Without a "
               "snapshot of its "
               "memory at the end (record --leaks): what was still live then, as a tree.",
    .more =
        R"(Definitely lost: nothing leads to it. Indirectly lost: only lost blocks lead to it. Possibly lost: only pointers into its
middle do, and that is not a habit of such blocks. Still reachable: the rest. Blocks that lead to each other in a circle are one cause.
With an option for trees, such as --top-down, there is also a tree of what is lost; 'heaptape report --help' explains it.

Examples:
  heaptape leaks app.tape
  heaptape leaks --at snapshot:2 --show-reachable app.tape
  heaptape leaks --suppressions lsan.supp --error-exitcode 1 app.tape
)"};
constexpr CommandHelp kPeakHelp{.usage = "heaptape peak [options] [TAPE]",
                                .purpose =
                                    "What was live when the heap was largest, as a tree: heaptape report --peak.",
                                .more = "'heaptape report --help' explains the tree.\n"};

constexpr std::size_t kTreeLines = 10; // of the processes of a run

// The command line, before it is a request.
struct Wishes {
  TapeChoice tape;
  ReportRequest request;
  std::map<Section, bool> sections; // asked for by an option
  std::string by = "function";
  bool no_maximum = false, all_frames = false, bottom_up = false, top_down = false, expand = false, json = false;
};

Result<> finish_request(Wishes& wishes) {
  for (const auto& [section, wanted] : wishes.sections) {
    if (wanted) wishes.request.sections.insert(section);
  }
  TreeOptions& tree = wishes.request.tree;
  if (wishes.top_down && wishes.bottom_up) return Error{ErrorCode::Usage, "give either --top-down or --bottom-up"};
  if (wishes.top_down) tree.direction = TreeDirection::TopDown;
  tree.fold_plumbing = !wishes.all_frames;
  static constexpr std::array kWords{std::pair{"function", GroupBy::Function}, std::pair{"line", GroupBy::Line},
                                     std::pair{"file", GroupBy::File},         std::pair{"module", GroupBy::Module},
                                     std::pair{"thread", GroupBy::Thread},     std::pair{"size", GroupBy::Size}};
  for (const auto& [word, by] : kWords) {
    if (wishes.by != word) continue;
    tree.by = by;
    return Unit{};
  }
  return Error{ErrorCode::Usage, "--by must be function, line, file, module, thread or size, not '" + wishes.by + "'"};
}

void add_tree_options(OptionList& list, Wishes& wishes) {
  list.number("--threshold PERCENT", wishes.request.tree.threshold_percent,
              "leave out places below this share of the total (default: 1)")
      .between(0, 100);
  list.number("--depth N", wishes.request.tree.depth, "show at most N levels").between(1, 100'000);
  list.flag("--bottom-up", wishes.bottom_up, "innermost functions first, callers below (default)");
  list.flag("--top-down", wishes.top_down, "outermost functions first, callees below");
  list.text("--by WHAT", wishes.by, "function (default), line, file, module, thread or size")
      .one_of({"function", "line", "file", "module", "thread", "size"});
  list.flag("--all-frames", wishes.all_frames, "trees with plumbing, too (std::vector, xmalloc, libc, ...)");
  list.flag("--show-runtime", wishes.request.show_runtime,
            "count what runtimes set up for themselves (libstdc++'s emergency pool, ...) with the rest");
  list.flag("--expand", wishes.expand, "show every frame on a line of its own, even where nothing branches off");
  list.flag("--json", wishes.json, "print everything as one JSON object");
}

void add_section_options(OptionList& list, Wishes& wishes) {
  const auto section = [&](const char* form, Section which, const char* help) {
    list.flag(form, wishes.sections[which], help);
  };
  section("--leaks", Section::Leaks, "what was still live at the end");
  section("--peak", Section::Peak, "what was live when the heap was largest");
  section("--maximum", Section::Peak, "the same as --peak");
  // For old scripts. The peak costs nothing extra here, so there is nothing to leave out.
  list.flag("--no-maximum", wishes.no_maximum, "has no effect").hidden();
  section("--allocations", Section::Allocations,
          "everything ever allocated; with --from or --to, everything in between");
  section("--total-peak", Section::TotalPeak, "blocks and own mappings when both together were largest");
  section("--mappings", Section::Mappings, "own mappings: at the peak of the resident memory, never unmapped, all");
  section("--cost", Section::Cost, "CPU time in allocation functions, by caller; needs a recording with --cpu");
  section("--temporary", Section::Temporary, "blocks that their thread freed as its very next event");
  list.text("--at MOMENT", wishes.request.at, "what was live at a moment");
  list.text("--from MOMENT", wishes.request.from, "what was allocated after this moment and still live at --to");
  list.text("--to MOMENT", wishes.request.to, "the later moment (default: the end of the tape)");
  section("--snapshots", Section::Snapshots, "what was live at each mark of the program");
  section("--deltas", Section::Deltas, "how each mark differs from the one before, by stack");
  section("--cumulative", Section::Cumulative, "how each mark differs from the first one, by stack");
}

int run(const char* command, const CommandHelp& help, Wishes wishes, Arguments arguments) {
  ReportRequest& request = wishes.request;
  ReportOptions options;
  OptionList list(command);
  if (!request.asks_for_parts()) add_section_options(list, wishes);
  LeakOptions leaks;
  if (request.sections == std::set{Section::Leaks}) leaks.add(list);
  bool with_mappings = false;
  if (request.sections == std::set{Section::Peak})
    list.flag("--with-mappings", with_mappings, "the peak of blocks and own mappings together");
  add_tree_options(list, wishes);
  options.add_where(list);
  options.add_filters(list);
  options.add_suppressions(list);
  options.add_names_and_color(list);
  wishes.tape.add(list);
  if (const auto status = parse(list, help, arguments)) return *status;

  if (const Result<> finished = finish_request(wishes); !finished) return fail(finished.error());
  if (const Result<> applied = leaks.apply(list, request); !applied) return fail(applied.error());
  if (with_mappings) request.sections = {Section::TotalPeak};
  const Result<TextStyle> style = options.style();
  if (!style) return fail(style.error());
  Result<FrameFilter> filter = options.filter();
  if (!filter) return fail(filter.error());
  const bool of_leaks = request.sections == std::set{Section::Leaks};
  wishes.tape.takes_snapshot = !request.has_window() && (of_leaks || request.sections.empty());
  const Result<TapeView> view = options.open(wishes.tape);
  if (!view) return fail(view.error());
  std::string& at = of_leaks ? request.leaks_at : request.at;
  Result<std::string> moment = moment_of(wishes.tape, at);
  if (!moment) return fail(moment.error());
  at = std::move(moment).value();
  Result<Suppressions> suppressions = options.suppressions(view.value().tape());
  if (!suppressions) return fail(suppressions.error());
  Result<Filter> where = options.where(view.value());
  if (!where) return fail(where.error());

  request.filter = std::move(filter).value();
  request.suppressions = std::move(suppressions).value();
  request.where = std::move(where).value();
  request.is_running = wishes.tape.is_live;
  const Result<ReportPage> page = make_report(view.value(), std::move(request));
  if (!page) return fail(page.error());
  Output output;
  if (!wishes.json && !wishes.tape.run.empty() && page.value().overview) {
    if (const Result<Run> run = read_run_now(wishes.tape.run))
      output.print("{}: {}\n{}\n", printable(wishes.tape.run), processes_text(run.value()),
                   run_tree_text(run.value(), kTreeLines, style.value()));
  }
  output.print("{}", wishes.json
                         ? with_damage(report_json(view.value(), page.value()), view.value().damage())
                         : report_text(view.value(), page.value(),
                                       {.style = style.value(), .expand = wishes.expand, .leak_rows = leaks.rows()}));
  return output.finish() ? leaks.status_for(page.value()) : kTrouble;
}

// A command that is about one section.
int run_for(Section section, const char* command, const CommandHelp& help, Arguments arguments) {
  Wishes wishes;
  wishes.request.sections = {section};
  return run(command, help, std::move(wishes), arguments);
}

} // namespace

int report(Arguments arguments) {
  // 'report leaks' means 'report --leaks', unless there is such a file.
  const std::string word = arguments.empty() ? "" : arguments.front();
  if (word.empty() || may_be_tape(word)) return run("report", kHelp, {}, arguments);
  static constexpr std::array kSections{std::pair{"leaks", Section::Leaks},
                                        std::pair{"leak", Section::Leaks},
                                        std::pair{"peak", Section::Peak},
                                        std::pair{"maximum", Section::Peak},
                                        std::pair{"cost", Section::Cost},
                                        std::pair{"allocations", Section::Allocations},
                                        std::pair{"temporary", Section::Temporary},
                                        std::pair{"allocated", Section::Allocations},
                                        std::pair{"snapshots", Section::Snapshots},
                                        std::pair{"deltas", Section::Deltas},
                                        std::pair{"cumulative", Section::Cumulative}};
  for (const auto& [name, section] : kSections) {
    if (word == name) return run_for(section, "report", kHelp, arguments.subspan(1));
  }
  if (word == "html") return html(arguments.subspan(1));
  if (word == "flamegraph" || word == "svg") return flamegraph(arguments.subspan(1));
  return run("report", kHelp, {}, arguments);
}
int leaks(Arguments arguments) { return run_for(Section::Leaks, "leaks", kLeaksHelp, arguments); }
int peak(Arguments arguments) { return run_for(Section::Peak, "peak", kPeakHelp, arguments); }

} // namespace heaptape::cli
