#include "shell/all_commands.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "analysis/space/heap_over_time.h"
#include "base/number_text.h"
#include "base/output_file.h"
#include "base/path_text.h"
#include "report/map/heap_map.h"
#include "report/map/map_classes.h"
#include "report/map/map_picture.h"
#include "report/map/map_text.h"

namespace heaptape {
namespace {

template <class Value>
struct Choice {
  std::string_view word;
  Value value;
};
constexpr std::array kZooms = std::to_array<Choice<MapZoom>>(
    {{"all", MapZoom::All}, {"arena", MapZoom::Arena}, {"64k", MapZoom::Pages16}, {"page", MapZoom::Page}});
constexpr std::array kBys = std::to_array<Choice<MapBy>>(
    {{"density", MapBy::Density}, {"size", MapBy::Size}, {"age", MapBy::Age}, {"stack", MapBy::Stack}});
constexpr std::array kAxes = std::to_array<Choice<TimeAxis>>({{"time", TimeAxis::Time}, {"events", TimeAxis::Events}});

template <class Value, std::size_t N>
Result<Value> chosen(std::string_view option, const std::string& word, const std::array<Choice<Value>, N>& choices) {
  std::string all;
  for (const Choice<Value>& choice : choices) {
    if (choice.word == word) return choice.value;
    all += (all.empty() ? "" : ", ") + std::string(choice.word);
  }
  return Error{ErrorCode::Usage, fmt::format("{} is one of: {}; not '{}'", option, all, word)};
}

struct Options {
  std::optional<std::string> address; // none: "*"
  std::optional<MapZoom> zoom;
  MapBy by = MapBy::Density;
  std::optional<TimeAxis> over;
  std::optional<std::string> png, svg, at, from, to;
  bool json = false, force = false;

