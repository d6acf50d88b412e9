#include "sql/table.h"

namespace heaptape {

std::string Table::schema() const {
  std::string text = "CREATE TABLE " + std::string(name()) + " (";
  bool first = true;
  for (const Column& column : columns()) {
    if (!first) text += ", ";
    first = false;
    text += '"' + std::string(column.name) + '"';
    text += column.type == ColumnType::Integer ? " INTEGER" : column.type == ColumnType::Real ? " REAL" : " TEXT";
    if (column.is_argument) text += " HIDDEN";
  }
  return text + ")";
}

} // namespace heaptape
