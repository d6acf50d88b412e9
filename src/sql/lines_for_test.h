// Answers as text.
#pragma once

#include <string>

#include "sql/database.h"

namespace heaptape {

// All rows as text, one line each.
class Lines final : public SqlRows {
public:
  bool begin(const std::vector<std::string>&) override { return true; }
  bool row(std::span<const SqlValue> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i != 0) text += '|';
      switch (values[i].type) {
      case SqlValue::Type::Null: text += "NULL"; break;
      case SqlValue::Type::Integer: text += std::to_string(values[i].integer); break;
      case SqlValue::Type::Real: text += std::to_string(values[i].real); break;
      case SqlValue::Type::Text: text += values[i].text; break;
      }
    }
    text += '\n';
    return ++rows < most;
  }
  bool end() override { return true; }
  std::string text;
  std::size_t rows = 0, most = ~std::size_t{0};
};

// Or "error: " and the sentence.
inline std::string lines_of(Database& database, const std::string& sql) {
  Lines lines;
  const Result<> ran = database.run(sql, lines);
  return ran ? lines.text : "error: " + ran.error().sentence;
}

} // namespace heaptape
