#include <gtest/gtest.h>

#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"
#include "shell/interpreter.h"

namespace heaptape {
namespace {

// Two blocks, a check point after each event, and a scope of thread 1 around the second block.
class Checkpoints : public testing::Test {
protected:
  std::string run(std::string_view line, const std::vector<Mark>& marks) {
    const test::SmallTape file(test::Story().make(0x1000, 1000).make(0x2000, 500).end(0x1000).events(), 1, 2, true,
                               marks);
    Result<Session> session = Session::open(file.path());
    EXPECT_TRUE(session.ok());
    StringPrinter out;
    const Result<LineEnd> end = run_line(session.value(), line, out);
    return end.ok() ? out.text() : "error: " + end.error().sentence;
  }
};

Mark mark_at(std::uint64_t event, std::string name, MarkKind kind, std::uint32_t thread = 1) {
  return {.name = std::move(name), .event = event, .time_us = event * 10, .thread = ThreadId(thread), .kind = kind};
}

TEST_F(Checkpoints, EachHasWhatIsLiveAndWhatHappenedSinceTheOneBefore) {
  const std::string text =
      run("checkpoints", {mark_at(1, "one", MarkKind::CheckPoint), mark_at(2, "no moment", MarkKind::Text),
                          mark_at(3, "end of it", MarkKind::CheckPoint)});
  EXPECT_EQ(text, "     seconds       live      change  allocated      freed  check point\n"
                  "    0.000010    1.00 kB    +1.00 kB    1.00 kB    0 bytes  one\n"
                  "    0.000030  500 bytes  -500 bytes  500 bytes    1.00 kB  end of it\n");
}

TEST_F(Checkpoints, WithoutAnyTheMarksServe) {
  const std::string text = run("checkpoints", {mark_at(2, "plain", MarkKind::Mark)});
  EXPECT_NE(text.find("1.50 kB    +1.50 kB    1.50 kB    0 bytes  plain\n"), std::string::npos) << text;
  EXPECT_EQ(run("checkpoints", {}).substr(0, 32), "the program made no check points");
}

TEST_F(Checkpoints, ScopesOfOneNameAreAddedUp) {
  const std::string text =
      run("scopes", {mark_at(0, "a b begin", MarkKind::ScopeBegin), mark_at(1, "a b begin", MarkKind::ScopeBegin),
                     mark_at(1, "other begin", MarkKind::ScopeBegin, 2), mark_at(2, "a b end", MarkKind::ScopeEnd),
                     mark_at(3, "a b end", MarkKind::ScopeEnd), mark_at(3, "stray end", MarkKind::ScopeEnd)});
  EXPECT_EQ(text, "    times        time  allocated     blocks      freed        live  scope\n"
                  "        2       40 us    2.00 kB          3    1.00 kB    +1.00 kB  a b\n");
}

TEST_F(Checkpoints, TextFindsNumbersByTheirValue) {
  Mark number = mark_at(2, "queue", MarkKind::Number);
  number.value = MarkValue::Integer;
  number.integer = 4711;
  const std::string text = run("text 47", {mark_at(1, "some words", MarkKind::Text), number});
  EXPECT_EQ(text, "             2      0.000020 s  T1    number       queue = 4711\n");
}

TEST_F(Checkpoints, TheNthMarkOfANameIsAPosition) {
  const std::vector<Mark> marks{mark_at(1, "round", MarkKind::Mark), mark_at(2, "round", MarkKind::Mark)};
  EXPECT_EQ(run("goto round#2", marks).substr(0, 7), "event 2");
  EXPECT_EQ(run("goto round", marks).substr(0, 7), "event 1");
  EXPECT_EQ(run("goto round#3", marks).substr(0, 6), "error:");
  EXPECT_EQ(run("goto round#0", marks).substr(0, 6), "error:");
}

} // namespace
} // namespace heaptape