  bool draws() const { return png || svg; }
};

// Everything but what the words mean on this tape.
Result<Options> parse(Call& call) {
  Options options;
  options.json = call.flag("--json");
  options.force = call.flag("--force");
  options.png = call.option("--png");
  options.svg = call.option("--svg");
  options.at = call.option("--at");
  options.from = call.option("--from");
  options.to = call.option("--to");
  if (const std::optional<std::string>& word = call.option("--by")) {
    const Result<MapBy> by = chosen("--by", *word, kBys);
    if (!by) return by.error();
    options.by = by.value();
  }
  if (const std::optional<std::string>& word = call.option("--zoom")) {
    const Result<MapZoom> level = chosen("--zoom", *word, kZooms);
    if (!level) return level.error();
    options.zoom = level.value();
  }
  if (const std::optional<std::string>& word = call.option("--over")) {
    const Result<TimeAxis> axis = chosen("--over", *word, kAxes);
    if (!axis) return axis.error();
    options.over = axis.value();
  }
  options.address = call.next();
  if (options.address == "*") options.address.reset();
  if (const Result<> rest = call.finish(); !rest) return rest.error();
  return options;
}

// What does not go together.
std::optional<Error> refuse(const Options& options) {
  const auto usage = [](std::string_view text) { return Error{ErrorCode::Usage, std::string(text)}; };
  if (options.png && options.svg) return usage("choose one of --png and --svg");
  if (options.json && options.draws()) return usage("choose one of --json, --png and --svg");
  if (options.force && !options.draws()) return usage("--force overwrites a picture; add --png FILE or --svg FILE");
  if (options.over) {
    if (!options.draws()) return usage("--over draws a picture; add --png FILE or --svg FILE");
    if (options.address || options.zoom) return usage("--over shows the whole heap; leave out the address and --zoom");
    if (options.by != MapBy::Density) return usage("--over shows how full places are; leave out --by");
    if (options.at) return usage("--over shows a stretch of the run; choose it with --from and --to instead of --at");
    return std::nullopt;
  }
  if (options.from || options.to)
    return usage("--from and --to choose the stretch of --over; a moment is chosen with --at");
  if (options.zoom && *options.zoom != MapZoom::All && !options.address)
    return usage("--zoom needs the address to look at: map ADDR --zoom page");
  return std::nullopt;
}

Result<> deliver(const std::string& tape, const Options& options, const std::string& picture, Printer& out) {
  const std::string& path = options.png ? *options.png : *options.svg;
  if (path == "-") {
    out.print(picture);
    return Unit{};
  }
  if (same_file(path, tape))
    return Error{ErrorCode::Usage, "'" + printable(path) + "' is the tape itself; give the picture another name"};
  Result<OutputFile> file = OutputFile::create({.path = path, .overwrite = options.force});
  if (!file) return file.error();
  if (const Result<> wrote = file.value().write(picture); !wrote) return wrote.error();
  if (const Result<> kept = file.value().keep(); !kept) return kept.error();
  out.print(fmt::format("{} written, {}\n", printable(path), bytes_text(picture.size())));
  return Unit{};
}

PictureFormat format_of(const Options& options) { return options.png ? PictureFormat::Png : PictureFormat::Svg; }

std::string tape_name(const Session& session) { return printable(base_name(session.view().path())); }

Result<> draw_over(Session& session, const Options& options, Printer& out) {
  // A picture that could not be kept is better refused before the work.
  if (const Result<OutputFile> file = OutputFile::create({options.png ? *options.png : *options.svg, options.force});
      !file)
    return file.error();
  Moment from{}, to{session.last_event(), session.last_us()};
  if (options.from) {
    Result<Moment> moment = session.position(*options.from);
    if (!moment) return moment.error();
    from = std::move(moment).value();
  }
  if (options.to) {
    Result<Moment> moment = session.position(*options.to);
    if (!moment) return moment.error();
    to = std::move(moment).value();
  }
  if (from.event >= to.event) return Error{ErrorCode::Usage, "--from must be before --to"};
  AskOverTime ask{
      .after = from.event, .until = to.event, .from_us = from.time_us, .to_us = to.time_us, .axis = *options.over};
  ask.should_stop = session.stopper();
  const HeapOverTime heap = heap_over_time(session.tape(), session.view().index(), ask);
  if (!heap.whole) {
    out.print("stopped; nothing was written\n");
    return Unit{};
  }
  OverTimeLabels labels;
  labels.axis = ask.axis;
  labels.from = ask.axis == TimeAxis::Time ? from.time_us : from.event;
  labels.to = ask.axis == TimeAxis::Time ? to.time_us : to.event;
  const bool by_time = ask.axis == TimeAxis::Time;
  labels.title = fmt::format("{}: how full the heap was, {} to {}", tape_name(session),
                             by_time ? duration_text(from.time_us) : "event " + with_separators(from.event),
                             by_time ? duration_text(to.time_us) : with_separators(to.event));
  const Result<std::string> picture = draw_over_time(heap, labels, format_of(options));
  if (!picture) return picture.error();
  return deliver(session.view().path(), options, picture.value(), out);
}

Result<> draw_moment(Session& session, const Options& options, Printer& out) {
  AskMap ask;
  ask.should_stop = session.stopper();
  if (options.address) {
    const Result<std::uint64_t> address = session.address(*options.address);
    if (!address) return address.error();
    ask.address = address.value();
    ask.zoom = options.zoom.value_or(MapZoom::Arena);
  }
  ask.columns = options.draws() ? kPictureColumns : map_columns(session.style.width);
  if (options.draws()) ask.rows = kPictureRows;
  const HeapState& state = session.heap().state();
  const AddressSpace& space = session.space();
  const Result<HeapMap> made = make_heap_map(session.tape(), session.view().index(), state, space, ask);
  if (!made) return made.error();
  const HeapMap& map = made.value();
  if (options.json) {
    out.print(map_json(map, session.names()));
    return Unit{};
  }
  const MapClasses classes(map, options.by, &session.names());
  if (!options.draws()) {
    out.print(map_text(map, classes, session.names(), session.style));
    return Unit{};
  }
  const HeapTotals& totals = state.totals();
  const std::string title = fmt::format("{}: heap after event {}, {}: {} live in {}", tape_name(session),
                                        with_separators(session.event()), duration_text(session.time_us()),
                                        bytes_text(totals.live_bytes), count_of(totals.live_blocks, "block"));
  const Result<std::string> picture = draw_map(map, classes, title, format_of(options));
  if (!picture) return picture.error();
  return deliver(session.view().path(), options, picture.value(), out);
}

Result<> run(Session& session, Call& call, Printer& out) {
  const Result<Options> parsed = parse(call);
  if (!parsed) return parsed.error();
  const Options& options = parsed.value();
  if (const std::optional<Error> error = refuse(options)) return *error;
  if (options.over) return draw_over(session, options, out);
  if (!options.at) return draw_moment(session, options, out);
  const Moment before{session.event(), session.time_us(), {}};
  const Result<Moment> moment = session.position(*options.at);
  if (!moment) return moment.error();
  session.move_to(moment.value());
  const Result<> drawn = draw_moment(session, options, out);
  session.move_to(before);
  return drawn;
}

constexpr CommandOption kOptions[] = {
    {"--zoom LEVEL",
     "how close: arena (default with an address), 64k, or page, where every block is listed; all is the whole heap",
     "all arena 64k page"},
    {"--by,--color-by WHAT",
     "what letters or colours show: density (default), size (largest block in the cell), age (oldest), or stack (who "
     "holds most of it); also --color-by",
     "density size age stack"},
    {"--at POSITION", "the heap at another moment; the cursor stays"},
    {"--json", "ranges and cells as numbers"},
    {"--png FILE", "the same as a large picture"},
    {"--svg FILE", "likewise"},
    {"--over WHAT",
     "with --png or --svg: addresses over the time of the run, to see the heap grow and fragment; 'events' "
     "counts events instead of time",
     "time events"},
    {"--from POSITION", "the stretch of the run for --over (default: all of it)"},
    {"--to POSITION", "its end"},
    {"--force", "overwrite FILE"},
};

} // namespace

const Command kMapCommand{.name = "map",
                          .arguments = "[ADDR|*]",
                          .summary = "the heap as a picture: what is full, free, or never used",
                          .help = R"(Draws the ranges that hold heap, each cut into cells, and says how fragmented
each is. With an address: only the range around it, with the address marked.

Free cells that were used before differ from those that never were. On tapes
of many millions of events this is known from keyframes only, and the legend
says so.
)",
                          .example = "map --at peak --by stack",
                          .group = CommandGroup::Memory,
                          .takes = Takes::Address,
                          .run = run,
                          .options = kOptions};

} // namespace heaptape
