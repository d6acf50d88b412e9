#include "sql/result_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/near_word.h"
#include "base/number_text.h"
#include "report/text/json_writer.h"

namespace heaptape {
namespace {

// The shortest decimal that reads back as the same number.
std::string real_text(double number) {
  char text[64];
  for (int digits = 15; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, number);
    if (std::strtod(text, nullptr) == number) break;
  }
  return text;
}

std::string plain_text(const SqlValue& value) {
  switch (value.type) {
  case SqlValue::Type::Null: return {};
  case SqlValue::Type::Integer: return std::to_string(value.integer);
  case SqlValue::Type::Real: return real_text(value.real);
  case SqlValue::Type::Text: return std::string(value.text);
  }
  return {};
}

class TableRows final : public SqlRows {
public:
  TableRows(const TextStyle& style, TextSink sink) : style_(style), sink_(std::move(sink)) {}

  bool begin(const std::vector<std::string>& columns) override {
    const bool again = std::exchange(any_, true);
    titles_ = columns;
    waiting_.clear();
    right_.assign(columns.size(), true);
    measured_ = false;
    return !again || sink_("\n");
  }
  bool row(std::span<const SqlValue> values) override {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < values.size(); ++i) {
      cells.push_back(printable(plain_text(values[i])));
      if (values[i].type == SqlValue::Type::Text && !measured_) right_[i] = false;
    }
    if (measured_) return sink_(line(cells));
    waiting_.push_back(std::move(cells));
    return waiting_.size() < kMeasured || flush();
  }
  bool end() override { return measured_ || flush(); }

private:
  static constexpr std::size_t kMeasured = 1000; // rows
  static constexpr std::size_t kGap = 2, kNarrowest = 8;

  bool flush() {
    measure();
    std::string text = style_.bold(line(titles_));
    for (const auto& cells : waiting_) text += line(cells);
    waiting_.clear();
    return sink_(text);
  }

  // As wide as the widest cell; too wide tables take from their widest text columns.
  void measure() {
    measured_ = true;
    widths_.assign(titles_.size(), 1);
    const auto widen = [&](const std::vector<std::string>& cells) {
      for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], columns_of(cells[i]));
    };
    widen(titles_);
    for (const auto& cells : waiting_) widen(cells);
    if (style_.width == 0) return;
    std::size_t all = kGap * (widths_.size() - 1);
    for (const std::size_t width : widths_) all += width;
    while (all > style_.width) {
      std::size_t widest = widths_.size();
      for (std::size_t i = 0; i < widths_.size(); ++i) {
        if (!right_[i] && widths_[i] > kNarrowest && (widest == widths_.size() || widths_[i] > widths_[widest]))
          widest = i;
      }
      if (widest == widths_.size()) return; // numbers are not cut
      --widths_[widest];
      --all;
    }
  }

  std::string line(const std::vector<std::string>& cells) const {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool last = i + 1 == cells.size();
      // What comes after the measured rows may be wider; without a width to keep, it is shown whole.
      const std::string cell = right_[i] || style_.width == 0 ? cells[i] : shortened(cells[i], widths_[i]);
      text += right_[i] ? padded_right(cell, widths_[i]) : last ? cell : padded_left(cell, widths_[i]);
      if (!last) text.append(kGap, ' ');
    }
    text.resize(text.find_last_not_of(' ') + 1); // npos + 1 is 0
    return text + "\n";
  }

  TextStyle style_;
  TextSink sink_;
  bool any_ = false, measured_ = false;
  std::vector<std::string> titles_;
  std::vector<std::vector<std::string>> waiting_;
  std::vector<bool> right_; // only numbers so far
  std::vector<std::size_t> widths_;
};

class CsvRows final : public SqlRows {
public:
  // Files get every byte as it is on the tape; a terminal would obey some of them.
  CsvRows(TextSink sink, bool for_terminal) : sink_(std::move(sink)), for_terminal_(for_terminal) {}
  bool begin(const std::vector<std::string>& columns) override {
    std::string text = std::exchange(any_, true) ? "\n" : "";
    for (std::size_t i = 0; i < columns.size(); ++i) text += (i == 0 ? "" : ",") + quoted(columns[i]);
    return sink_(text + "\n");
  }
  bool row(std::span<const SqlValue> values) override {
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ",") + quoted(plain_text(values[i]));
    return sink_(text + "\n");
  }
  bool end() override { return true; }

private:
  std::string quoted(const std::string& whole) const {
    const std::string text = for_terminal_ ? printable(whole) : whole;
    if (text.find_first_of(",\"\r\n") == text.npos) return text;
    std::string inside;
    for (const char c : text) inside += c == '"' ? std::string("\"\"") : std::string(1, c);
    return '"' + inside + '"';
  }
  TextSink sink_;
  bool for_terminal_;
  bool any_ = false;
};

