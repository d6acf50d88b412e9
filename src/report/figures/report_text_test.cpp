// What people see: trees, tables, the picture of the heap, differences, and JSON.
#include <gtest/gtest.h>

#include "report/figures/heap_diff.h"
#include "report/figures/tree_text.h"
#include "report/figures/worst_text.h"
#include "report/names/stacks_for_test.h"
#include "report/pages/overview.h"
#include "report/pages/timeline_text.h"
#include "report/text/json_writer.h"

namespace heaptape {
namespace {

using test::Stacks;

std::string drawn(Stacks& program, const std::vector<StackCost>& costs, TreeTextOptions options = {}) {
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  return tree_text(names, {}, make_call_tree(names, costs, options.tree), options);
}

TEST(TreeText, ShowsShareBytesBlocksFunctionAndLineWithGuides) {
  Stacks program;
  program.add_function("test_calloc", "/src/sample.cpp", 41);
  program.add_function("test_malloc", "/src/sample.cpp", 30);
  const std::vector<StackCost> costs{{.stack = program.stack({"main", "test_calloc"}), .cost = {2048, 2}},
                                     {.stack = program.stack({"main", "test_malloc"}), .cost = {1000, 1}},
                                     {.stack = program.stack({"main", "rare"}), .cost = {24, 3}}};
  EXPECT_EQ(drawn(program, costs), "-> 66.67% (2,048B, 2x): test_calloc [sample.cpp:41]\n"
                                   "|  <- main [program]\n"
                                   "|\n"
                                   "-> 32.55% (1,000B, 1x): test_malloc [sample.cpp:30]\n"
                                   "|  <- main [program]\n"
                                   "|\n"
                                   "->  0.78% (24B, 3x) in 1 place, below the 1.00% threshold\n");
}

TEST(TreeText, BranchesAreIndentedBelowWhatTheyBranchFrom) {
  Stacks program;
  const std::vector<StackCost> costs{{.stack = program.stack({"main", "a", "work"}), .cost = {60, 1}},
                                     {.stack = program.stack({"main", "b", "work"}), .cost = {40, 1}}};
  EXPECT_EQ(drawn(program, costs), "-> 100.00% (100B, 2x): work [program]\n"
                                   "  -> 60.00% (60B, 1x): a [program]\n"
                                   "  |  <- main [program]\n"
                                   "  -> 40.00% (40B, 1x): b [program]\n"
                                   "     <- main [program]\n");
}

TEST(TreeText, WhatIsAllInSmallPlacesSaysSoWithoutRepeatingTheFigures) {
  Stacks program;
  std::vector<StackCost> costs;
  for (int i = 0; i < 200; ++i)
    costs.push_back({.stack = program.stack({"f" + std::to_string(i), "work"}), .cost = {1, 1}});
  EXPECT_EQ(drawn(program, costs), "-> 100.00% (200B, 200x): work [program]\n"
                                   "   <- 200 places, all below the 1.00% threshold\n");
  EXPECT_EQ(drawn(program, costs, {.tree = {.depth = 1}}), "-> 100.00% (200B, 200x): work [program]\n"
                                                           "   <- 200 places below --depth 1\n");
}

TEST(TreeText, TheStartOfTheProgramOutsideMainIsNotShown) {
  Stacks program;
  const std::vector<StackCost> costs{
      {.stack = program.stack({"_start", "__libc_start_main", "main", "work"}), .cost = {5, 1}}};
  EXPECT_EQ(drawn(program, costs), "-> 100.00% (5B, 1x): work [program]\n"
                                   "   <- main [program]\n");
}

TEST(TreeText, ExpandedEveryFrameHasItsCost) {
  Stacks program;
  const std::vector<StackCost> costs{{.stack = program.stack({"main", "work"}), .cost = {60, 1}}};
  EXPECT_EQ(drawn(program, costs, {.tree = {}, .expand = true}), "-> 100.00% (60B, 1x): work [program]\n"
                                                                 "  -> 100.00% (60B, 1x): main [program]\n");
}

TEST(TreeText, LongNamesGiveWayOnANarrowTerminal) {
  Stacks program;
  const std::vector<StackCost> costs{
      {.stack = program.stack({"a_function_with_a_name_that_does_not_fit_into_sixty_columns"}), .cost = {1, 1}}};
  const std::string text = drawn(program, costs, {.tree = {}, .style = {.width = 60}});
  EXPECT_EQ(columns_of(text), 60u + 1);
  EXPECT_TRUE(text.ends_with("… [program]\n"));
}

TEST(TreeText, AFunctionShowsTheLinesItWasPassedAt) {
  Stacks program;
  program.add_place("one", {SourcePlace{.function = "work", .file = "w.c", .line = 10}});
  program.add_place("two", {SourcePlace{.function = "work", .file = "w.c", .line = 20}});
  const std::vector<StackCost> costs{{.stack = program.stack({"one"}), .cost = {10, 1}},
                                     {.stack = program.stack({"two"}), .cost = {30, 1}}};
  EXPECT_EQ(drawn(program, costs), "-> 100.00% (40B, 2x): work [w.c:20,10]\n");
}

TEST(TreeText, ControlCharactersInNamesDoNotReachTheTerminal) {
  Stacks program;
  const std::vector<StackCost> costs{{.stack = program.stack({"evil\x1b[2J"}), .cost = {1, 1}}};
  EXPECT_EQ(drawn(program, costs).find('\x1b'), std::string::npos);
}

TEST(Worst, AStackIsChargedToTheInnermostFunctionThatIsNoPlumbing) {
  Stacks program;
  program.add_function("main");
  program.add_function("load");
  program.add_function("xmalloc");
  program.add_function("_ZNSt6vectorIiSaIiEE9push_backERKi");
  program.add_module("/lib/x86_64-linux-gnu/libc.so.6");
  program.add_function("strdup");
  const std::vector<StackCost> costs{
      {.stack = program.stack({"main", "load", "xmalloc"}), .cost = {50, 1}},
      {.stack = program.stack({"main", "load", "_ZNSt6vectorIiSaIiEE9push_backERKi"}), .cost = {30, 1}},
      {.stack = program.stack({"main", "strdup"}), .cost = {20, 1}}};
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  const Worst worst = worst_functions(names, costs);
  ASSERT_EQ(worst.rows.size(), 2u);
  EXPECT_EQ(names.function(worst.rows[0].frame), "load");
  EXPECT_EQ(worst.rows[0].cost, (Cost{80, 2}));
  EXPECT_EQ(names.function(worst.rows[1].frame), "main");
  EXPECT_EQ(worst_text(names, worst, Measure::Bytes, {}), "  80.0 %  80 bytes  2x  load  program  <- main\n"
                                                          "  20.0 %  20 bytes  1x  main  program\n");
}

TEST(Worst, AFunctionShowsTheLinesThatItIsChargedFor) {
  Stacks program;
  program.add_place("one", {SourcePlace{.function = "work", .file = "w.c", .line = 10}});
  program.add_place("two", {SourcePlace{.function = "work", .file = "w.c", .line = 20}});
  const std::vector<StackCost> costs{{.stack = program.stack({"one"}), .cost = {10, 1}},
                                     {.stack = program.stack({"two"}), .cost = {30, 1}}};
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  EXPECT_EQ(worst_text(names, worst_functions(names, costs), Measure::Bytes, {}),
            "  100.0 %  40 bytes  2x  work  w.c:20,10\n");
}

TEST(Worst, RowsAndTheLineForTheRestAddUp) {
  Stacks program;
  std::vector<StackCost> costs;
  for (std::uint64_t i = 1; i <= 9; ++i)
    costs.push_back({.stack = program.stack({"f" + std::to_string(i)}), .cost = {i, 1}});
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  const Worst worst = worst_functions(names, costs, {.rows = 4});
  Cost sum = worst.others_cost;
  for (const WorstRow& row : worst.rows) sum += row.cost;
  EXPECT_EQ(sum, worst.total);
  EXPECT_EQ(worst.others, 5u);
}

TEST(Worst, NoLineIsWiderThanTheTerminal) {
  Stacks program;
  const std::vector<StackCost> costs{{.stack = program.stack({"main", "a_caller_with_quite_some_name",
                                                              "an_allocating_function_whose_name_is_long_too"}),
                                      .cost = {123'456'789, 1'000'000}}};
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  const Worst worst = worst_functions(names, costs);
  for (const unsigned width : {60u, 80u, 100u, 200u}) {
    EXPECT_LE(columns_of(worst_text(names, worst, Measure::Bytes, {.width = width})), width + 1) << width;
  }
}

TEST(Overview, SaysWhereNamesAreMissing) {
  Stacks program;
  const StackId named = program.stack({"main", "work"});
  program.add_module("/usr/lib/libstripped.so");
  program.add_place("unknown", {});
  const StackId unknown = program.stack({"main", "unknown"});
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  names.frames_of(named);
  EXPECT_EQ(nameless_sentence(names), "");
  names.frames_of(unknown);
  EXPECT_EQ(nameless_sentence(names),
            "no names for 1 of 3 places in the code, all in libstripped.so: debug symbols would help");
}

TEST(HeapDiff, TellsGrownShrunkNewAndGoneByTheirNames) {
  Stacks old_program, new_program;
  new_program.add_module("/usr/lib/elsewhere.so"); // other addresses
  const std::vector<StackCost> before{{.stack = old_program.stack({"main", "grows"}), .cost = {10, 1}},
                                      {.stack = old_program.stack({"main", "shrinks"}), .cost = {50, 5}},
                                      {.stack = old_program.stack({"main", "same"}), .cost = {7, 1}},
                                      {.stack = old_program.stack({"main", "goes"}), .cost = {3, 1}}};
  const std::vector<StackCost> after{{.stack = new_program.stack({"main", "same"}), .cost = {7, 1}},
                                     {.stack = new_program.stack({"main", "comes"}), .cost = {1000, 1}},
                                     {.stack = new_program.stack({"main", "shrinks"}), .cost = {20, 2}},
                                     {.stack = new_program.stack({"main", "grows"}), .cost = {110, 3}}};
  StackNames old_names(old_program.modules, old_program.stacks, old_program.symbols, NameForm::Short);
  StackNames new_names(new_program.modules, new_program.stacks, new_program.symbols, NameForm::Short);
  const DiffSide one{old_names, before}, two{new_names, after};
  const Diff diff = make_diff(one, two);
  ASSERT_EQ(diff.rows.size(), 4u);
  EXPECT_EQ(diff.unchanged, 1u);
  EXPECT_EQ(diff.rows[0].change, Change::New);
  EXPECT_EQ(diff.rows[1].change, Change::Grown);
  EXPECT_EQ(diff.rows[2].change, Change::Shrunk);
  EXPECT_EQ(diff.rows[3].change, Change::Gone);
  std::int64_t sum = 0;
  for (const DiffRow& row : diff.rows) sum += row.bytes();
  EXPECT_EQ(sum, static_cast<std::int64_t>(diff.after.bytes - diff.before.bytes));
  const std::string text = diff_text(diff, one, two, {.rows = 2});
  EXPECT_NE(text.find("+1.00 kB  +1x  new     comes"), std::string::npos) << text;
  EXPECT_NE(text.find("-33 bytes  -4x          in 2 other stacks"), std::string::npos) << text;
}

Findings ramp() {
  Findings findings;
  findings.end_us = 999;
  findings.totals.peak_bytes = 100;
  findings.totals.peak_event = 5;
  findings.totals.peak_us = 500;
  TimelineLevel level{.bucket_us = 10, .buckets = {}};
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t bytes = i <= 50 ? i * 2 : 200 - i * 2;
    level.buckets.push_back({.min_bytes = bytes, .max_bytes = bytes, .last_bytes = bytes});
  }
  findings.timeline.levels.push_back(level);
  return findings;
}

TEST(TimelineText, IsAsWideAndHighAsAskedFor) {
  const std::string text = timeline_text(ramp(), {}, {.width = 60, .height = 8}, {});
  std::size_t lines = 0, at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(columns_of(std::string_view(text).substr(at, end - at)), 60u);
    at = end + 1;
    ++lines;
  }
  EXPECT_EQ(lines, 1u + 8 + 2);
}

