#include <gtest/gtest.h>

#include "report/export/callgrind.h"
#include "report/export/csv.h"
#include "report/export/dhat.h"
#include "report/export/exported_for_test.h"
#include "report/export/folded.h"
#include "report/export/gprof2dot.h"
#include "report/export/heaptrack.h"
#include "report/export/html.h"
#include "report/export/massif.h"
#include "wire/stack_roots.h"

namespace heaptape {
namespace {

using test::ExportedTape;
using test::Stacks;
using test::Story;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

std::string folded(ExportedTape& tape, const FoldedOptions& options) {
  return tape.text([&](const ExportInput& input, Sink& sink) { export_folded(input, options, sink); });
}

TEST(Folded, StacksOfTheSameFunctionsAreOneLineOutermostFirst) {
  Stacks stacks;
  stacks.add_place("load 1", {{.function = "load", .file = "a.c", .line = 1}});
  stacks.add_place("load 2", {{.function = "load", .file = "a.c", .line = 2}});
  const StackId first = stacks.stack({"main", "load 1"});
  const StackId second = stacks.stack({"main", "load 2"});
  ExportedTape tape(Story().by(1, first.value).make(16, 100).by(1, second.value).make(32, 20), stacks);
  EXPECT_EQ(folded(tape, {}), "main;load 120\n");
  EXPECT_EQ(folded(tape, {.blocks = true}), "main;load 2\n");
}

TEST(Folded, InlinedFunctionsAreFramesOfTheirOwn) {
  Stacks stacks;
  stacks.add_place("push", {{.function = "allocate"}, {.function = "push"}});
  ExportedTape tape(Story().by(1, stacks.stack({"main", "push"}).value).make(16, 8), stacks);
  EXPECT_EQ(folded(tape, {}), "main;push;allocate 8\n");
}

TEST(Folded, TheQuantityDecidesWhichStacksAreThere) {
  Stacks stacks;
  const std::uint32_t kept = stacks.stack({"main", "keep"}).value;
  const std::uint32_t dropped = stacks.stack({"main", "drop"}).value;
  ExportedTape tape(Story().by(1, dropped).make(16, 500).end(16).by(1, kept).make(32, 20), stacks);
  EXPECT_EQ(folded(tape, {.quantity = Quantity::Peak}), "main;drop 500\n");
  EXPECT_EQ(folded(tape, {.quantity = Quantity::Live}), "main;keep 20\n");
  EXPECT_EQ(folded(tape, {.quantity = Quantity::Allocated}), "main;drop 500\nmain;keep 20\n");
  EXPECT_EQ(folded(tape, {.quantity = Quantity::Temporary}), "main;drop 500\n");
}

TEST(Folded, ANameCannotBreakTheLine) {
  Stacks stacks;
  ExportedTape tape(Story().by(1, stacks.stack({"evil;na\nme"}).value).make(16, 8), stacks);
  EXPECT_EQ(folded(tape, {}), "evil?na?me 8\n");
}

TEST(Folded, StacksThatWereCutSaySo) {
  Stacks stacks;
  ExportedTape tape(Story().by(1, stacks.stack({"work"}, wire::kRootCut).value).make(16, 8).by(1, 0).make(32, 4),
                    stacks);
  EXPECT_EQ(folded(tape, {}), "[cut];work 8\n[no stack] 4\n");
}

TEST(Gprof2dot, EveryStackIsACallChainInnermostFirst) {
  Stacks stacks;
  ExportedTape tape(Story().by(1, stacks.stack({"main", "work"}).value).make(16, 8), stacks);
  const std::string text = tape.text([](const ExportInput& input, Sink& sink) {
    export_gprof2dot(input, costs_of(input.findings(), Quantity::Live), sink);
  });
  EXPECT_TRUE(contains(text, R"({"callchain": [0, 1], "cost": [8]})")) << text;
  EXPECT_TRUE(contains(text, R"({"name": "work", "module": "program"},)")) << text;
}

TEST(Gprof2dot, WhatWasLiveAtAnEventCanBeAskedFor) {
  Stacks stacks;
  ExportedTape tape(Story().by(1, stacks.stack({"main"}).value).make(16, 8).make(32, 100).end(16), stacks);
  const std::vector<CostOfStack> costs = costs_at(tape.input(), 2);
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0].cost, (Cost{108, 2}));
}

