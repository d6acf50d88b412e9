#include "report/changes/snapshot_changes.h"

#include <gtest/gtest.h>

#include <deque>

#include "report/changes/changes_text.h"
#include "report/contents/contents_tape_for_test.h"

namespace heaptape {
namespace {

// A shop that a variable holds, with orders in a table that grows.
class SnapshotChangesTest : public testing::Test {
protected:
  SnapshotChangesTest()
      : of_shop(tape.stacks.stack({"main", "make_shop"})), of_table(tape.stacks.stack({"main", "fill", "make_table"})),
        of_order(tape.stacks.stack({"main", "fill", "make_order"})) {
    shop = tape.add(64, of_shop);
    tape.variable(0, shop);
    table = tape.add(80, of_table);
    tape.put(shop + 16, table);
    for (std::uint64_t i = 0; i < 4; ++i) order();
  }
  ~SnapshotChangesTest() override {
    for (const std::string& path : paths) ::unlink(path.c_str());
  }

  void order() { tape.put(table + 8 * orders++, tape.add(100, of_order)); }
  // Writes the tape as it is now.
  const TapeView& view() {
    paths.push_back(tape.write());
    return views.emplace_back(TapeView::open(paths.back()).value());
  }
  static Moment at(const TapeView& view, const std::string& moment) { return view.moment(moment).value(); }
  Result<SnapshotChanges> ask(const TapeView& view, ChangesBy by, const std::string& from, const std::string& to) {
    return make_snapshot_changes(view, at(view, from), view, at(view, to), {.by = by, .filter = filter});
  }
  // "<make_order>: 4 -> 6, 2 new, 0 gone": each row.
  static std::vector<std::string> lines(const SnapshotChanges& changes) {
    std::vector<std::string> lines;
    for (const ChangedRow& row : changes.rows) {
      lines.push_back(row.name + ": " + std::to_string(row.before.blocks) + " -> " + std::to_string(row.after.blocks));
      if (changes.one_tape)
        lines.back() += ", " + std::to_string(row.made.blocks) + " new, " + std::to_string(row.gone.blocks) + " gone";
      for (const HeldBy& held : row.held_by) {
        lines.back() += "; " + std::to_string(held.held.blocks) + " by " + held.root + "|" + held.holder;
        if (held.at.is_known() && held.at.lowest == held.at.highest)
          lines.back() += "+" + std::to_string(held.at.lowest);
        for (const std::string& through : held.through) lines.back() += "|" + through;
      }
    }
    return lines;
  }

