#include "report/text/mark_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace heaptape {
namespace {

Mark number_of(double value) {
  return {.name = "load", .kind = MarkKind::Number, .value = MarkValue::Real, .real = value};
}

std::string json_of(const Mark& mark) {
  JsonWriter json;
  json.begin_object();
  write_mark_fields(json, mark);
  return json.end_object().text();
}

TEST(MarkText, ANumberStandsBehindItsName) {
  EXPECT_EQ(mark_words(number_of(1.5)), "load = 1.5");
  EXPECT_EQ(
      mark_words({.name = "id", .kind = MarkKind::Number, .value = MarkValue::Integer, .integer = -9007199254740993}),
      "id = -9007199254740993");
}

TEST(MarkText, ACheckPointShowsItsValuesAndItsTime) {
  const Mark mark{.name = "row read",
                  .detail = "4711 anna",
                  .kind = MarkKind::CheckPoint,
                  .value = MarkValue::Real,
                  .real = 0.000802};
  EXPECT_EQ(mark_words(mark), "row read  4711 anna (802 us)");
}

TEST(MarkText, ControlCharactersOfTheProgramDoNotReachTheTerminal) {
  EXPECT_EQ(mark_words({.name = "a\033[2J", .detail = "b\n"}), "a\\x1b[2J  b\\x0a");
}

TEST(MarkText, WhatIsNoNumberIsStillJson) {
  EXPECT_NE(json_of(number_of(1.5)).find("\"value\":1.5"), std::string::npos);
  EXPECT_NE(json_of(number_of(std::numeric_limits<double>::infinity())).find("\"value\":\"inf\""), std::string::npos);
}

TEST(MarkText, SnapshotsComeBeforeCheckPointsAndTheseBeforeMarks) {
  const Mark mark{.name = "m"}, text{.name = "t", .kind = MarkKind::Text},
      point{.name = "c", .kind = MarkKind::CheckPoint}, shot{.name = "s", .kind = MarkKind::Snapshot},
      scope{.name = "x begin", .kind = MarkKind::ScopeBegin};
  EXPECT_EQ(snapshots_of({mark, text, point, shot, scope}), std::vector{shot});
  EXPECT_EQ(snapshots_of({mark, text, point, scope}), std::vector{point});
  EXPECT_EQ(snapshots_of({mark, text, scope}), std::vector{mark});
  EXPECT_TRUE(snapshots_of({text}).empty());
}

TEST(MarkText, ANameThatOccursAgainIsNumbered) {
  const std::vector<Mark> marks =
      numbered({{.name = "a"}, {.name = "b"}, {.name = "a", .kind = MarkKind::Text}, {.name = "a"}});
  ASSERT_EQ(marks.size(), 4u);
  EXPECT_EQ(marks[0].name, "a#1");
  EXPECT_EQ(marks[1].name, "b");
  EXPECT_EQ(marks[2].name, "a#2");
  EXPECT_EQ(marks[3].name, "a#3");
}

TEST(MarkText, TheFirstPageShowsTheFirstMomentsAndTheLast) {
  std::vector<Mark> marks;
  for (int i = 1; i <= 20; ++i) {
    marks.push_back({.name = "m" + std::to_string(i)});
    marks.push_back({.name = "words", .kind = MarkKind::Text});
  }
  const std::string text = moments_text(marks, {});
  EXPECT_NE(text.find("m5\n"), text.npos) << text;
  EXPECT_EQ(text.find("m6\n"), text.npos) << text;
  EXPECT_NE(text.find("and 12 more\n      0.000000 s  mark         m18\n"), text.npos) << text;
  EXPECT_NE(text.find("m20\n"), text.npos) << text;
  EXPECT_EQ(text.find("words"), text.npos) << text;
  EXPECT_EQ(moments_text({}, {}), "");
}

TEST(MarkText, AKindOfALaterVersionIsAMark) {
  EXPECT_EQ(mark_kind_name(static_cast<MarkKind>(99)), "mark");
  EXPECT_TRUE(is_moment({.kind = static_cast<MarkKind>(99)}));
}

} // namespace
} // namespace heaptape
