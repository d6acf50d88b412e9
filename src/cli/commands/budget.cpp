// heaptape budget: whether a run stayed within limits, as an exit status for continuous integration.
#include <optional>

#include "analysis/moment/heap_cursor.h"
#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/figures/costs.h"
#include "report/figures/worst_text.h"
#include "report/pages/overview.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape budget [options] [TAPE]",
    .purpose = "Checks a run against limits and reports on each. Exits with 0 when all hold and with 1 when one does "
               "not, so a build can fail on it.",
    .more =
        R"(SIZE is in bytes: 4096, 12kB, 200M, 1.5GiB. With --no-growth the heap must not be larger at any later moment
than at the first; a moment is a mark of the program, a time (12.5s), an event number, or start, peak, end.

Examples:
  heaptape budget --max-peak 200M --max-leaked 0 --suppressions my.supp a.tape
  heaptape budget --no-growth warm-up done app.tape
)"};

struct Limits {
  std::string tape, max_peak, max_leaked, max_allocated;
  std::optional<std::uint64_t> max_leaked_blocks, max_allocations, max_temporary;
  std::vector<std::string> no_growth;
  bool json = false;

  bool empty() const {
    return max_peak.empty() && max_leaked.empty() && max_allocated.empty() && !max_leaked_blocks && !max_allocations &&
           !max_temporary && no_growth.empty();
  }
};

struct Verdict {
  std::string name; // of the limit
  std::string text; // "peak 13.9 MB, allowed 200 MB"
  std::uint64_t value = 0, limit = 0;
  std::vector<StackCost> culprits{}; // the stacks to blame when it is over
  Measure measure = Measure::Bytes;

  bool holds() const { return value <= limit; }
};

class Budget {
public:
  Budget(const TapeView& view, FrameFilter filter, Suppressions suppressions)
      : view_(view), filter_(std::move(filter)), suppressions_(std::move(suppressions)) {}

  Result<> check(const Limits& limits) {
    const Answers& answers = view_.answers();
    if (const Result<> done = bytes("max-peak", "peak", limits.max_peak, CostKind::Peak); !done) return done;
    if (const Result<> done = bytes("max-leaked", "still live at the end", limits.max_leaked, CostKind::Leaks); !done)
      return done;
    if (limits.max_leaked_blocks)
      blocks("max-leaked-blocks", "still live at the end", *limits.max_leaked_blocks, CostKind::Leaks);
    if (const Result<> done = bytes("max-allocated", "allocated", limits.max_allocated, CostKind::Allocations); !done)
      return done;
    if (limits.max_allocations) blocks("max-allocations", "allocated", *limits.max_allocations, CostKind::Allocations);
    if (limits.max_temporary) blocks("max-temporary", "temporary", *limits.max_temporary, CostKind::Temporary);
    if (answers.unread_events != 0) {
      return Error{ErrorCode::Malformed, "the tape is damaged, so its limits cannot be checked"};
    }
    return growth(limits.no_growth);
  }

  const std::vector<Verdict>& verdicts() const { return verdicts_; }

private:
  std::vector<StackCost> costs(CostKind kind) {
    std::vector<StackCost> list = costs_of(view_, kind);
    keep_accepted(view_.names(), filter_, list);
    if (kind == CostKind::Leaks) suppressions_.apply(view_.names(), list);
    return list;
  }

  Result<> bytes(const char* name, const char* what, const std::string& limit, CostKind kind) {
    if (limit.empty()) return Unit{};
    const Result<std::uint64_t> allowed = parse_bytes(limit);
    if (!allowed) return allowed.error();
    std::vector<StackCost> list = costs(kind);
    const std::uint64_t value = sum_of(list).bytes;
    verdicts_.push_back({name,
                         fmt::format("{}: {}, allowed {}", what, exact_bytes_text(value), bytes_text(allowed.value())),
                         value, allowed.value(), std::move(list)});
    return Unit{};
  }

  void blocks(const char* name, const char* what, std::uint64_t allowed, CostKind kind) {
    std::vector<StackCost> list = costs(kind);
    const std::uint64_t value = sum_of(list).blocks;
    verdicts_.push_back({name,
                         fmt::format("{}: {}, allowed {}", what, count_of(value, "block"), with_separators(allowed)),
                         value, allowed, std::move(list), Measure::Blocks});
  }

