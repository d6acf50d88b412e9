// heaptape export: what is on a tape, for other tools.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "base/near_word.h"
#include "base/output_file.h"
#include "cli/commands/commands.h"
#include "cli/commands/export_contents.h"
#include "cli/commands/export_file.h"
#include "cli/commands/export_tape.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/export/callgrind.h"
#include "report/export/csv.h"
#include "report/export/dhat.h"
#include "report/export/flame_svg.h"
#include "report/export/folded.h"
#include "report/export/gprof2dot.h"
#include "report/export/heaptrack.h"
#include "report/export/html.h"
#include "report/export/massif.h"
#include "report/export/pprof.h"
#include "report/export/speedscope.h"
#include "report/figures/cpu_report.h"
#include "report/pages/overview_sections.h"
#include "report/text/mark_text.h"
#include "report/view/tape_view.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{.usage = "heaptape export --format FORMAT [options] [TAPE]",
                            .purpose =
                                "Converts a tape to a format that another tool reads, on standard output or in a file.",
                            .more = R"(Formats:
  pprof       gzipped protobuf: go tool pprof, profiling servers
  folded      one line per stack: flamegraph.pl, inferno
  gprof2dot   JSON for gprof2dot -f json, one file per label
  massif      ms_print, massif-visualizer
  callgrind   callgrind_annotate, KCachegrind
  dhat        valgrind's dh_view.html
  speedscope  https://www.speedscope.app or the npm package
  heaptrack   every event: heaptrack_print, heaptrack_gui; packed for .gz, .zst
  csv         a row per stack, or per event with --events
  html        one page with everything, for any browser, offline
  svg         a flame graph for any browser: click zooms, / searches
Of the last snapshot of memory up to --at ('heaptape snapshots' lists them):
  core          an ELF core file: gdb, lldb ('heaptape gdb TAPE' is shorter)
  heapsnapshot  blocks and what holds them: Chrome's DevTools, panel Memory
  jsonl         mappings, threads, roots, blocks, references: an object per line
And the tape itself, to pass on:
  tape          what can be read of it; --without-contents leaves out memory

Without --format, the name given with -o decides: .html, .svg, .csv, .folded, .pb.gz, .core,
.heapsnapshot, .jsonl, .tape.
On a terminal and without -o, a file named after the tape is written; -o - prints.

Examples:
  heaptape export -o app.html app.tape
  heaptape export --format svg --value live app.tape
  heaptape export --format pprof -o app.pb.gz && go tool pprof -http=: app.pb.gz
  heaptape export --format folded --value temporary | flamegraph.pl > app.svg
  heaptape export --format pprof --cpu -o cpu.gz && go tool pprof -http=: cpu.gz
  heaptape export --format gprof2dot --label leaked |
    gprof2dot -f json | dot -Tsvg -o leaked.svg
)"};

constexpr CommandHelp kFlameHelp{
    .usage = "heaptape flamegraph [options] [TAPE]",
    .purpose = "Draws a flame graph: which functions, called by which, held the memory. In a browser a click zooms and "
               "/ searches.",
    .more = R"(On a terminal and without -o, it is written to a file named after the tape. The same as
'heaptape export --format svg'; with -o FILE.html it is a whole page.

Examples:
  heaptape flamegraph app.tape
  heaptape flamegraph --value live -o leaks.svg app.tape
  heaptape flamegraph --cpu -o cpu.svg app.tape
)"};
constexpr CommandHelp kHtmlHelp{
    .usage = "heaptape html [options] [TAPE]",
    .purpose = "Writes one page with everything about a tape, for any browser: flame graph, functions, the heap over "
               "time. It loads nothing from anywhere.",
    .more = R"(On a terminal and without -o, it is written to a file named after the tape. The same as
'heaptape export --format html'.

Example:
  heaptape html -o app.html app.tape
)"};

struct ExportOptions {
  TapeChoice tape;
  std::string format, output, value = "peak", label, at;
  bool without_contents = false;
  bool force = false, blocks = false, events = false, cpu = false, all_frames = false, no_plumbing = false;
  std::uint32_t segment = 0;
  double threshold = 1.0;
};

struct Format {
  std::string_view name;
  std::string_view suffix; // of a file that nobody named
  bool binary = false;
  void (*write)(const ExportInput&, const ExportOptions&, Sink&);
};

Quantity quantity_of(const std::string& value) {
  if (value == "live") return Quantity::Live;
  if (value == "allocated") return Quantity::Allocated;
  return value == "temporary" ? Quantity::Temporary : Quantity::Peak;
}

