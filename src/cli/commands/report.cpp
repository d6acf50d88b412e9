// heaptape report, and its short forms leaks and peak.
#include <algorithm>
#include <optional>

#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/commands/cpu.h"
#include "cli/options/by_pid.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/figures/allocation_cost.h"
#include "report/figures/costs.h"
#include "report/figures/tree_text.h"
#include "report/pages/loss_text.h"
#include "report/pages/overview.h"
#include "report/pages/tape_facts.h"
#include "report/text/mark_text.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape report [options] [TAPE]",
    .purpose = "Shows what a program did with its heap: a first page with what stands out, then trees of the call "
               "stacks behind it. With --leaks, --peak, ... only those trees.",
    .more = R"(A moment is a time (12.5s, 200ms), an event number, a mark set by the program, or start, peak, end.
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
constexpr CommandHelp kLeaksHelp{.usage = "heaptape leaks [options] [TAPE]",
                                 .purpose = "What was still live at the end, as a tree: heaptape report --leaks.",
                                 .more = "'heaptape report --help' explains the tree.\n"};
constexpr CommandHelp kPeakHelp{.usage = "heaptape peak [options] [TAPE]",
                                .purpose =
                                    "What was live when the heap was largest, as a tree: heaptape report --peak.",
                                .more = "'heaptape report --help' explains the tree.\n"};

struct Wishes {
  std::string tape, at, from, to;
  std::string by = "function";
  bool leaks = false, peak = false, maximum = false, no_maximum = false, allocations = false, temporary = false;
  bool snapshots = false, deltas = false, cumulative = false, cost = false;
  bool bottom_up = false, top_down = false, expand = false, json = false;
  double threshold = 1.0;
  unsigned depth = 0;

  bool any_tree() const {
    return leaks || peak || allocations || temporary || snapshots || deltas || cumulative || cost || !at.empty() ||
           !from.empty() || !to.empty();
  }
};

struct Section {
  std::string name;  // in JSON
  std::string title; // for people
  std::vector<StackCost> costs;
  Measure measure = Measure::Bytes;
};

std::string moment_text(const Moment& moment) {
  const std::string place = seconds_text(moment.time_us) + " s, event " + with_separators(moment.event);
  return moment.label.empty() || moment.label[0] == '.' || (moment.label[0] >= '0' && moment.label[0] <= '9')
             ? place
             : moment.label + " (" + place + ")";
}

Result<TreeOptions> tree_options(const Wishes& wishes) {
  TreeOptions options{.threshold_percent = wishes.threshold, .depth = wishes.depth};
  if (wishes.top_down && wishes.bottom_up)
    return Error{ErrorCode::Usage, "--top-down and --bottom-up exclude each other"};
  if (wishes.top_down) options.direction = TreeDirection::TopDown;
  if (wishes.threshold < 0 || wishes.threshold > 100) {
    return Error{ErrorCode::Usage, "--threshold is a percentage from 0 to 100"};
  }
  static constexpr std::array kWords{std::pair{"function", GroupBy::Function}, std::pair{"line", GroupBy::Line},
                                     std::pair{"file", GroupBy::File},         std::pair{"module", GroupBy::Module},
                                     std::pair{"thread", GroupBy::Thread},     std::pair{"size", GroupBy::Size}};
  for (const auto& [word, by] : kWords) {
    if (wishes.by != word) continue;
    options.by = by;
    return options;
  }
  return Error{ErrorCode::Usage, "--by is function, line, file, module, thread or size, not '" + wishes.by + "'"};
}

class Report {
public:
  Report(const TapeView& view, const Wishes& wishes, const TreeOptions& tree, FrameFilter filter, Filter where,
         Suppressions suppressions)
      : view_(view), wishes_(wishes), tree_(tree), filter_(std::move(filter)), where_(std::move(where)),
        suppressions_(std::move(suppressions)), sizes_(tree.by == GroupBy::Size ? Sizes::Apart : Sizes::Together),
        running_(is_up_to_date(view.path())) {}

