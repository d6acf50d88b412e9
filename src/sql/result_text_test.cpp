#include "sql/result_text.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

SqlValue integer(std::int64_t number) { return {SqlValue::Type::Integer, number}; }
SqlValue real(double number) { return {SqlValue::Type::Real, 0, number}; }
SqlValue text(std::string_view words) { return {SqlValue::Type::Text, 0, 0, words}; }

std::string shown(SqlFormat format, const TextStyle& style = {}) {
  std::string out;
  const auto rows = make_sql_rows(format, style, [&](std::string_view part) {
    out += part;
    return true;
  });
  rows->begin({"fn", "bytes", "share"});
  rows->row(std::vector{text("parse"), integer(1234567), real(0.5)});
  rows->row(std::vector{text("a \"quoted\", long name\n"), integer(-1), SqlValue{}});
  rows->end();
  rows->begin({"nothing"});
  rows->end();
  return out;
}

TEST(SqlResult, TableIsAlignedAndNumbersStandRight) {
  EXPECT_EQ(shown(SqlFormat::Table), "fn                           bytes  share\n"
                                     "parse                      1234567    0.5\n"
                                     "a \"quoted\", long name\\x0a       -1\n"
                                     "\n"
                                     "nothing\n");
}

// A name on a tape may hold what a terminal obeys. A file gets it as it is.
TEST(SqlResult, CsvDoesNotPassEscToATerminal) {
  const auto csv = [](const TextStyle& style) {
    std::string out;
    const auto rows = make_sql_rows(SqlFormat::Csv, style, [&](std::string_view part) {
      out += part;
      return true;
    });
    rows->begin({"fn"});
    rows->row(std::vector{text("a\x1b[31m\n")});
    return out;
  };
  EXPECT_EQ(csv({}), "fn\n\"a\x1b[31m\n\"\n");
  EXPECT_EQ(csv({.width = 80}), "fn\na\\x1b[31m\\x0a\n");
}

TEST(SqlResult, TableOnATerminalCutsTextAndNeverNumbers) {
  EXPECT_EQ(shown(SqlFormat::Table, {.width = 28}), "fn              bytes  share\n"
                                                    "parse         1234567    0.5\n"
                                                    "a \"quoted\",…       -1\n"
                                                    "\n"
                                                    "nothing\n");
}

TEST(SqlResult, CsvQuotesWhatNeedsIt) {
  EXPECT_EQ(shown(SqlFormat::Csv), "fn,bytes,share\n"
                                   "parse,1234567,0.5\n"
                                   "\"a \"\"quoted\"\", long name\n\",-1,\n"
                                   "\n"
                                   "nothing\n");
}

TEST(SqlResult, JsonIsAnArrayOfObjectsPerStatement) {
  EXPECT_EQ(shown(SqlFormat::Json), "[\n"
                                    "{\"fn\":\"parse\",\"bytes\":1234567,\"share\":0.5},\n"
                                    "{\"fn\":\"a \\\"quoted\\\", long name\\u000a\",\"bytes\":-1,\"share\":null}\n"
                                    "]\n"
                                    "[]\n");
}

TEST(SqlResult, FormatsHaveNames) {
  EXPECT_EQ(parse_sql_format("csv").value(), SqlFormat::Csv);
  EXPECT_EQ(parse_sql_format("xml").error().sentence, "--format must be table, csv or json, not 'xml'");
}

} // namespace
} // namespace heaptape