class JsonRows final : public SqlRows {
public:
  explicit JsonRows(TextSink sink) : sink_(std::move(sink)) {}
  bool begin(const std::vector<std::string>& columns) override {
    columns_ = columns;
    first_ = true;
    return sink_("[");
  }
  bool row(std::span<const SqlValue> values) override {
    JsonWriter json;
    json.begin_object();
    for (std::size_t i = 0; i < values.size(); ++i) {
      json.key(columns_[i]);
      switch (values[i].type) {
      case SqlValue::Type::Null: json.null(); break;
      case SqlValue::Type::Integer: json.value(values[i].integer); break;
      case SqlValue::Type::Real:
        if (std::isfinite(values[i].real))
          json.number(real_text(values[i].real));
        else
          json.null();
        break;
      case SqlValue::Type::Text: json.value(values[i].text); break;
      }
    }
    json.end_object();
    return sink_((std::exchange(first_, false) ? "\n" : ",\n") + json.text());
  }
  bool end() override { return sink_(first_ ? "]\n" : "\n]\n"); }

private:
  TextSink sink_;
  std::vector<std::string> columns_;
  bool first_ = true;
};

} // namespace

Result<SqlFormat> parse_sql_format(const std::string& name) {
  if (name == "table") return SqlFormat::Table;
  if (name == "csv") return SqlFormat::Csv;
  if (name == "json") return SqlFormat::Json;
  return Error{ErrorCode::Usage, "--format must be table, csv or json, not '" + printable(name) + "'"};
}

std::unique_ptr<SqlRows> make_sql_rows(SqlFormat format, const TextStyle& style, TextSink sink) {
  switch (format) {
  case SqlFormat::Csv: return std::make_unique<CsvRows>(std::move(sink), style.width != 0);
  case SqlFormat::Json: return std::make_unique<JsonRows>(std::move(sink));
  case SqlFormat::Table: break;
  }
  return std::make_unique<TableRows>(style, std::move(sink));
}

std::string tables_text(const Database& database) {
  std::string text;
  for (const auto& table : database.tables()) {
    text += padded_left(table->name(), 14) + std::string(table->meaning()) + "\n";
  }
  return text;
}

Result<std::string> schema_text(const Database& database, std::string_view wanted) {
  std::string text;
  for (const auto& table : database.tables()) {
    if (!wanted.empty() && table->name() != wanted) continue;
    if (!text.empty()) text += "\n";
    text += std::string(table->name()) + ": " + std::string(table->meaning()) + "\n";
    for (const Column& column : table->columns()) {
      const char* type = column.type == ColumnType::Integer ? "INTEGER"
                         : column.type == ColumnType::Real  ? "REAL"
                                                            : "TEXT";
      text += "  " + padded_left(column.name, 14) + padded_left(type, 9) + std::string(column.meaning) + "\n";
    }
  }
  if (text.empty()) {
    std::vector<std::string> names;
    for (const auto& table : database.tables()) names.emplace_back(table->name());
    const std::string meant = did_you_mean(wanted, names);
    return Error{ErrorCode::Usage,
                 "no table '" + printable(wanted) + "'" + (meant.empty() ? "; .tables lists them" : meant)};
  }
  return text;
}

std::string sql_help_text() {
  return R"(Statements are SQLite's, several separated by semicolons. A tape is only read; CREATE TEMP TABLE ... AS SELECT ... keeps
an answer for further questions. text REGEXP 'expression' looks for a regular expression. Addresses are whole numbers: write
0x7f3c00001230, and printf('0x%x', address) to see them so.

  .tables          the tables
  .schema [TABLE]  their columns
  .help            this

Conditions on event numbers and times keep the rest of the tape from being read.
)";
}

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n;";
  const std::size_t first = text.find_first_not_of(kBlank), last = text.find_last_not_of(kBlank);
  return first == text.npos ? std::string_view() : text.substr(first, last - first + 1);
}

Result<> run_word(const Database& database, std::string_view line, const TextSink& sink) {
  const std::size_t blank = line.find_first_of(" \t");
  const std::string_view word = line.substr(0, blank);
  const std::string_view argument = blank == line.npos ? std::string_view() : trimmed(line.substr(blank));
  if (word == ".tables") {
    sink(tables_text(database));
  } else if (word == ".help") {
    sink(sql_help_text());
  } else if (word == ".schema") {
    const Result<std::string> schema = schema_text(database, argument);
    if (!schema) return schema.error();
    sink(schema.value());
  } else {
    return Error{ErrorCode::Usage, "'" + printable(word) + "' is neither SQL nor one of .tables, .schema and .help" +
                                       did_you_mean(word, std::vector<std::string>{".tables", ".schema", ".help"})};
  }
  return Unit{};
}

} // namespace

Result<> run_sql(Database& database, std::string_view text, SqlRows& rows, const TextSink& sink) {
  std::size_t done = 0;
  // A line that begins with a dot is a word of ours only between statements.
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trimmed(text.substr(begin, end - begin));
    const std::size_t before = text.substr(done, begin - done).find_last_not_of(" \t\r\n");
    if (line.starts_with('.') && (before == text.npos || text[done + before] == ';')) {
      if (const Result<> ran = database.run(text.substr(done, begin - done), rows); !ran) return ran;
      if (const Result<> ran = run_word(database, line, sink); !ran) return ran;
      done = std::min(end + 1, text.size());
    }
    begin = end + 1;
  }
  return database.run(text.substr(done), rows);
}

} // namespace heaptape