  Result<> gather() {
    const bool window = !wishes_.from.empty() || !wishes_.to.empty();
    if (!wishes_.any_tree() && !where_.matches_everything()) {
      // The first page is about the whole run; of a part of the blocks there are trees.
      for (const CostKind kind : {CostKind::Peak, CostKind::Leaks, CostKind::Allocations}) add_kind(kind);
      return Unit{};
    }
    if (!wishes_.any_tree()) {
      overview_ = make_overview(view_, suppressions_, filter_);
      describe_run();
      suppressions_used_ = suppressions_.entries();
      add_kind(CostKind::Peak);
      add_kind(CostKind::Leaks);
      return Unit{};
    }
    if (wishes_.cost) {
      if (view_.tape().cpu().samples.empty()) return Error{ErrorCode::NotFound, no_cpu_sentence(view_.tape(), 0)};
      if (view_.tape().event_count() == 0)
        return Error{ErrorCode::NotFound, "there are no heap events on this tape; record without --no-heap"};
      cost_ = make_allocation_cost(view_, filter_);
    }
    if (wishes_.leaks) add_kind(CostKind::Leaks);
    if (wishes_.peak) add_kind(CostKind::Peak);
    if (wishes_.allocations && !window) add_kind(CostKind::Allocations);
    if (wishes_.temporary) add_kind(CostKind::Temporary);
    if (!wishes_.at.empty()) {
      const Result<Moment> moment = view_.moment(wishes_.at);
      if (!moment) return moment.error();
      add("at", "Live at " + moment_text(moment.value()), live_costs(view_, moment.value(), sizes_, &where_));
    }
    if (window) {
      if (const Result<> added = add_window(); !added) return added.error();
    }
    if (wishes_.snapshots || wishes_.deltas || wishes_.cumulative) {
      const std::vector<Mark> snapshots = snapshots_of(numbered(view_.marks()));
      if (snapshots.empty()) return Error{ErrorCode::Usage, "the program set no marks on this tape"};
      add_marks(snapshots);
    }
    return Unit{};
  }

  std::string text(const TextStyle& style) {
    std::string out;
    if (overview_) {
      out += overview_text(view_, *overview_, style) + "\n";
      if (const std::string moments = moments_text(view_.marks(), style); !moments.empty()) out += moments + "\n";
    }
    constexpr std::size_t kCostRows = 20;
    if (cost_) out += allocation_cost_text(view_, *cost_, kCostRows, style) + (sections_.empty() ? "" : "\n");
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      Section& section = sections_[i];
      const Cost total = sum_of(section.costs);
      if (i != 0) out += "\n";
      out += heading(section.title, total, style);
      const TreeOptions tree = tree_of(section, total);
      out += tree_text(view_.names(), view_.tape().threads(), make_call_tree(view_.names(), section.costs, tree),
                       {.tree = tree, .style = style, .expand = wishes_.expand});
    }
    return out + suppressions_text();
  }

  std::string json() {
    JsonWriter json;
    json.begin_object().field("tape", std::string_view(view_.path()));
    if (overview_) {
      write_overview_json(json, view_, *overview_);
      json.key("marks").begin_array();
      for (const Mark& mark : moments_of(view_.marks())) {
        json.begin_object();
        write_mark_fields(json, mark);
        json.end_object();
      }
      json.end_array();
    }
    if (cost_) {
      json.key("cost");
      write_allocation_cost_json(json, view_, *cost_);
    }
    json.key("trees").begin_array();
    for (Section& section : sections_) {
      const Cost total = sum_of(section.costs);
      json.begin_object().field("name", std::string_view(section.name)).field("title", std::string_view(section.title));
      json.field("bytes", total.bytes).field("blocks", total.blocks).key("tree");
      write_tree_json(json, view_.names(), view_.tape().threads(),
                      make_call_tree(view_.names(), section.costs, tree_of(section, total)));
      json.end_object();
    }
    json.end_array().key("suppressions").begin_array();
    for (const Suppression& entry : used()) {
      json.begin_object().field("name", std::string_view(entry.name));
      json.field("bytes", entry.used.bytes).field("blocks", entry.used.blocks).end_object();
    }
    json.end_array().end_object();
    return json.text() + "\n";
  }

