// heaptape top: the most expensive functions or stacks.
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/exit_codes.h"
#include "cli/report_options.h"
#include "report/top_table.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape top [options] [TAPE]",
    .purpose = "A table of the functions or stacks with the largest figures: live at the peak, live at the end, ever "
               "allocated, "
               "temporary.",
    .more =
        R"(A stack is charged to its innermost function that is no plumbing (operator new, xmalloc, std::vector, libc, ...).

Examples:
  heaptape top app.tape
  heaptape top --sort temporary --blocks -n 50 app.tape
  heaptape top --by stack --sort live app.tape
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
    return Error{ErrorCode::Usage, "--sort is allocated, live, peak or temporary, not '" + sort + "'"};
  if (by == "stack")
    options.by = TopBy::Stack;
  else if (by != "function")
    return Error{ErrorCode::Usage, "--by is function or stack, not '" + by + "'"};
  return options;
}

} // namespace

int top(Arguments arguments) {
  std::string tape, sort = "peak", by = "function";
  bool blocks = false, json = false;
  std::size_t rows = 20;
  ReportOptions common;
  CLI::App app("", "top");
  app.add_option("--sort", sort, "peak (default), live, allocated or temporary")->type_name("FIGURE");
  app.add_option("--by", by, "function (default) or stack")->type_name("WHAT");
  app.add_flag("--blocks", blocks, "count blocks instead of bytes");
  app.add_option("-n,--rows", rows, "show so many rows (default: 20)")->type_name("N");
  app.add_flag("--json", json, "one JSON array with the rows");
  common.add_where(app);
  common.add_filters(app);
  common.add_names_and_color(app);
  app.add_option("TAPE", tape);
  if (const auto status = parse(app, kHelp, arguments)) return *status;

  const Result<TopOptions> options = top_options(sort, by, blocks, rows);
  if (!options) return fail(options.error());
  const Result<TextStyle> style = common.style();
  if (!style) return fail(style.error());
  Result<FrameFilter> filter = common.filter(app);
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
    output.print("{}\n", writer.text());
  } else {
    output.print("{}", top_text(view.value(), table, options.value(), style.value()));
  }
  return output.finish() ? kOk : kTrouble;
}

} // namespace heaptape::cli