TEST(Callgrind, ARecursiveFunctionCostsWhatItCostsOnce) {
  Stacks stacks;
  ExportedTape tape(Story().by(1, stacks.stack({"main", "walk", "walk", "walk"}).value).make(16, 10), stacks);
  const std::string text = tape.text(export_callgrind);
  EXPECT_TRUE(contains(text, "summary: 10 1 10 1 10 1 0 0\n")) << text;
  EXPECT_TRUE(contains(text, "calls=1 0\n0 10 1 10 1 10 1 0 0\n")) << text;
}

TEST(Csv, FieldsAreQuotedAndFormulasDisarmed) {
  Stacks stacks;
  ExportedTape tape(Story().by(1, stacks.stack({"f<a, \"b\">", "=cmd()"}).value).make(16, 10), stacks);
  const std::string text = tape.text(export_csv);
  EXPECT_TRUE(contains(text, ",\"'=cmd()\",")) << text;
  EXPECT_TRUE(contains(text, "\"'=cmd() <- f<a, \"\"b\"\">\"\r\n")) << text;
}

TEST(Dhat, TheMostOfAStackCountsOldAndNewOfAReallocNeverTogether) {
  Stacks stacks;
  const std::uint32_t stack = stacks.stack({"main"}).value;
  ExportedTape tape(Story().by(1, stack).make(16, 100).move(16, 32, 150).end(32).make(48, 10), stacks);
  const std::string text = tape.text(export_dhat);
  EXPECT_TRUE(contains(text, "\"tb\":260,\"tbk\":3")) << text;
  EXPECT_TRUE(contains(text, "\"mb\":150,\"mbk\":1")) << text;
  EXPECT_TRUE(contains(text, "\"eb\":10,\"ebk\":1")) << text;
}

TEST(Massif, PlacesBelowTheThresholdAreJoinedAndSumsKept) {
  Stacks stacks;
  const std::uint32_t large = stacks.stack({"main", "large"}).value;
  const std::uint32_t small = stacks.stack({"main", "small"}).value;
  ExportedTape tape(Story().by(1, large).make(16, 1000).by(1, small).make(32, 1), stacks);
  const std::string text =
      tape.text([](const ExportInput& input, Sink& sink) { export_massif(input, {.threshold_percent = 1}, sink); });
  EXPECT_TRUE(contains(text, "heap_tree=peak\nn2: 1001 (heap allocation functions)")) << text;
  EXPECT_TRUE(contains(text, " n0: 1 in 1 place, below massif's threshold (1.00%)\n")) << text;
}

TEST(Heaptrack, AReallocReleasesTheOldBlockFirst) {
  Stacks stacks;
  const std::uint32_t stack = stacks.stack({"main"}).value;
  ExportedTape tape(Story().by(1, stack).make(16, 0x10).move(16, 32, 0x20).end(32), stacks);
  const std::string text = tape.text(export_heaptrack);
  EXPECT_TRUE(contains(text, "a 10 1\n+ 0\n- 0\na 20 1\n+ 1\n- 1\n")) << text;
}

TEST(Html, NoNameCanEndTheScriptThatHoldsIt) {
  Stacks stacks;
  ExportedTape tape(Story().by(1, stacks.stack({"</script><img src=x onerror=alert(1)>"}).value).make(16, 10), stacks);
  const std::string text = tape.text(export_html);
  EXPECT_FALSE(contains(text, "<img"));
  EXPECT_FALSE(contains(text, "a</script>"));
  EXPECT_TRUE(contains(text, "\\u003c/script>\\u003cimg"));
}

} // namespace
} // namespace heaptape