void write_folded(const ExportInput& input, const ExportOptions& options, Sink& sink) {
  export_folded(input, {.quantity = quantity_of(options.value), .blocks = options.blocks}, sink);
}
void write_svg(const ExportInput& input, const ExportOptions& options, Sink& sink) {
  export_flame_svg(input, {.quantity = quantity_of(options.value), .blocks = options.blocks}, sink);
}
void write_csv(const ExportInput& input, const ExportOptions& options, Sink& sink) {
  if (options.events)
    export_events_csv(input, sink);
  else
    export_csv(input, sink);
}
template <auto Export>
void write_plainly(const ExportInput& input, const ExportOptions&, Sink& sink) {
  Export(input, sink);
}

constexpr std::array kFormats{
    Format{"pprof", ".pb.gz", true, write_plainly<export_pprof>},
    Format{"folded", ".folded", false, write_folded},
    Format{"gprof2dot", ".gprof2dot.json", false, nullptr},
    Format{"massif", ".massif", false,
           [](const ExportInput& input, const ExportOptions& options, Sink& sink) {
             export_massif(input, {.threshold_percent = options.threshold}, sink);
           }},
    Format{"callgrind", ".callgrind", false, write_plainly<export_callgrind>},
    Format{"dhat", ".dhat.json", false, write_plainly<export_dhat>},
    Format{"speedscope", ".speedscope.json", false, write_plainly<export_speedscope>},
    Format{"heaptrack", ".heaptrack.zst", false, write_plainly<export_heaptrack>},
    Format{"csv", ".csv", false, write_csv},
    Format{"html", ".html", false, write_plainly<export_html>},
    Format{"svg", ".svg", false, write_svg},
};

// By its name; without one, by the suffix of the file that is to be written. nullptr: there is none.
const Format* find_format(const std::string& name, const std::string& output) {
  for (const Format& format : kFormats) {
    if (name.empty() ? output.ends_with(format.suffix) : format.name == name) return &format;
  }
  return nullptr;
}

Packing packing_of(const ExportOptions& options) {
  if (options.format == "pprof") return Packing::Gzip;
  if (options.format != "heaptrack") return Packing::Plain;
  if (options.output.ends_with(".gz")) return Packing::Gzip;
  return options.output.ends_with(".zst") ? Packing::Zstd : Packing::Plain;
}

// What an export holds is as private as the tape it comes from.
MakeFile private_file(std::string path, const ExportOptions& options) {
  return {.path = std::move(path), .overwrite = options.force, .owner_only = true};
}

// ------------------------------------------------------------------------------------------------- gprof2dot's labels

// "snapshot-3": what was live at a mark, counted from 0. With -delta what changed since the mark before, with -cumulative
// since the first.
enum class SnapshotPart : std::uint8_t { Live, Delta, Cumulative };
std::string snapshot_label(std::size_t number, SnapshotPart part) {
  return "snapshot-" + std::to_string(number) +
         (part == SnapshotPart::Delta        ? "-delta"
          : part == SnapshotPart::Cumulative ? "-cumulative"
                                             : "");
}

// What a label stands for: "leaked", "maximum", "allocated", "temporary", one of a snapshot, or what was live at a
// moment.
Result<std::vector<CostOfStack>> costs_of_label(const TapeView& view, const ExportInput& input,
                                                const std::string& label) {
  const std::pair<std::string_view, Quantity> known[] = {{"leaked", Quantity::Live},
                                                         {"maximum", Quantity::Peak},
                                                         {"allocated", Quantity::Allocated},
                                                         {"temporary", Quantity::Temporary}};
  for (const auto& [name, quantity] : known) {
    if (label == name) return costs_of(input.findings(), quantity);
  }
  for (std::size_t i = 0; i < input.marks.size(); ++i) {
    const std::uint64_t here = input.marks[i].event;
    if (label == snapshot_label(i, SnapshotPart::Live)) return costs_at(input, here);
    if (label == snapshot_label(i, SnapshotPart::Delta))
      return change_between(input, i == 0 ? 0 : input.marks[i - 1].event, here);
    if (label == snapshot_label(i, SnapshotPart::Cumulative)) return change_between(input, input.marks[0].event, here);
  }
  const Result<Moment> moment = view.moment(label);
  if (!moment) {
    return Error{ErrorCode::Usage,
                 "unknown label '" + label +
                     "'; give leaked, maximum, allocated, temporary, snapshot-N, snapshot-N-delta "
                     "or snapshot-N-cumulative for the N-th mark, or a moment (12.5s, 1000, a mark's name)"};
  }
  return costs_at(input, moment.value().event);
}

// "app.json" becomes "app.leaked.json".
std::string with_label(const std::string& path, const std::string& label) {
  const std::size_t dot = path.rfind('.');
  const std::size_t slash = path.rfind('/');
  const bool has_suffix = dot != path.npos && dot > 0 && (slash == path.npos || dot > slash + 1);
  return has_suffix ? path.substr(0, dot) + "." + label + path.substr(dot) : path + "." + label;
}

