// A tape as a database: SQLite over the tables of tables.h. Nothing can be written but temporary tables, nothing else
// can be opened. One thread at a time, but `should_stop` may become true at any time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/view/tape_view.h"
#include "sql/table.h"

namespace heaptape {

struct SqlValue {
  enum class Type : std::uint8_t { Null, Integer, Real, Text };
  Type type = Type::Null;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text{}; // valid during the call
};

// Takes the rows of a statement.
class SqlRows {
public:
  virtual ~SqlRows() = default;
  // Called once for each statement that gives rows, even if it gives none. All three: false when the reader is gone,
  // which is not an error.
  virtual bool begin(const std::vector<std::string>& columns) = 0;
  virtual bool row(std::span<const SqlValue> values) = 0;
  virtual bool end() = 0;
};

class Database {
public:
  // The view must outlive it. `at` is the moment that tables about memory mean where a statement names none; empty: the end.
  static Result<Database> open(const TapeView& view, ShouldStop should_stop = {}, const std::string& at = {});
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  // Runs all statements, separated by semicolons, up to the first that fails. A statement stopped by the user is not an
  // error either.
  Result<> run(std::string_view sql, SqlRows& rows);

  const std::vector<std::unique_ptr<Table>>& tables() const;

private:
  struct Parts;
  explicit Database(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

} // namespace heaptape