  test::ContentsTape tape;
  StackId of_shop, of_table, of_order;
  std::uint64_t shop = 0, table = 0, orders = 0;
  FrameFilter filter{std::vector<FilterRule>{}};
  std::vector<std::string> paths;
  std::deque<TapeView> views;
};

using Lines = std::vector<std::string>;
constexpr const char* kVariables = "variables of program without a name";

TEST_F(SnapshotChangesTest, NewBlocksAreHeldByTheLastThatWasThereBefore) {
  tape.snapshot("few");
  order();
  order();
  tape.snapshot("more");
  const TapeView& view = this->view();
  const std::string root(kVariables);
  const Lines by_type{"<make_order>: 4 -> 6, 2 new, 0 gone; 2 by " + root + "|block of make_table"};
  EXPECT_EQ(lines(ask(view, ChangesBy::Type, "snapshot:1", "snapshot:2").value()), by_type);
  const Lines by_function{"make_order: 4 -> 6, 2 new, 0 gone; 2 by " + root + "|block of make_table"};
  EXPECT_EQ(lines(ask(view, ChangesBy::Function, "snapshot:1", "snapshot:2").value()), by_function);
  const Lines by_stack{"make_order program <- fill <- main: 4 -> 6, 2 new, 0 gone; 2 by " + root +
                       "|block of make_table"};
  EXPECT_EQ(lines(ask(view, ChangesBy::Stack, "snapshot:few", "last snapshot").value()), by_stack);
}

TEST_F(SnapshotChangesTest, ATableThatWasReplacedIsNewAndGone) {
  tape.snapshot("before");
  const std::uint64_t old = table;
  table = tape.add(80, of_table);
  orders = 0;
  for (int i = 0; i < 4; ++i) order();
  tape.put(shop + 16, table);
  for (std::uint64_t i = 0; i < 4; ++i) tape.put(old + 8 * i, 0);
  tape.release(old);
  tape.snapshot("after");
  const SnapshotChanges changes = ask(view(), ChangesBy::Type, "snapshot:1", "snapshot:2").value();
  const std::string root(kVariables);
  EXPECT_EQ(lines(changes),
            (Lines{"<make_order>: 4 -> 8, 4 new, 0 gone; 4 by " + root + "|block of make_shop+16|block of make_table",
                   "<make_table>: 1 -> 1, 1 new, 1 gone; 1 by " + root + "|block of make_shop+16"}));
  EXPECT_EQ(changes.made.blocks, 5u);
  EXPECT_EQ(changes.gone, (BlockSum{1, 80}));
  EXPECT_EQ(changes.rows[0].held_by[0].holder_at, shop);
}

TEST_F(SnapshotChangesTest, WhatIsLostIsHeldByNothing) {
  tape.snapshot("before");
  const std::uint64_t one = tape.add(32, of_order), other = tape.add(32, of_order);
  tape.put(one, other);
  tape.put(other, one);
  tape.snapshot("after");
  const SnapshotChanges changes = ask(view(), ChangesBy::Type, "snapshot:1", "snapshot:2").value();
  ASSERT_EQ(changes.rows.size(), 1u);
  ASSERT_EQ(changes.rows[0].held_by.size(), 1u);
  EXPECT_TRUE(changes.rows[0].held_by[0].is_lost);
  EXPECT_EQ(changes.rows[0].held_by[0].held, (BlockSum{2, 64}));
}

TEST_F(SnapshotChangesTest, WhatSeveralHoldIsNamedWithThem) {
  const std::uint64_t other = tape.add(64, of_table);
  tape.variable(1, other);
  tape.snapshot("before");
  const std::uint64_t shared = tape.add(48, of_order);
  tape.put(table + 72, shared);
  tape.put(other, shared);
  tape.variable(200, shared);
  tape.snapshot("after");
  const SnapshotChanges changes = ask(view(), ChangesBy::Function, "snapshot:1", "snapshot:2").value();
  ASSERT_EQ(changes.rows.size(), 1u);
  // All variables of a program without symbols are one holder, and one of them leads there itself.
  EXPECT_EQ(changes.rows[0].held_by[0].root, kVariables);
}

TEST_F(SnapshotChangesTest, AlikeSnapshotsDoNotDiffer) {
  tape.snapshot("one");
  tape.snapshot("two");
  tape.release(tape.add(10, of_order));
  tape.snapshot("three");
  const TapeView& view = this->view();
  for (const ChangesBy by : {ChangesBy::Type, ChangesBy::Function, ChangesBy::Stack}) {
    for (const char* last : {"snapshot:2", "snapshot:3"}) {
      const Result<SnapshotChanges> changes = ask(view, by, "snapshot:1", last);
      ASSERT_TRUE(changes.ok()) << changes.error().sentence;
      EXPECT_TRUE(changes.value().rows.empty()) << last;
      EXPECT_NE(changes_text(changes.value(), {}).find("nothing changed"), std::string::npos);
    }
  }
}

TEST_F(SnapshotChangesTest, WithoutMemoryFunctionsAndStacksAreComparedAllTheSame) {
  tape.snapshot("few");
  order();
  const TapeView& view = this->view();
  const Result<SnapshotChanges> changes = ask(view, ChangesBy::Function, "snapshot:1", "end");
  ASSERT_TRUE(changes.ok());
  EXPECT_EQ(lines(changes.value()), (Lines{"make_order: 4 -> 5, 1 new, 0 gone"}));
  EXPECT_NE(changes.value().no_holders, "");
  EXPECT_EQ(ask(view, ChangesBy::Type, "snapshot:1", "end").error().sentence,
            "both moments have the memory of one snapshot, number 1; give two of them ('heaptape snapshots' lists "
            "them), or pass --by function");
  EXPECT_NE(ask(view, ChangesBy::Type, "start", "end").error().sentence.find("'--by function'"), std::string::npos);
  EXPECT_EQ(ask(view, ChangesBy::Stack, "end", "snapshot:1").error().sentence,
            "'end' is later than 'snapshot:1'; give the earlier moment first");
}

TEST_F(SnapshotChangesTest, OfTwoTapesSumsAreComparedAndWhatHoldsThemNowIsSaid) {
  tape.snapshot("one");
  const TapeView& first = view();
  order();
  tape.snapshot("two");
  const TapeView& second = view();
  for (const ChangesBy by : {ChangesBy::Type, ChangesBy::Function}) {
    const Result<SnapshotChanges> changes =
        make_snapshot_changes(first, at(first, "end"), second, at(second, "end"), {.by = by, .filter = filter});
    ASSERT_TRUE(changes.ok());
    const std::string name = by == ChangesBy::Type ? "<make_order>" : "make_order";
    EXPECT_EQ(lines(changes.value()),
              (Lines{name + ": 4 -> 5; 5 by " + kVariables + "||block of make_shop|block of make_table"}));
  }
}

TEST_F(SnapshotChangesTest, OnlyStacksThatTheFilterAcceptsCount) {
  tape.snapshot("one");
  order();
  tape.add(24, of_shop);
  tape.snapshot("two");
  std::vector<FilterRule> rules;
  rules.push_back({true, false, Pattern::compile("make_order").value()});
  filter = FrameFilter(std::move(rules));
  const SnapshotChanges changes = ask(view(), ChangesBy::Type, "snapshot:1", "snapshot:2").value();
  ASSERT_EQ(changes.rows.size(), 1u);
  EXPECT_EQ(changes.rows[0].name, "<make_order>");
  EXPECT_EQ(changes.made, (BlockSum{1, 100}));
}

} // namespace
} // namespace heaptape
