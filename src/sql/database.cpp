#include "sql/database.h"

#include <sqlite3.h>

#include <algorithm>

#include "base/near_word.h"
#include "report/select/frame_filter.h"
#include "sql/table_module.h"
#include "sql/tables.h"

namespace heaptape {
namespace {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

std::vector<std::string> table_names(const std::vector<std::unique_ptr<Table>>& tables) {
  std::vector<std::string> names;
  for (const auto& table : tables) names.emplace_back(table->name());
  return names;
}

std::vector<std::string> column_names(const std::vector<std::unique_ptr<Table>>& tables) {
  std::vector<std::string> names;
  for (const auto& table : tables) {
    for (const Column& column : table->columns()) names.emplace_back(column.name);
  }
  return names;
}

// Behind "no such column: X": a near name; where X itself is one, the tables that have it.
std::string which_column(const std::string& name, const std::vector<std::unique_ptr<Table>>& tables) {
  std::vector<std::string> having;
  for (const auto& table : tables) {
    for (const Column& column : table->columns()) {
      if (column.name == name) having.emplace_back(table->name());
    }
  }
  if (having.empty()) return did_you_mean(name, column_names(tables));
  return "; it is a column of " + listed(having, "and");
}

// Reading is allowed, and writing to temporary tables.
int authorize(void*, int action, const char* first, const char* second, const char* database, const char*) {
  const std::string_view where = database != nullptr ? database : "";
  switch (action) {
  case SQLITE_SELECT:
  case SQLITE_READ:
  case SQLITE_RECURSIVE:
  case SQLITE_TRANSACTION:
  case SQLITE_SAVEPOINT:
  case SQLITE_CREATE_TEMP_TABLE:
  case SQLITE_CREATE_TEMP_INDEX:
  case SQLITE_CREATE_TEMP_VIEW:
  case SQLITE_DROP_TEMP_TABLE:
  case SQLITE_DROP_TEMP_INDEX:
  case SQLITE_DROP_TEMP_VIEW: return SQLITE_OK;
  // The second gives away, and takes, addresses of code.
  case SQLITE_FUNCTION:
    return std::string_view(second) == "load_extension" || std::string_view(second) == "fts3_tokenizer" ? SQLITE_DENY
                                                                                                        : SQLITE_OK;
  case SQLITE_INSERT:
  case SQLITE_UPDATE:
  case SQLITE_DELETE:
  case SQLITE_REINDEX: return where == "temp" ? SQLITE_OK : SQLITE_DENY;
  // To look at what a table has.
  case SQLITE_PRAGMA: {
    const std::string_view pragma = first != nullptr ? first : "";
    return pragma == "table_info" || pragma == "table_xinfo" || pragma == "table_list" ? SQLITE_OK : SQLITE_DENY;
  }
  default: return SQLITE_DENY;
  }
}

// text REGEXP 'expression', as the filters' ~. SQLite passes the expression first.
void regexp(sqlite3_context* context, int, sqlite3_value** values) {
  const auto text_of = [](sqlite3_value* value) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
    return std::string_view(text != nullptr ? text : "", static_cast<std::size_t>(sqlite3_value_bytes(value)));
  };
  if (sqlite3_value_type(values[0]) == SQLITE_NULL || sqlite3_value_type(values[1]) == SQLITE_NULL) return;
  auto* pattern = static_cast<Pattern*>(sqlite3_get_auxdata(context, 0));
  if (pattern == nullptr) {
    Result<Pattern> compiled = Pattern::compile(std::string(text_of(values[0])));
    if (!compiled) return sqlite3_result_error(context, compiled.error().sentence.c_str(), -1);
    pattern = new Pattern(std::move(compiled).value());
    // SQLite may throw it away at once; what it still needs is answered first.
    const bool matches = pattern->matches(text_of(values[1]));
    sqlite3_set_auxdata(context, 0, pattern, [](void* kept) { delete static_cast<Pattern*>(kept); });
    return sqlite3_result_int(context, matches ? 1 : 0);
  }
  sqlite3_result_int(context, pattern->matches(text_of(values[1])) ? 1 : 0);
}

SqlValue value_of(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
  case SQLITE_INTEGER: return {SqlValue::Type::Integer, sqlite3_column_int64(statement, column)};
  case SQLITE_FLOAT: return {SqlValue::Type::Real, 0, sqlite3_column_double(statement, column)};
  case SQLITE_NULL: return {};
  default: {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
    return {SqlValue::Type::Text, 0, 0, text != nullptr ? std::string_view(text, size) : std::string_view()};
  }
  }
}

} // namespace

struct Database::Parts {
  explicit Parts(ShouldStop stop) : should_stop(std::move(stop)) {}
  ShouldStop should_stop;
  std::vector<std::unique_ptr<Table>> tables{};
  std::unique_ptr<sqlite3, CloseDatabase> connection{}; // goes first
};

