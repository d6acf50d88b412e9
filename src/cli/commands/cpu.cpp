// heaptape cpu: where the CPU time went.
#include <array>
#include <span>
#include <string_view>

#include "base/number_text.h"
#include "base/output_file.h"
#include "cli/beside/render_graph.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/export/call_graph.h"
#include "report/export/export_input.h"
#include "report/figures/cpu_report.h"
#include "report/view/find_threads.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{.usage = "heaptape cpu [options] [TAPE]",
                            .purpose =
                                "Shows where the CPU time went, in a recording with --cpu or of a program that calls "
                                "heaptape_profile_start: threads, a table of functions, and a tree of calls.",
                            .more = R"("self" is time spent in a function itself, "total" includes what it called.
--svg, --pdf and --dot draw the calls as a graph instead. Without FILE the name is cpu.svg, or cpu-001.svg,
cpu-002.svg, ... if the program has several segments.

Examples:
  heaptape record --cpu ./server; heaptape cpu
  heaptape cpu --segment 2 --bottom-up app.tape
  heaptape cpu --from 10s --to 'mark of mine' --thread 3 app.tape
  heaptape cpu --pdf cpu.pdf app.tape
  heaptape export --cpu --format pprof -o cpu.pb.gz app.tape
)"};

constexpr std::array<std::string_view, 3> kPictures{"svg", "pdf", "dot"};

struct Wishes {
  TapeChoice tape;
  std::string from, to, thread, by = "function";
  std::uint32_t segment = 0;
  double threshold = 1.0;
  unsigned depth = 0;
  std::size_t rows = 15;
  bool bottom_up = false, top_down = false, expand = false, json = false, force = false, no_recorder = false;
  std::string format; // of a picture; empty: none
  std::string file;   // empty: the usual name
};

Result<CpuOptions> cpu_options(const Wishes& wishes) {
  CpuOptions options{
      .tree = {.direction = TreeDirection::TopDown, .threshold_percent = wishes.threshold, .depth = wishes.depth},
      .expand = wishes.expand,
      .without_recorder = wishes.no_recorder,
      .rows = wishes.rows};
  if (wishes.top_down && wishes.bottom_up) return Error{ErrorCode::Usage, "give either --top-down or --bottom-up"};
  if (wishes.bottom_up) options.tree.direction = TreeDirection::BottomUp;
  options.selection.segment = wishes.segment;
  constexpr std::array kWords{std::pair{"function", GroupBy::Function}, std::pair{"line", GroupBy::Line},
                              std::pair{"file", GroupBy::File}, std::pair{"module", GroupBy::Module},
                              std::pair{"thread", GroupBy::Thread}};
  for (const auto& [word, by] : kWords) {
    if (wishes.by != word) continue;
    options.tree.by = by;
    return options;
  }
  return Error{ErrorCode::Usage, "--by must be function, line, file, module or thread, not '" + wishes.by + "'"};
}

Result<> select(const TapeView& view, const Wishes& wishes, CpuSelection& selection) {
  const auto time = [&](const std::string& text, std::uint64_t& us) -> Result<> {
    if (text.empty()) return Unit{};
    const Result<Moment> moment = view.moment(text);
    if (!moment) return moment.error();
    us = moment.value().time_us;
    return Unit{};
  };
  if (const auto taken = time(wishes.from, selection.from_us); !taken) return taken.error();
  if (const auto taken = time(wishes.to, selection.to_us); !taken) return taken.error();
  if (selection.from_us > selection.to_us) return Error{ErrorCode::Usage, "--from is later than --to"};
  if (wishes.thread.empty()) return Unit{};
  auto threads = find_threads(view.tape().threads(), wishes.thread);
  if (!threads) return threads.error();
  selection.threads = std::move(threads).value();
  return Unit{};
}

// ------------------------------------------------------------------------------------------------------------ pictures

std::string picture_name(const std::string& format, std::uint32_t segment) {
  return segment == 0 ? "cpu." + format : fmt::format("cpu-{:03}.{}", segment, format);
}

Result<std::string> draw(const TapeView& view, const CpuReport& report, const CpuOptions& options,
                         const std::string& format) {
  const std::uint32_t segment = options.selection.segment;
  std::string title = command_of(view.tape()) + ": CPU time " + cpu_time_text(report.all.us);
  if (segment != 0) title += ", segment " + std::to_string(segment);
  std::string graph;
  Sink sink([&](std::string_view bytes) -> Result<> {
    graph += bytes;
    return Unit{};
  });
  export_call_graph(view.names(), cpu_costs(report.times), {.title = title}, sink);
  if (const Result<> written = sink.finish(); !written) return written.error();
  return format == "dot" ? Result<std::string>(graph) : render_graph(graph, format);
}

