// heaptape timeline: the heap over time as a picture.
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "cli/terminal/terminal.h"
#include "report/pages/timeline_text.h"
#include "report/text/json_writer.h"
#include "report/text/mark_text.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape timeline [options] [TAPE]",
    .purpose =
        "Draws the live heap over the time of the run, with the program's resident memory as a line, the peak and the "
        "program's marks.",
    .more =
        R"(Each column shows the highest value in its stretch of time, so no peak is lost. --csv and --json give numbers at
the finest resolution of the tape's index.

Examples:
  heaptape timeline app.tape
  heaptape timeline --csv app.tape > heap.csv
)"};

struct Column {
  const char* name;
  std::uint64_t TimeBucket::*value;
};
constexpr std::array kColumns{Column{"min_bytes", &TimeBucket::min_bytes},
                              Column{"max_bytes", &TimeBucket::max_bytes},
                              Column{"last_bytes", &TimeBucket::last_bytes},
                              Column{"min_blocks", &TimeBucket::min_blocks},
                              Column{"max_blocks", &TimeBucket::max_blocks},
                              Column{"last_blocks", &TimeBucket::last_blocks},
                              Column{"allocated_bytes", &TimeBucket::allocated_bytes},
                              Column{"events", &TimeBucket::events},
                              Column{"rss_bytes", &TimeBucket::rss_bytes},
                              Column{"anonymous_bytes", &TimeBucket::anonymous_bytes}};

void print_csv(Output& output, const TimelineLevel& level) {
  output.print("time_us");
  for (const Column& column : kColumns) output.print(",{}", column.name);
  output.print("\n");
  for (std::size_t i = 0; i < level.buckets.size(); ++i) {
    output.print("{}", i * level.bucket_us);
    for (const Column& column : kColumns) output.print(",{}", level.buckets[i].*column.value);
    output.print("\n");
    output.write_if_full();
  }
}

void print_json(Output& output, const TapeView& view) {
  const Answers& answers = view.answers();
  const TimelineLevel& level = answers.timeline.levels.back();
  JsonWriter json;
  json.begin_object().field("tape", std::string_view(view.path())).field("end_us", answers.end_us);
  json.field("bucket_us", level.bucket_us).field("peak_us", answers.totals.peak_us);
  json.field("peak_bytes", answers.totals.peak_bytes).key("marks").begin_array();
  for (const Mark& mark : view.marks()) {
    json.begin_object();
    write_mark_fields(json, mark);
    json.end_object();
  }
  json.end_array();
  for (const Column& column : kColumns) {
    json.key(column.name).begin_array();
    for (const TimeBucket& bucket : level.buckets) json.value(bucket.*column.value);
    json.end_array();
  }
  json.end_object();
  output.print("{}\n", json.text());
}

} // namespace

int timeline(Arguments arguments) {
  std::string tape;
  bool json = false, csv = false;
  std::size_t height = 16;
  ReportOptions common;
  OptionList list("timeline");
  list.number("--height N", height, "rows of the picture (default: 16)");
  list.flag("--csv", csv, "print a line of numbers per stretch of time");
  list.flag("--json", json, "print a JSON object with an array per figure");
  common.add_names_and_color(list);
  list.word("TAPE", tape);
  if (const auto status = parse(list, kHelp, arguments)) return *status;

  constexpr std::size_t kHighest = 200;
  if (height < 2 || height > kHighest) return fail({ErrorCode::Usage, "--height must be from 2 to 200"});
  const Result<TextStyle> style = common.style();
  if (!style) return fail(style.error());
  const Result<TapeView> view = common.open(tape);
  if (!view) return fail(view.error());
  const Answers& answers = view.value().answers();
  Output output;
  if (csv)
    print_csv(output, answers.timeline.levels.back());
  else if (json)
    print_json(output, view.value());
  else
    output.print("{}", timeline_text(answers, view.value().marks(),
                                     {.width = picture_width(style.value()), .height = height}, style.value()));
  return output.finish() ? kOk : kTrouble;
}

} // namespace heaptape::cli
