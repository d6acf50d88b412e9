#include "shell/all_commands.h"

#include "sql/result_text.h"

namespace heaptape {
namespace {

Result<> run(Session& session, Call& call, Printer& out) {
  const Result<SqlFormat> format =
      call.flag("--json") ? SqlFormat::Json : parse_sql_format(call.option("--format").value_or("table"));
  if (!format) return format.error();
  const std::string text = call.rest();
  if (text.empty()) return Error{ErrorCode::Usage, "SQL is missing: sql SELECT ..., or sql .tables"};
  Result<Database> database = Database::open(session.view(), session.stopper(), std::to_string(session.event()));
  if (!database) return database.error();
  const TextSink sink = [&](std::string_view part) { return out.print(part); };
  const auto rows = make_sql_rows(format.value(), session.style, sink);
  return run_sql(database.value(), text, *rows, sink);
}

constexpr CommandOption kOptions[] = {
    {"--format FORMAT", "table (default), csv or json", "table csv json"},
    {"--json", "the same as --format json"},
};

} // namespace

const Command kSqlCommand{
    .name = "sql",
    .arguments = "SQL",
    .summary = "query the whole tape in SQL",
    .help = "Runs statements of SQLite over the tables events, blocks, live, stacks, frames,\n"
            "threads, modules, marks, samples and others, wherever the cursor stands; the\n"
            "tables types and refs, and the types and classes of blocks, are those of the\n"
            "last snapshot of memory up to it.\n"
            "'sql .tables' lists the tables, 'sql .schema TABLE' their columns. Several\n"
            "statements are separated by semicolons; temporary tables last as long as\n"
            "the command.\n",
    .example = "sql SELECT fn, count(*) AS n FROM events GROUP BY fn ORDER BY n DESC LIMIT 10",
    .group = CommandGroup::Whole,
    .takes = Takes::Nothing,
    .run = run,
    .options = kOptions,
};

} // namespace heaptape
