// A table of a tape that SQL can ask: what its columns are, and rows on demand. Knows nothing of SQLite;
// table_module.cpp does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heaptape {

// Takes one value of a row.
class ColumnOut {
public:
  virtual ~ColumnOut() = default;
  virtual void null() = 0;
  virtual void integer(std::int64_t number) = 0;
  virtual void real(double number) = 0;
  virtual void text(std::string_view text) = 0;         // copied
  virtual void lasting_text(std::string_view text) = 0; // valid as long as the database

  // Numbers beyond 2^63 become negative, as SQL's integers do.
  void number(std::uint64_t value) { integer(static_cast<std::int64_t>(value)); }
  void seconds(std::uint64_t us) { real(static_cast<double>(us) / 1e6); }
};

enum class ColumnType : std::uint8_t { Integer, Real, Text };
// What a condition on a column is good for.
enum class Narrow : std::uint8_t {
  Nothing,
  Rows,    // rows that do not fit are passed over
  Reading, // what lies outside is not even read
};
struct Column {
  std::string_view name;
  ColumnType type = ColumnType::Integer;
  Narrow narrow = Narrow::Nothing; // Integer: ranges; Real: ranges of seconds; Text: equality
  std::string_view meaning{};      // for people
  bool may_be_null = false;
  bool is_argument = false; // FROM table(value) says what it is equal to; the cursor finds that in Wanted::texts
};

// What is wanted of a table. A cursor may give more: conditions are checked again.
struct Wanted {
  struct Range {
    std::int64_t first = std::numeric_limits<std::int64_t>::min(), last = std::numeric_limits<std::int64_t>::max();
    bool only_null = false; // IS NULL was asked
    bool contains(std::int64_t value) const { return value >= first && value <= last; }
    bool contains(std::uint64_t value) const { return contains(static_cast<std::int64_t>(value)); }
    bool is_everything() const { return *this == Range(); }
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::vector<Range> ranges{};                     // by column; those of Real columns in microseconds, rounded outwards
  std::vector<std::optional<std::string>> texts{}; // by column: what it is to be equal to
  std::uint64_t used_columns =
      ~std::uint64_t{0}; // bit i: column i will be asked for; the last bit stands for all further ones
  bool nothing = false;  // no row can fit

  bool uses(std::size_t column) const { return (used_columns >> (column < 63 ? column : 63) & 1) != 0; }
};

// Stands on a row or at the end.
class RowCursor {
public:
  virtual ~RowCursor() = default;
  // Goes to the first row.
  virtual void start(const Wanted& wanted) = 0;
  // A sentence when start() could make nothing of an argument; else empty.
  virtual std::string error() const { return {}; }
  virtual void next() = 0;
  virtual bool at_end() const = 0;
  virtual std::int64_t row_id() const = 0;
  virtual void column(std::size_t index, ColumnOut& out) = 0;
};

class Table {
public:
  virtual ~Table() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view meaning() const = 0; // a line for people
  virtual std::span<const Column> columns() const = 0;
  virtual std::uint64_t rows() const = 0; // about
  // The column that rows are ordered by and that finds one row; also the row id.
  virtual std::optional<std::size_t> key() const { return std::nullopt; }
  // Whether rows come in the order of this column.
  virtual bool is_ordered_by(std::size_t column) const { return key() == column; }
  virtual std::unique_ptr<RowCursor> open() const = 0;

  // CREATE TABLE ..., as SQL would write it.
  std::string schema() const;
};

// Whether the user wants the running statement to end; cursors that read for long ask now and then, and are then at
// their end.
using ShouldStop = std::function<bool()>;

} // namespace heaptape