TEST(TimelineText, WithoutUtf8ItIsPlainAscii) {
  const std::vector<Mark> marks{{.name = "warm", .event = 2, .time_us = 250}};
  TextStyle ascii;
  ascii.utf8 = false;
  const std::string text = timeline_text(ramp(), marks, {.width = 70}, ascii);
  for (const char c : text) EXPECT_GE(c, '\n');
  EXPECT_NE(text.find("0.000250 s  warm"), std::string::npos) << text;
}

TEST(TimelineText, NoPeakIsLostInANarrowPicture) {
  Findings findings = ramp();
  findings.timeline.levels[0].buckets[3].max_bytes = 5000;
  const auto columns = timeline_columns(findings.timeline, findings.end_us, 20);
  std::uint64_t highest = 0;
  for (const TimelineColumn& column : columns) highest = std::max(highest, column.max_bytes);
  EXPECT_EQ(columns.size(), 20u);
  EXPECT_EQ(highest, 5000u);
}

TEST(JsonWriter, PutsCommasAndEscapesText) {
  JsonWriter json;
  json.begin_object().field("a", 1).key("list").begin_array().value("x\"\\\n").value(true).null().end_array();
  json.field("share", 0.5, 2).key("empty").begin_object().end_object().end_object();
  EXPECT_EQ(json.text(), R"({"a":1,"list":["x\"\\\u000a",true,null],"share":0.50,"empty":{}})");
}

TEST(JsonWriter, BytesThatAreNoTextBecomeReplacementCharacters) {
  JsonWriter json;
  json.value("a\xff\xc3\xa9\xc3");
  EXPECT_EQ(json.text(), "\"a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\"");
}

} // namespace
} // namespace heaptape