Database::Database(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

const std::vector<std::unique_ptr<Table>>& Database::tables() const { return parts_->tables; }

Result<Database> Database::open(const TapeView& view, ShouldStop should_stop, const std::string& at) {
  if (!should_stop) should_stop = [] { return false; };
  auto parts = std::make_unique<Parts>(std::move(should_stop));
  sqlite3* connection = nullptr;
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
  const int status = sqlite3_open_v2(":memory:", &connection, kFlags, nullptr);
  parts->connection.reset(connection);
  if (status != SQLITE_OK)
    return Error{ErrorCode::Unsupported, std::string("cannot start SQLite: ") + sqlite3_errstr(status)};
  // "x" where there is no column x is a mistake, not a text.
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // No text of a tape comes near it; zeroblob(1e9) is somebody's joke.
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, 64 << 20);
  parts->tables = make_tables(view, at, parts->should_stop);
  for (const std::unique_ptr<Table>& table : parts->tables) {
    if (const Result<> added = add_table(connection, *table, parts->should_stop); !added) return added.error();
    // A module declares its table when it is first used, which the authorizer would take for an attempt to make one.
    const std::string first_use = "SELECT 1 FROM " + std::string(table->name()) + " LIMIT 0";
    if (sqlite3_exec(connection, first_use.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      return Error{ErrorCode::Unsupported, std::string("cannot start SQLite: ") + sqlite3_errmsg(connection)};
  }
  sqlite3_create_function_v2(connection, "regexp", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr,
                             regexp, nullptr, nullptr, nullptr);
  sqlite3_set_authorizer(connection, authorize, nullptr);
  constexpr int kSteps = 10'000; // of SQLite's own machine
  sqlite3_progress_handler(
      connection, kSteps, [](void* stop) { return (*static_cast<const ShouldStop*>(stop))() ? 1 : 0; },
      &parts->should_stop);
  return Database(std::move(parts));
}

Result<> Database::run(std::string_view sql, SqlRows& rows) {
  sqlite3* const connection = parts_->connection.get();
  const std::string text(sql);
  const char* rest = text.c_str();
  const auto failed = [&]() -> Result<> {
    const int status = sqlite3_errcode(connection);
    if (status == SQLITE_INTERRUPT) return Unit{};
    std::string sentence = sqlite3_errmsg(connection);
    if (sentence.starts_with("not authorized to use function"))
      sentence += "; it could reach beyond the tape";
    else if (status == SQLITE_AUTH)
      sentence = "a tape can only be read; write to temporary tables instead (CREATE TEMP TABLE ...)";
    constexpr std::string_view kNoColumn = "no such column: ";
    if (sentence.starts_with(kNoColumn)) {
      std::string name = sentence.substr(kNoColumn.size());
      // Newer versions of SQLite have words for that: "malloc" - should this be ...
      if (name.starts_with('"')) name = name.substr(1, name.find('"', 1) - 1);
      if (text.find('"' + name + '"') != text.npos)
        sentence = std::string(kNoColumn) + name + "; text is written in single quotes: '" + name + "'";
      else
        sentence += which_column(name.substr(name.rfind('.') + 1), parts_->tables);
    }
    constexpr std::string_view kNoTable = "no such table: ";
    if (sentence.starts_with(kNoTable)) {
      const std::string meant = did_you_mean(sentence.substr(kNoTable.size()), table_names(parts_->tables));
      sentence += meant.empty() ? "; there are " + listed(table_names(parts_->tables), "and") : meant;
    }
    return Error{ErrorCode::Usage, sentence};
  };
  while (true) {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(connection, rest, -1, &prepared, &rest) != SQLITE_OK) return failed();
    const std::unique_ptr<sqlite3_stmt, FinishStatement> statement(prepared);
    if (prepared == nullptr) {
      if (*rest == '\0') return Unit{}; // blanks and comments
      continue;
    }
    const int count = sqlite3_column_count(prepared);
    std::vector<std::string> columns;
    for (int i = 0; i < count; ++i) {
      const char* name = sqlite3_column_name(prepared, i);
      columns.emplace_back(name != nullptr ? name : "");
    }
    if (count != 0 && !rows.begin(columns)) return Unit{};
    std::vector<SqlValue> values(static_cast<std::size_t>(count));
    int status = SQLITE_ROW;
    while ((status = sqlite3_step(prepared)) == SQLITE_ROW) {
      for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = value_of(prepared, i);
      if (!rows.row(values)) return Unit{};
    }
    if (status == SQLITE_INTERRUPT) return Unit{};
    if (status != SQLITE_DONE) return failed();
    if (count != 0 && !rows.end()) return Unit{};
  }
}

} // namespace heaptape