int write_label(const TapeView& view, const ExportInput& input, const std::string& label, const MakeFile& file) {
  const Result<std::vector<CostOfStack>> costs = costs_of_label(view, input, label);
  if (!costs) return fail(costs.error());
  return write_file(file, Packing::Plain, false, [&](Sink& sink) { export_gprof2dot(input, costs.value(), sink); });
}

int write_gprof2dot(const TapeView& view, const ExportInput& input, const ExportOptions& options) {
  if (!options.label.empty()) return write_label(view, input, options.label, private_file(options.output, options));
  if (options.output.empty() || options.output == "-") {
    say("gprof2dot reads one label at a time: choose it with --label, or give a file with -o to get one for each");
    return kTrouble;
  }
  std::vector<std::string> labels{"leaked", "maximum"};
  for (std::size_t i = 0; i < input.marks.size(); ++i) {
    labels.push_back(snapshot_label(i, SnapshotPart::Live));
    if (i >= 1) labels.push_back(snapshot_label(i, SnapshotPart::Delta));
    if (i >= 2) labels.push_back(snapshot_label(i, SnapshotPart::Cumulative)); // before that it is the delta
  }
  for (const std::string& label : labels) {
    const MakeFile file = private_file(with_label(options.output, label), options);
    if (const int status = write_label(view, input, label, file); status != kOk) return status;
    say(file.path + " written");
  }
  return kOk;
}

// ---------------------------------------------------------------------------------------------------------------------

// An option that the format does not have is a mistake; silence would hide it.
std::optional<std::string> misplaced_option(const OptionList& list, const std::string& format) {
  struct Owners {
    const char* option;
    std::vector<std::string> formats;
  };
  const Owners all[] = {{"--value", {"folded", "svg"}},  {"--blocks", {"folded", "svg"}},
                        {"--label", {"gprof2dot"}},      {"--events", {"csv"}},
                        {"--threshold", {"massif"}},     {"--all-frames", {"html"}},
                        {"--no-plumbing", {"folded"}},   {"--at", {"core", "heapsnapshot", "jsonl"}},
                        {"--without-contents", {"tape"}}};
  for (const auto& [option, formats] : all) {
    if (!list.given(option) || std::find(formats.begin(), formats.end(), format) != formats.end()) continue;
    return fmt::format("{} is only for the format{} {}", option, formats.size() == 1 ? "" : "s",
                       listed(formats, "and"));
  }
  return std::nullopt;
}

// The formats that can hold CPU time.
std::optional<std::string> cpu_mistake(const OptionList& list, const ExportOptions& options) {
  constexpr std::array kCpuFormats{"pprof", "folded", "callgrind", "speedscope", "svg"};
  if (!options.cpu) {
    if (list.given("--segment")) return "--segment is about CPU time; pass --cpu as well";
    return std::nullopt;
  }
  if (list.given("--value")) return "--value is about the heap; leave it out with --cpu";
  if (std::find(kCpuFormats.begin(), kCpuFormats.end(), options.format) != kCpuFormats.end()) return std::nullopt;
  return fmt::format("the format {} cannot hold CPU time; with --cpu use pprof, folded, callgrind, speedscope or svg",
                     options.format);
}

// Those of the first page that no table of the HTML page has.
std::vector<ExportList> lists_that_stand_out(const TapeView& view) {
  Suppressions none;
  FrameFilter all(std::vector<FilterRule>{});
  std::vector<ExportList> lists;
  for (OverviewSection& section : make_overview_sections(view, {.suppressions = none, .filter = all})) {
    if (section.name == "growth" || section.name == "short_lived" || section.name == "regrown")
      lists.push_back({section.title, section.note, section.measure, std::move(section.worst)});
  }
  return lists;
}

int export_from(const TapeView& view, const Format& format, ExportOptions options) {
  // What another tool reads helps nobody on a terminal.
  const bool unnamed = options.output.empty() && ::isatty(STDOUT_FILENO) == 1;
  if (unnamed) options.output = name_beside(view.path(), format.suffix);
  if (!options.output.empty() && same_file(options.output, view.path()))
    return fail({ErrorCode::Usage, "'" + options.output + "' is the tape itself; give -o another name"});
  const std::vector<Mark> moments = moments_of(view.marks());
  ExportInput input{view.tape(), view.index(), view.names(), moments};
  input.fold_plumbing = options.format == "html" ? !options.all_frames : options.no_plumbing;
  if (options.format == "html") input.lists = lists_that_stand_out(view);
  std::vector<StackTime> times;
  if (options.cpu) {
    times = cpu_times(view.tape().cpu(), {.segment = options.segment});
    if (times.empty()) return fail({ErrorCode::NotFound, no_cpu_sentence(view.tape(), options.segment)});
    input.cpu = &times;
  }
  if (format.write == nullptr) return write_gprof2dot(view, input, options);
  const int status = write_file(private_file(options.output, options), packing_of(options), format.binary,
                                [&](Sink& sink) { format.write(input, options, sink); });
  if (unnamed && status == kOk) say(options.output + " written");
  return status;
}

} // namespace

