// heaptape sql: a tape as a database.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/system_error.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "sql/result_text.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape sql [options] [TAPE] [SQL]",
    .purpose =
        "Answers questions in SQL. The tables are events, blocks, live, stacks, frames, threads, modules, marks, "
        "pools, odd_calls, memory_errors, samples, damage, snapshots, types and refs; SQL may also be .tables, "
        ".schema TABLE or .help.",
    .more = R"(Separate statements with semicolons. Without SQL, or with -, it is read from standard input.
The tape is never changed; CREATE TEMP TABLE ... AS SELECT ... keeps an answer for the next statement.

Examples:
  heaptape sql app.tape .schema
  heaptape sql app.tape "SELECT kind, sum(size) FROM events GROUP BY kind"
  heaptape sql --format csv app.tape \
    "SELECT * FROM blocks WHERE free_event IS NULL ORDER BY size DESC LIMIT 9"
  heaptape sql app.tape "SELECT name, blocks, retained FROM types LIMIT 20"
  heaptape sql app.tape < questions.sql
)"};

Result<std::string> read_standard_input() {
  if (::isatty(STDIN_FILENO) == 1) say("type SQL and end it with Ctrl-D");
  std::string text;
  char part[65536];
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, part, sizeof part);
    if (got == 0) return text;
    if (got > 0) text.append(part, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return Error{ErrorCode::Io, "cannot read standard input: " + system_message(errno)};
  }
}

// SQL never looks like a path, and .tables like none in a folder.
bool is_path(const std::string& word) {
  return word.starts_with("./") || word.starts_with("../") || word.starts_with('/') || may_be_tape(word);
}

// What is asked: the words that are not the tape, which may stand before or behind them.
Result<std::string> take_question(std::vector<std::string> words, TapeChoice& tape) {
  const auto found = std::find_if(words.begin(), words.end(), is_path);
  if (found != words.end() && !tape.is_named()) {
    tape.path = *found;
    words.erase(found);
  }
  const auto is_dotted = [&] { return words.size() >= 2 && words[words.size() - 2].starts_with('.'); };
  if (is_dotted()) { // ".schema blocks" may be two words
    words[words.size() - 2] += " " + words.back();
    words.pop_back();
  }
  if (words.size() == 2 && !tape.is_named() && words[0].find(' ') == words[0].npos) {
    tape.path = words[0]; // there is no such file, which is then said
    words.erase(words.begin());
  }
  if (words.size() > 1) return Error{ErrorCode::Usage, "SQL must be one argument; put it in quotes"};
  return words.empty() ? std::string() : words.front();
}

} // namespace

int sql(Arguments arguments) {
  std::vector<std::string> words;
  TapeChoice tape;
  std::string format_name = "table", at;
  ReportOptions common;
  OptionList list("sql");
  list.text("--format FORMAT", format_name, "table (default), csv or json").one_of({"table", "csv", "json"});
  list.text("--at MOMENT", at,
            "types, references and classes are those of the last snapshot of memory up to this moment, or of "
            "snapshot:N (default: end); TAPE@N is the same");
  common.add_names_and_color(list);
  tape.add_pid(list);
  list.words("TAPE", words);
  if (const auto status = parse(list, kHelp, arguments)) return *status;
  Result<std::string> question = take_question(std::move(words), tape);
  if (!question) return fail(question.error());
  const Result<SqlFormat> format = parse_sql_format(format_name);
  if (!format) return fail(format.error());
  const Result<TextStyle> style = common.style();
  if (!style) return fail(style.error());
  std::string text = std::move(question).value();
  if (text.empty() || text == "-") {
    Result<std::string> input = read_standard_input();
    if (!input) return fail(input.error());
    text = std::move(input).value();
  }
  tape.takes_snapshot = true;
  const Result<TapeView> view = common.open(tape);
  if (!view) return fail(view.error());
  const Result<std::string> moment = moment_of(tape, at);
  if (!moment) return fail(moment.error());
  Result<Database> database = Database::open(view.value(), {}, moment.value());
  if (!database) return fail(database.error());

  Output output;
  if (format.value() == SqlFormat::Table) output.fold_lines();
  const TextSink sink = [&](std::string_view part) {
    output.buffer().append(part.data(), part.data() + part.size());
    output.write_if_full();
    return !output.failed();
  };
  const auto rows = make_sql_rows(format.value(), style.value(), sink);
  const Result<> ran = run_sql(database.value(), text, *rows, sink);
  const bool written = output.finish();
  if (!ran) return fail(ran.error());
  return written ? kOk : kTrouble;
}

} // namespace heaptape::cli