  Result<> growth(const std::vector<std::string>& names) {
    std::vector<Moment> moments;
    for (const std::string& name : names) {
      Result<Moment> moment = view_.moment(name);
      if (!moment) return moment.error();
      moments.push_back(moment.value());
    }
    for (std::size_t i = 1; i < moments.size(); ++i) {
      const Moment &first = moments[0], &now = moments[i];
      if (now.event < first.event)
        return Error{ErrorCode::Usage, "--no-growth: " + now.label + " is earlier than " + first.label};
      const std::uint64_t before = live_bytes(first), after = live_bytes(now);
      std::vector<StackCost> list = window_costs(view_, first, now, WindowPart::StillLive);
      keep_accepted(view_.names(), filter_, list);
      verdicts_.push_back({"no-growth",
                           fmt::format("growth: {} at {}, {} at {}", bytes_text(before), printable(first.label),
                                       bytes_text(after), printable(now.label)),
                           after, before, std::move(list)});
    }
    return Unit{};
  }

  std::uint64_t live_bytes(const Moment& moment) {
    std::vector<StackCost> list = live_costs(view_, moment);
    keep_accepted(view_.names(), filter_, list);
    return sum_of(list).bytes;
  }

  const TapeView& view_;
  FrameFilter filter_;
  Suppressions suppressions_;
  std::vector<Verdict> verdicts_;
};

void print_text(Output& output, const TapeView& view, const std::vector<Verdict>& verdicts, const TextStyle& style) {
  for (const Verdict& verdict : verdicts) {
    output.print("{}  {}\n", verdict.holds() ? style.good("ok  ") : style.alarm("OVER"), verdict.text);
    if (verdict.holds()) continue;
    const Worst worst =
        worst_functions(view.names(), verdict.culprits, {.rows = 3, .callers = 3, .measure = verdict.measure});
    output.print("{}", worst_text(view.names(), worst, verdict.measure, style));
  }
}

void print_json(Output& output, const TapeView& view, const std::vector<Verdict>& verdicts) {
  JsonWriter json;
  json.begin_array();
  for (const Verdict& verdict : verdicts) {
    json.begin_object().field("limit", std::string_view(verdict.name)).field("holds", verdict.holds());
    json.field("value", verdict.value).field("allowed", verdict.limit).field("text", std::string_view(verdict.text));
    if (!verdict.holds()) {
      write_worst_json(json.key("worst"), view.names(),
                       worst_functions(view.names(), verdict.culprits, {.measure = verdict.measure}));
    }
    json.end_object();
  }
  output.print("{}\n", json.end_array().text());
}

} // namespace

int budget(Arguments arguments) {
  Limits limits;
  ReportOptions common;
  OptionList list("budget");
  list.text("--max-peak SIZE", limits.max_peak, "most bytes live at once");
  list.text("--max-leaked SIZE", limits.max_leaked, "most bytes still live at the end");
  list.number("--max-leaked-blocks N", limits.max_leaked_blocks, "most blocks still live at the end");
  list.text("--max-allocated SIZE", limits.max_allocated, "most bytes ever allocated");
  list.number("--max-allocations N", limits.max_allocations, "most blocks ever allocated");
  list.number("--max-temporary N", limits.max_temporary, "most temporary blocks");
  list.series("--no-growth MOMENT MOMENT...", limits.no_growth, 2,
              "the heap must not be larger at any later moment than at the first");
  list.flag("--json", limits.json, "print a JSON array with a verdict per limit");
  common.add_filters(list);
  common.add_suppressions(list);
  common.add_names_and_color(list);
  list.word("TAPE", limits.tape);
  if (const auto status = parse(list, kHelp, arguments)) return *status;

  if (limits.tape.empty()) limits.tape = take_tape_at_end(limits.no_growth);
  if (limits.no_growth.size() == 1) return fail({ErrorCode::Usage, "--no-growth needs at least two moments"});
  if (limits.empty()) return fail({ErrorCode::Usage, "no limit given; see 'heaptape budget --help'"});
  const Result<TextStyle> style = common.style();
  if (!style) return fail(style.error());
  Result<FrameFilter> filter = common.filter();
  if (!filter) return fail(filter.error());
  const Result<TapeView> view = common.open(limits.tape);
  if (!view) return fail(view.error());
  Result<Suppressions> suppressions = common.suppressions(view.value().tape());
  if (!suppressions) return fail(suppressions.error());

  Budget checked(view.value(), std::move(filter).value(), std::move(suppressions).value());
  if (const Result<> done = checked.check(limits); !done) return fail(done.error());
  Output output;
  if (limits.json)
    print_json(output, view.value(), checked.verdicts());
  else
    print_text(output, view.value(), checked.verdicts(), style.value());
  bool all_hold = true;
  for (const Verdict& verdict : checked.verdicts()) all_hold &= verdict.holds();
  if (!output.finish()) return kTrouble;
  return all_hold ? kOk : kProblemsFound;
}

} // namespace heaptape::cli
