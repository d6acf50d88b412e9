#include "shell/all_commands.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "tape/sample_tape.h"

namespace heaptape {
namespace {

class SqlCommand : public testing::Test {
protected:
  SqlCommand() {
    const std::vector<std::byte> bytes = SampleTape(500).bytes();
    ::close(::mkstemp(path.data()));
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    session.emplace(Session::open(path).value());
  }
  ~SqlCommand() override { ::unlink(path.c_str()); }

  std::string run(std::string_view line) {
    StringPrinter out;
    const Result<> ran = run_command(kSqlCommand, *session, split_words(line).value(), out);
    return ran ? out.text() : "error: " + ran.error().sentence;
  }

  std::string path = "/tmp/heaptape-sql-command-XXXXXX";
  std::optional<Session> session;
};

TEST_F(SqlCommand, TakesTheRestOfTheLineWithItsQuotes) {
  EXPECT_EQ(run("SELECT count(*) AS n, 'it''s  so' AS text FROM events WHERE kind != 'it  is'"), "  n  text\n"
                                                                                                 "500  it's  so\n");
  EXPECT_EQ(run("SELECT 1 AS a; SELECT 2 AS b"), "a\n1\n\nb\n2\n");
  EXPECT_EQ(run("SELECT -1 AS a"), " a\n-1\n");
}

TEST_F(SqlCommand, HasTheFormatsOfHeaptapeSql) {
  EXPECT_EQ(run("--json SELECT 1 AS a"), "[\n{\"a\":1}\n]\n");
  EXPECT_EQ(run("--format csv SELECT 1 AS a"), "a\n1\n");
  EXPECT_EQ(run("--format xml SELECT 1"), "error: --format must be table, csv or json, not 'xml'");
  EXPECT_EQ(run(".tables").substr(0, 9), "events   ");
}

TEST_F(SqlCommand, MistakesAreErrorsAndStoppingIsNone) {
  EXPECT_EQ(run("SELECT nonsense FROM events"), "error: no such column: nonsense");
  EXPECT_EQ(run(""), "error: SQL is missing: sql SELECT ..., or sql .tables");
  session->stop();
  EXPECT_EQ(run("SELECT count(*) FROM events a, events b, events c"), "");
  session->go_on();
  EXPECT_EQ(run("SELECT count(*) AS n FROM events"), "  n\n500\n");
}

} // namespace
} // namespace heaptape
