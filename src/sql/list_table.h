// A table that is a list in memory.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "sql/table.h"

namespace heaptape {

// A table of `count` rows, whose values a function gives. When the first column is numbered from 1 in step with the
// rows, conditions on it find their rows at once.
struct ListTableParts {
  std::string_view name, meaning;
  std::span<const Column> columns;
  std::size_t count = 0;
  bool numbered = false;
  std::function<void(std::size_t row, std::size_t column, ColumnOut& out)> value;
};

class ListTable final : public Table {
public:
  explicit ListTable(ListTableParts parts) : parts_(std::move(parts)) {}
  std::string_view name() const override { return parts_.name; }
  std::string_view meaning() const override { return parts_.meaning; }
  std::span<const Column> columns() const override { return parts_.columns; }
  std::uint64_t rows() const override { return parts_.count; }
  std::optional<std::size_t> key() const override {
    return parts_.numbered ? std::optional<std::size_t>(0) : std::nullopt;
  }
  std::unique_ptr<RowCursor> open() const override;

private:
  ListTableParts parts_;
};

// An empty text is NULL; else it must outlive the statement.
inline void text_or_null(std::string_view text, ColumnOut& out) { text.empty() ? out.null() : out.lasting_text(text); }

} // namespace heaptape