private:
  // On a narrow terminal the size goes below the title, without its exact form when even that is too long.
  static std::string heading(const std::string& title, const Cost& total, const TextStyle& style) {
    const std::string blocks = " in " + count_of(total.blocks, "block");
    const std::string size = exact_bytes_text(total.bytes) + blocks;
    if (style.width == 0 || columns_of(title) + 2 + columns_of(size) <= style.width) {
      return style.bold(title) + ": " + size + "\n";
    }
    const bool fits = columns_of(size) + 2 <= style.width;
    return style.bold(shortened(title, style.width)) + "\n  " + (fits ? size : bytes_text(total.bytes) + blocks) + "\n";
  }

  // Blocks of no bytes weigh something all the same.
  TreeOptions tree_of(const Section& section, const Cost& total) const {
    TreeOptions tree = tree_;
    tree.measure = total.bytes == 0 ? Measure::Blocks : section.measure;
    return tree;
  }

  void add(std::string name, std::string title, std::vector<StackCost> costs, Measure measure = Measure::Bytes) {
    keep_accepted(view_.names(), filter_, costs);
    sections_.push_back({std::move(name), std::move(title), std::move(costs), measure});
  }

  void add_kind(CostKind kind) {
    std::vector<StackCost> costs = costs_of(view_, kind, sizes_, &where_);
    std::string title;
    switch (kind) {
    case CostKind::Leaks:
      title = running_ ? "Live now" : "Still live at the end";
      apply_suppressions(costs);
      break;
    case CostKind::Peak: {
      const HeapTotals& totals = view_.answers().totals;
      title = "Peak";
      if (totals.peak_event != 0) {
        title += " at " + seconds_text(totals.peak_us) + " s, event " + with_separators(totals.peak_event);
      }
      break;
    }
    case CostKind::Allocations: title = "Allocated"; break;
    case CostKind::Temporary: title = "Temporary"; break;
    }
    add(cost_kind_name(kind), title, std::move(costs), measure_of(kind));
  }

  // The first page has taken the leaks out already when it is shown; they are the same ones.
  void apply_suppressions(std::vector<StackCost>& costs) {
    suppressions_.apply(view_.names(), costs);
    if (!overview_) suppressions_used_ = suppressions_.entries();
  }

  Result<> add_window() {
    const Result<Moment> from = view_.moment(wishes_.from.empty() ? "start" : wishes_.from);
    const Result<Moment> to = view_.moment(wishes_.to.empty() ? "end" : wishes_.to);
    if (!from) return from.error();
    if (!to) return to.error();
    if (from.value().event > to.value().event) return Error{ErrorCode::Usage, "--from lies behind --to"};
    const std::string between = " between " + moment_text(from.value()) + " and " + moment_text(to.value());
    const bool all = wishes_.allocations;
    add("window", all ? "Allocated" + between : "Allocated" + between + " and then still live",
        window_costs(view_, from.value(), to.value(), all ? WindowPart::All : WindowPart::StillLive, sizes_, &where_));
    return Unit{};
  }

  void add_marks(const std::vector<Mark>& snapshots) {
    std::optional<Moment> first;
    Moment before{0, 0, "the start"};
    for (const Mark& mark : snapshots) {
      const Moment now{mark.event, mark.time_us, "'" + printable(mark.name) + "'"};
      const std::string name = moment_text(now);
      if (wishes_.snapshots) add("snapshot", "Live at " + name, live_costs(view_, now, sizes_, &where_));
      if (wishes_.deltas) {
        add("delta", "New at " + name + " since " + before.label,
            window_costs(view_, before, now, WindowPart::StillLive, sizes_, &where_));
      }
      if (wishes_.cumulative && first) {
        add("cumulative", "New at " + name + " since " + first->label,
            window_costs(view_, *first, now, WindowPart::StillLive, sizes_, &where_));
      }
      if (!first) first = now;
      before = now;
    }
  }

  void describe_run() {
    const TapeReader& tape = view_.tape();
    if (const auto command = tape.meta().find("command"); command != tape.meta().end()) {
      overview_->command = command_text(split_command(command->second));
    }
    if (tape.summary()) {
      const Summary& summary = *tape.summary();
      const bool well = summary.ending == Ending::Exited && summary.ending_detail == 0 && summary.note.empty();
      if (!well) overview_->ending = ending_text(summary, true);
      for (const auto& [name, count] : summary.losses)
        overview_->not_seen.push_back(name + ": " + loss_sentence(name, count));
    } else {
      overview_->ending = running_ ? "not yet: it is still running" : ending_text({}, false);
    }
    const Answers& answers = view_.answers();
    if (const std::uint64_t unknown = answers.totals.unknown_releases; unknown != 0) {
      overview_->not_seen.push_back(count_of(unknown, "block") + " freed that " + (unknown == 1 ? "was" : "were") +
                                    " not live then; 'heaptape verify' tells double frees");
    }
    if (answers.unread_events != 0) {
      overview_->not_seen.push_back(count_of(answers.unread_events, "event") + " in damaged parts of the tape");
    }
    if (!overview_->memory) overview_->not_seen.push_back("the kernel was not asked about the program's memory");
  }

  std::vector<Suppression> used() const {
    std::vector<Suppression> entries = suppressions_used_;
    std::erase_if(entries, [](const Suppression& entry) { return entry.used == Cost{}; });
    return entries;
  }

  std::string suppressions_text() const {
    const std::vector<Suppression> entries = used();
    if (entries.empty()) return {};
    std::string out = "\nSuppressions used:\n  count      bytes template\n";
    for (const Suppression& entry : entries) {
      out += fmt::format("{:>7} {:>10} {}\n", entry.used.blocks, entry.used.bytes, printable(entry.name));
    }
    return out;
  }

  const TapeView& view_;
  const Wishes& wishes_;
  TreeOptions tree_;
  FrameFilter filter_;
  Filter where_;
  Suppressions suppressions_;
  std::vector<Suppression> suppressions_used_;
  Sizes sizes_;
  bool running_; // the program was asked a moment ago
  std::optional<Overview> overview_;
  std::optional<AllocationCost> cost_;
  std::vector<Section> sections_;
};