int write_picture(const TapeView& view, const Wishes& wishes, const CpuReport& report, const CpuOptions& options) {
  const std::string name = wishes.file.empty() ? picture_name(wishes.format, options.selection.segment) : wishes.file;
  if (same_file(name, view.path())) return fail({ErrorCode::Usage, "'" + name + "' is the tape itself"});
  const Result<std::string> picture = draw(view, report, options, wishes.format);
  if (!picture) return fail(picture.error());
  Result<OutputFile> output = OutputFile::create({name, wishes.force});
  if (!output) return fail(output.error());
  Result<> written = output.value().write(picture.value());
  if (written.ok()) written = output.value().keep();
  if (!written.ok()) return output.value().reader_gone() ? kTrouble : fail(written.error());
  if (name != "-") say(name + " written");
  return kOk;
}

// One, or one per segment.
int write_pictures(const TapeView& view, const Wishes& wishes, CpuOptions options, FrameFilter& filter) {
  const std::vector<CpuSegment>& segments = view.tape().cpu().segments;
  if (!wishes.file.empty() || wishes.segment != 0 || segments.size() < 2)
    return write_picture(view, wishes, make_cpu_report(view, options, filter), options);
  for (const CpuSegment& segment : segments) {
    options.selection.segment = segment.number;
    const CpuReport report = make_cpu_report(view, options, filter);
    if (report.times.empty()) {
      say("segment " + std::to_string(segment.number) + " has no samples; no picture drawn");
      continue;
    }
    if (const int status = write_picture(view, wishes, report, options); status != kOk) return status;
  }
  return kOk;
}

void take_picture(std::span<const std::optional<std::string>> files, Wishes& wishes) {
  for (std::size_t i = 0; i < kPictures.size(); ++i) {
    if (!files[i]) continue;
    wishes.format = kPictures[i];
    wishes.file = *files[i];
  }
}

} // namespace

int cpu(Arguments arguments) {
  Wishes wishes;
  ReportOptions common;
  OptionList list("cpu");
  list.number("--segment N", wishes.segment, "only samples of this segment").between(1, 1'000'000'000);
  list.text("--from MOMENT", wishes.from, "only samples from this moment on");
  list.text("--to MOMENT", wishes.to, "only samples up to this moment");
  list.text("--thread N", wishes.thread, "only samples of this thread: its number on the tape, or the kernel's id");
  list.number("-n,--rows N", wishes.rows, "show at most N rows (default: 15; 0: no table)").between(0, 1'000'000);
  list.text("--by WHAT", wishes.by, "function (default), line, file, module or thread")
      .one_of({"function", "line", "file", "module", "thread"});
  list.flag("--top-down", wishes.top_down, "tree with main first (default)");
  list.flag("--bottom-up", wishes.bottom_up, "tree with the innermost functions first, callers below");
  list.number("--threshold PERCENT", wishes.threshold, "leave out places below this share of the total (default: 1)")
      .between(0, 100);
  list.number("--depth N", wishes.depth, "show at most N levels of the tree").between(1, 100'000);
  list.flag("--expand", wishes.expand, "show every frame on a line of its own, even where nothing branches off");
  list.flag("--no-recorder", wishes.no_recorder,
            "leave out samples in the recorder itself: closer to an unrecorded run");
  std::array<std::optional<std::string>, kPictures.size()> files;
  for (std::size_t i = 0; i < kPictures.size(); ++i) {
    const char* const text = kPictures[i] == "dot" ? "write the call graph in Graphviz's language"
                                                   : "draw the call graph as a picture, with Graphviz";
    list.optional_text("--" + std::string(kPictures[i]) + " [FILE]", files[i], text);
  }
  list.flag("--force", wishes.force, "overwrite existing files");
  list.flag("--json", wishes.json, "print everything as one JSON object");
  common.add_filters(list);
  common.add_names_and_color(list);
  wishes.tape.add(list);
  if (const auto status = parse(list, kHelp, arguments)) return *status;
  take_picture(files, wishes);

  Result<CpuOptions> options = cpu_options(wishes);
  if (!options) return fail(options.error());
  const Result<TextStyle> style = common.style();
  if (!style) return fail(style.error());
  Result<FrameFilter> filter = common.filter();
  if (!filter) return fail(filter.error());
  const Result<TapeView> view = common.open(wishes.tape);
  if (!view) return fail(view.error());
  if (const auto selected = select(view.value(), wishes, options.value().selection); !selected)
    return fail(selected.error());
  const CpuReport report = make_cpu_report(view.value(), options.value(), filter.value());
  if (report.times.empty()) return fail({ErrorCode::NotFound, no_cpu_sentence(view.value().tape(), wishes.segment)});
  if (!wishes.format.empty()) return write_pictures(view.value(), wishes, options.value(), filter.value());
  Output output;
  if (wishes.json) {
    JsonWriter writer;
    write_cpu_json(writer, view.value(), report, options.value());
    output.print("{}\n", with_damage(writer.text(), view.value().damage()));
  } else {
    output.fold_lines();
    output.print("{}", cpu_text(view.value(), report, options.value(), style.value()));
  }
  return output.finish() ? kOk : kTrouble;
}

} // namespace heaptape::cli
