#include "report/view/position.h"

#include <gtest/gtest.h>

#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"

namespace heaptape {
namespace {

// Ten events, one every ten microseconds; the cursor is at 5.
class Positions : public testing::Test {
protected:
  Positions() {
    for (int i = 0; i < 10; ++i) story_.make(0x1000 + 0x100 * static_cast<std::uint64_t>(i), 8);
    file_.emplace(story_.events(), 5, 3);
    tape_.emplace(file_->open());
  }

  Result<Moment> find(std::string_view text, bool with_cursor = true) {
    PositionPoints points{.tape = *tape_, .marks = marks_, .peak = {7, 70}, .end = {10, 100}};
    if (with_cursor) points.cursor = Moment{5, 50};
    return find_position(text, points);
  }
  std::uint64_t event(std::string_view text) {
    const Result<Moment> moment = find(text);
    EXPECT_TRUE(moment.ok()) << text;
    return moment.ok() ? moment.value().event : 999;
  }

  test::Story story_;
  std::optional<test::SmallTape> file_;
  std::optional<TapeReader> tape_;
  std::vector<Mark> marks_{{.name = "loaded", .event = 3, .time_us = 35},
                           {.name = "warm-up", .event = 4, .time_us = 41},
                           {.name = "start-up", .event = 6, .time_us = 60},
                           {.name = "peak", .event = 2, .time_us = 20}};
};

TEST_F(Positions, ArePointsOfTheTape) {
  EXPECT_EQ(event("^"), 0u);
  EXPECT_EQ(event("start"), 0u);
  EXPECT_EQ(event("$"), 10u);
  EXPECT_EQ(event("end"), 10u);
  EXPECT_EQ(event("@"), 5u);
  EXPECT_EQ(event("peak"), 7u);
  EXPECT_EQ(event("8"), 8u);
  EXPECT_EQ(event("45us"), 4u);
  EXPECT_EQ(find("45us").value().time_us, 45u);
  EXPECT_EQ(event("0.00005s"), 5u);
}

TEST_F(Positions, AMarkWhoseNameIsAPositionIsFoundInQuotesAlone) {
  for (const char* name :
       {"end", "start", "peak", "^", "$", "@", "0", "12", "12.5s", "+1", "-1", "20us", "snapshot", "last snapshot"}) {
    marks_ = {{.name = name, .event = 3, .time_us = 35}};
    EXPECT_TRUE(needs_quotes(name)) << name;
    EXPECT_EQ(event("'" + std::string(name) + "'"), 3u) << name;
  }
  for (const char* name : {"loaded", "end of load", "start-up", "total-peak", "peak-1", "snapshots", "12 files", "s"}) {
    marks_ = {{.name = name, .event = 3, .time_us = 35}};
    EXPECT_FALSE(needs_quotes(name)) << name;
    EXPECT_EQ(event(name), 3u) << name;
  }
}

TEST_F(Positions, SnapshotsAreFoundFromTheCursor) {
  EXPECT_EQ(find("next snapshot").error().sentence,
            "the tape has no snapshots; take some with 'heaptape record --snapshot WHEN' or heaptape_snapshot()");
  for (const std::uint64_t at : {1u, 4u, 7u, 9u})
    marks_.push_back({.name = "s", .event = at, .time_us = 10 * at, .kind = MarkKind::Snapshot});
  EXPECT_EQ(event("next snapshot"), 7u);
  EXPECT_EQ(event("snapshot"), 7u);
  EXPECT_EQ(event("previous snapshot"), 4u);
  EXPECT_EQ(event("prev snapshot"), 4u);
  EXPECT_EQ(event("first snapshot"), 1u);
  EXPECT_EQ(event("last snapshot"), 9u);
  EXPECT_EQ(event("last snapshot-2"), 7u);
  EXPECT_EQ(find("last snapshot", false).value().event, 9u);
  EXPECT_FALSE(find("next snapshot", false).ok());
}

TEST_F(Positions, TheWordsForSnapshotsAreStrongerThanMarksOfThatName) {
  for (const std::uint64_t at : {1u, 7u})
    marks_.push_back({.name = "s", .event = at, .time_us = 10 * at, .kind = MarkKind::Snapshot});
  for (const char* name : {"snapshot", "last snapshot"}) {
    marks_.push_back({.name = name, .event = 2, .time_us = 20});
    EXPECT_EQ(event(name), 7u) << name;
    EXPECT_EQ(event("'" + std::string(name) + "'"), 2u) << name;
  }
  EXPECT_EQ(find("snapshot", false).value().event, 2u) << "without a cursor there is no next one";
  EXPECT_EQ(find("last snapshot", false).value().event, 7u);
}

TEST_F(Positions, AMomentWithoutANameIsNotAmongTheNames) {
  marks_ = {{.name = "", .event = 3, .time_us = 35, .kind = MarkKind::Snapshot}, {.name = "loaded", .event = 4}};
  EXPECT_FALSE(find("''").ok());
  const std::string sentence = find("nowhere").error().sentence;
  EXPECT_NE(sentence.find("snapshot:1, or a mark; its marks are loaded"), sentence.npos) << sentence;
}

TEST_F(Positions, SnapshotsAreFoundByNumberAndByName) {
  EXPECT_EQ(find("snapshot:1").error().sentence,
            "the tape has no snapshots; take some with 'heaptape record --snapshot WHEN' or heaptape_snapshot()");
  const auto add = [&](const char* name, std::uint64_t at) {
    marks_.push_back({.name = name, .event = at, .time_us = 10 * at, .kind = MarkKind::Snapshot});
  };
  add("warm", 2);
  EXPECT_EQ(find("snapshot:7").error().sentence, "there is no snapshot '7' on the tape; the only one is 1 'warm'");
  add("warm", 4);
  add("3", 6);
  add("half-full", 8);
  EXPECT_EQ(event("snapshot:1"), 2u);
  EXPECT_EQ(event("snapshot 2"), 4u);
  EXPECT_EQ(event("snapshot:3"), 6u) << "a number first, then a name";
  EXPECT_EQ(event("snapshot:warm"), 2u);
  EXPECT_EQ(event("snapshot:warm#2"), 4u);
  EXPECT_EQ(event("snapshot half-full"), 8u);
  EXPECT_EQ(event("snapshot:half-full-1"), 7u);
  EXPECT_EQ(event("snapshot:4+1"), 9u);
  EXPECT_EQ(event("@1"), 2u);
  EXPECT_EQ(event("@half-full-1"), 7u);
  EXPECT_EQ(event("@last"), 8u);
  EXPECT_EQ(event("@-1"), 4u) << "from the cursor";
  EXPECT_EQ(event("snapshot:first"), 2u);
  EXPECT_EQ(event("snapshot:last"), 8u);
  for (const char* wrong :
       {"snapshot:5", "snapshot:0", "snapshot:cold", "snapshot:warm#3", "snapshot:-1", "snapshot:2x"})
    EXPECT_FALSE(find(wrong).ok()) << wrong;
  EXPECT_EQ(find("snapshot:5").error().sentence,
            "there is no snapshot '5' on the tape; those there are: 1 'warm', 2 'warm', 3 '3', 4 'half-full'");
  marks_.push_back({.name = "snapshot:2", .event = 9, .time_us = 90});
  EXPECT_EQ(event("snapshot:2"), 9u) << "a mark of that name";
}

TEST_F(Positions, AddUp) {
  EXPECT_EQ(event("@-5"), 0u);
  EXPECT_EQ(event("peak+1"), 8u);
  EXPECT_EQ(event("$-10"), 0u);
  EXPECT_EQ(event("+2"), 7u);
  EXPECT_EQ(event("-2"), 3u);
  EXPECT_EQ(event("+20us"), 7u);
  EXPECT_EQ(event("peak-10us-1"), 5u);
  EXPECT_EQ(event("^+3+2-1"), 4u);
  EXPECT_EQ(event("loaded+5us"), 4u);
}

TEST_F(Positions, MarksMayHoldSignsAndHideBehindQuotes) {
  EXPECT_EQ(event("loaded"), 3u);
  EXPECT_EQ(event("warm-up"), 4u);
  EXPECT_EQ(event("warm-up+1"), 5u);
  EXPECT_EQ(event("start-up"), 6u);
  EXPECT_EQ(event("start-up-1"), 5u);
  EXPECT_EQ(event("'peak'"), 2u);
  EXPECT_EQ(event("'peak'+1"), 3u);
}

TEST_F(Positions, OutsideTheTapeAreRefusedWithASentence) {
  EXPECT_EQ(find("11").error().sentence, "there is no event 11; the last one is 10");
  EXPECT_EQ(find("@-6").error().sentence, "'@-6' is before the start of the tape");
  EXPECT_EQ(find("$+1").error().sentence, "there is no event 11; the last one is 10");
  EXPECT_EQ(find("1s").error().sentence, "'1s' is past the end of the tape, which is at 0.000100s");
  EXPECT_EQ(find("+2", false).error().sentence, "'+2' counts from a cursor, and there is none here");
  EXPECT_EQ(find("99999999999999999999").ok(), false);
  for (const char* wrong :
       {"", "+", "-", "@-", "peak+", "peak++1", "nothing", "'loaded", "5x", "@@", "12.5", "^5", "nans", "\x1b"})
    EXPECT_FALSE(find(wrong).ok()) << wrong;
}

} // namespace
} // namespace heaptape