namespace {

// In the usual format unless the options choose another; empty: they must.
int export_as(const char* command, const CommandHelp& help, std::string_view usual_format, Arguments arguments) {
  ExportOptions options;
  ReportOptions reading;
  OptionList list(command);
  list.text("-f,--format FORMAT", options.format, "one of the formats below")
      .one_of({"pprof", "folded", "gprof2dot", "massif", "callgrind", "dhat", "speedscope", "heaptrack", "csv", "html",
               "svg", "core", "heapsnapshot", "jsonl", "tape"});
  list.text("-o,--output FILE", options.output, "write to this file instead of standard output");
  list.flag("--force", options.force, "overwrite FILE if it exists");
  reading.add_names(list);
  list.text("--value WHAT", options.value, "folded, svg: peak (default), live, allocated or temporary")
      .one_of({"peak", "live", "allocated", "temporary"});
  list.flag("--blocks", options.blocks, "folded, svg: count blocks, not bytes");
  list.text(
      "--label LABEL", options.label,
      "gprof2dot: leaked, maximum, allocated, temporary, snapshot-N (-delta, -cumulative), or a moment (12.5s, 1000, a "
      "mark's name)");
  list.text("--at POSITION", options.at,
            "core, heapsnapshot, jsonl: the last snapshot up to this moment, or snapshot:N (default: end); TAPE@N is "
            "the same");
  list.flag("--events", options.events, "csv: a row per event, not per stack");
  list.number("--threshold PERCENT", options.threshold, "massif: merge places below this share (default: 1)")
      .between(0, 100);
  list.flag("--all-frames", options.all_frames, "html: with plumbing, too (std::vector, xmalloc, libc, ...)");
  list.flag("--no-plumbing", options.no_plumbing, "folded: without plumbing, charged to its callers");
  list.flag("--cpu", options.cpu, "pprof, folded, callgrind, speedscope, svg: CPU time, not the heap");
  list.number("--segment N", options.segment, "with --cpu: only this segment").between(1, 1'000'000'000);
  list.flag("--without-contents", options.without_contents, "tape: leave out what the program's memory held");
  options.tape.add(list);
  if (const auto status = parse(list, help, arguments)) return *status;

  const bool named_tape = usual_format.empty() && options.output.ends_with(".tape");
  const bool as_tape = options.format.empty() ? named_tape : options.format == "tape";
  const ContentsFormat* const contents = find_contents_format(options.format, options.output);
  const Format* format = find_format(options.format, options.output);
  if (format == nullptr && contents == nullptr && !as_tape) format = find_format(std::string(usual_format), {});
  std::optional<std::string> mistake;
  if (as_tape)
    mistake = misplaced_option(list, options.format = "tape");
  else if (contents != nullptr)
    mistake = misplaced_option(list, options.format = contents_format_name(*contents));
  else if (format == nullptr && options.without_contents)
    mistake = "--without-contents writes a tape; pass --format tape, or -o with a name that ends in .tape";
  else if (format == nullptr)
    mistake = "no format given; pass --format html, svg, pprof, ... ('heaptape export --help' lists them)";
  else
    mistake = misplaced_option(list, options.format = format->name);
  if (!mistake) mistake = cpu_mistake(list, options);
  if (mistake) {
    say(*mistake);
    return kTrouble;
  }

  if (as_tape) return export_as_tape(options.tape, {options.output, options.force, !options.without_contents});
  options.tape.takes_snapshot = contents != nullptr;
  Result<TapeView> view = reading.open(options.tape);
  if (!view) return fail(view.error());
  const Result<std::string> at = moment_of(options.tape, options.at);
  if (!at) return fail(at.error());
  if (contents != nullptr)
    return export_contents(*contents, std::move(view).value(), {options.output, options.force, at.value()});
  return export_from(view.value(), *format, std::move(options));
}

} // namespace

int export_tape(Arguments arguments) { return export_as("export", kHelp, "", arguments); }
int flamegraph(Arguments arguments) { return export_as("flamegraph", kFlameHelp, "svg", arguments); }
int html(Arguments arguments) { return export_as("html", kHtmlHelp, "html", arguments); }

} // namespace heaptape::cli
