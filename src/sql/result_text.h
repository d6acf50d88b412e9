// Rows of SQL as people and programs read them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/text/text_style.h"
#include "sql/database.h"

namespace heaptape {

// Takes the text; false when the reader is gone.
using TextSink = std::function<bool(std::string_view)>;

enum class SqlFormat : std::uint8_t {
  Table, // aligned columns, their widths from the first thousand rows; cut to the style's width
  Csv,   // RFC 4180, with a line of names
  Json,  // an array of objects per statement; NULL is null
};
// "table", "csv" or "json".
Result<SqlFormat> parse_sql_format(const std::string& name);

std::unique_ptr<SqlRows> make_sql_rows(SqlFormat format, const TextStyle& style, TextSink sink);

// The tables with a line each.
std::string tables_text(const Database& database);
// The columns of a table, or of all when the name is empty.
Result<std::string> schema_text(const Database& database, std::string_view table);
std::string sql_help_text();

// Runs statements, and the words .tables, .schema [TABLE] and .help where a line begins with one.
Result<> run_sql(Database& database, std::string_view text, SqlRows& rows, const TextSink& sink);

} // namespace heaptape