void add_tree_options(OptionList& list, Wishes& wishes) {
  list.number("--threshold PERCENT", wishes.threshold, "leave out places below this share of the total (default: 1)");
  list.number("--depth N", wishes.depth, "show at most N levels");
  list.flag("--bottom-up", wishes.bottom_up, "innermost functions first, callers below (default)");
  list.flag("--top-down", wishes.top_down, "outermost functions first, callees below");
  list.text("--by WHAT", wishes.by, "function (default), line, file, module, thread or size")
      .one_of({"function", "line", "file", "module", "thread", "size"});
  list.flag("--expand", wishes.expand, "show every frame on a line of its own, even where nothing branches off");
  list.flag("--json", wishes.json, "print everything as one JSON object");
}

void add_kind_options(OptionList& list, Wishes& wishes) {
  list.flag("--leaks", wishes.leaks, "what was still live at the end");
  list.flag("--peak", wishes.peak, "what was live when the heap was largest");
  list.flag("--maximum", wishes.maximum, "the same as --peak");
  // The peak costs nothing extra here, so there is nothing to leave out.
  list.flag("--no-maximum", wishes.no_maximum, "accepted for compatibility; has no effect");
  list.flag("--allocations", wishes.allocations,
            "everything ever allocated; with --from or --to, everything in between");
  list.flag("--cost", wishes.cost, "CPU time in allocation functions, by caller; needs a recording with --cpu");
  list.flag("--temporary", wishes.temporary, "blocks that their thread freed as its very next event");
  list.text("--at MOMENT", wishes.at, "what was live at a moment");
  list.text("--from MOMENT", wishes.from, "what was allocated after this moment and still live at --to");
  list.text("--to MOMENT", wishes.to, "the later moment (default: the end of the tape)");
  list.flag("--snapshots", wishes.snapshots, "what was live at each mark of the program");
  list.flag("--deltas", wishes.deltas, "what is new at each mark since the one before");
  list.flag("--cumulative", wishes.cumulative, "what is new at each mark since the first one");
}

int run(const char* command, const CommandHelp& help, Wishes wishes, Arguments arguments) {
  const bool whole = !wishes.any_tree();
  ReportOptions options;
  OptionList list(command);
  if (whole) add_kind_options(list, wishes);
  add_tree_options(list, wishes);
  options.add_where(list);
  options.add_filters(list);
  options.add_suppressions(list);
  options.add_names_and_color(list);
  list.word("TAPE", wishes.tape);
  if (const auto status = parse(list, help, arguments)) return *status;
  wishes.peak |= wishes.maximum;

  const Result<TreeOptions> tree = tree_options(wishes);
  if (!tree) return fail(tree.error());
  const Result<TextStyle> style = options.style();
  if (!style) return fail(style.error());
  Result<FrameFilter> filter = options.filter();
  if (!filter) return fail(filter.error());
  const Result<TapeView> view = options.open(wishes.tape);
  if (!view) return fail(view.error());
  Result<Suppressions> suppressions = options.suppressions(view.value().tape());
  if (!suppressions) return fail(suppressions.error());

  Result<Filter> where = options.where(view.value());
  if (!where) return fail(where.error());

  Report report(view.value(), wishes, tree.value(), std::move(filter).value(), std::move(where).value(),
                std::move(suppressions).value());
  if (const Result<> gathered = report.gather(); !gathered) return fail(gathered.error());
  Output output;
  output.print("{}", wishes.json ? report.json() : report.text(style.value()));
  return output.finish() ? kOk : kTrouble;
}

} // namespace

int report(Arguments arguments) { return run("report", kHelp, {}, arguments); }

int leaks(Arguments arguments) {
  Wishes wishes;
  wishes.leaks = true;
  return run("leaks", kLeaksHelp, std::move(wishes), arguments);
}

int peak(Arguments arguments) {
  Wishes wishes;
  wishes.peak = true;
  return run("peak", kPeakHelp, std::move(wishes), arguments);
}

} // namespace heaptape::cli
