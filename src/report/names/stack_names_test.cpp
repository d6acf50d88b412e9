#include "report/names/stack_names.h"

#include <gtest/gtest.h>

#include "report/names/stack_paths.h"
#include "report/names/stacks_for_test.h"
#include "wire/stack_roots.h"

namespace heaptape {
namespace {

using test::Stacks;

std::vector<std::string> functions(StackNames& names, StackId stack) {
  std::vector<std::string> all;
  for (const FrameId frame : names.frames_of(stack)) all.emplace_back(names.function(frame));
  return all;
}

using Names = std::vector<std::string>;

TEST(StackNames, FramesComeInnermostFirstWithFileAndLine) {
  Stacks program;
  program.add_function("work", "/src/work.c", 12);
  const StackId stack = program.stack({"main", "work"});
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  EXPECT_EQ(functions(names, stack), (Names{"work", "main"}));
  const NamedFrame& work = names[names.frames_of(stack)[0]];
  EXPECT_EQ(names.text(work.file), "/src/work.c");
  EXPECT_EQ(work.line, 12u);
  EXPECT_EQ(names.text(work.module_name), "program");
  EXPECT_FALSE(work.inlined);
}

TEST(StackNames, InlinedFunctionsAreFramesOfTheirOwn) {
  Stacks program;
  program.add_place("both", {SourcePlace{.function = "_ZN5Cache6insertEi", .file = "cache.h", .line = 3},
                             SourcePlace{.function = "_Z5storei", .file = "store.cpp", .line = 9}});
  const StackId stack = program.stack({"main", "both"});
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  EXPECT_EQ(functions(names, stack), (Names{"Cache::insert", "store", "main"}));
  const auto frames = names.frames_of(stack);
  EXPECT_TRUE(names[frames[0]].inlined);
  EXPECT_FALSE(names[frames[1]].inlined);
  EXPECT_EQ(names.full_name(frames[0]), "Cache::insert(int)");
}

TEST(StackNames, TheFormOfNamesIsTheOneAskedFor) {
  Stacks program;
  const StackId stack = program.stack({"_ZN5Cache6insertEi"});
  StackNames full(program.modules, program.stacks, program.symbols, NameForm::Full);
  EXPECT_EQ(functions(full, stack), (Names{"Cache::insert(int)"}));
  StackNames mangled(program.modules, program.stacks, program.symbols, NameForm::Mangled);
  EXPECT_EQ(functions(mangled, stack), (Names{"_ZN5Cache6insertEi"}));
}

TEST(StackNames, AnUnknownFunctionIsItsModuleAndOffset) {
  Stacks program;
  program.add_module("/lib/libstrange.so.1");
  program.add_place("unknown", {});
  const StackId stack = program.stack({"main", "unknown"});
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  EXPECT_EQ(functions(names, stack)[0], "libstrange.so.1+0x1000");
}

TEST(StackNames, AnAddressOutsideEveryModuleIsShownAsItIs) {
  Stacks program;
  program.stacks.push_back({StackId(), 0x7f00'0000});
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  EXPECT_EQ(functions(names, StackId(1)), (Names{"?+0x7f000000"}));
}

TEST(StackNames, FramesOfTheRecorderAreNotShown) {
  Stacks program;
  program.add_function("main");
  program.add_module("/usr/lib/heaptape/libheaptape.so");
  program.add_function("malloc");
  const StackId stack = program.stack({"main", "malloc"});
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  EXPECT_EQ(functions(names, stack), (Names{"main"}));
}

TEST(StackNames, FunctionsOfOurHeaderAreNotShownAndTheirCallerIsTheInnermost) {
  Stacks program;
  program.add_place("told",
                    {SourcePlace{.function = "heaptape_alloc", .file = "/usr/include/heaptape/pool.h", .line = 3},
                     SourcePlace{.function = "_Z5storei", .file = "store.cpp", .line = 9}});
  program.add_place("own", {SourcePlace{.function = "heaptape_alloc", .file = "mine.c", .line = 3}});
  const StackId told = program.stack({"main", "told"}), own = program.stack({"main", "own"});
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  EXPECT_EQ(functions(names, told), (Names{"store", "main"}));
  EXPECT_EQ(functions(names, own), (Names{"heaptape_alloc", "main"}));
}

TEST(StackNames, ACutStackSaysSo) {
  Stacks program;
  const StackId cut = program.stack({"work"}, wire::kRootCut), deep = program.stack({"work"}, wire::kRootTooDeep);
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  EXPECT_EQ(names.each_frame(cut, [](FrameId) {}), StackEnd::Cut);
  EXPECT_EQ(names.each_frame(deep, [](FrameId) {}), StackEnd::TooDeep);
  EXPECT_EQ(names.each_frame(StackId(), [](FrameId) {}), StackEnd::Whole);
  EXPECT_EQ(functions(names, cut), (Names{"work"}));
}

TEST(StackNames, OnePlaceIsOneFrameWhoeverCallsIt) {
  Stacks program;
  const StackId one = program.stack({"a", "work"}), other = program.stack({"b", "work"});
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  EXPECT_EQ(names.frames_of(one)[0], names.frames_of(other)[0]);
  EXPECT_NE(names.frames_of(one)[1], names.frames_of(other)[1]);
}

TEST(StackPaths, StacksOfTwoBuildsAreTheSameWhenTheirFunctionsAre) {
  Stacks before, after;
  before.add_function("_Z4workv.constprop.0", "work.cpp", 10);
  const StackId old_stack = before.stack({"main", "_Z4workv.constprop.0"});
  after.add_module("/usr/lib/other.so"); // everything lies elsewhere
  after.add_place("inlined", {SourcePlace{.function = "_Z4workv", .file = "work.cpp", .line = 44},
                              SourcePlace{.function = "main"}});
  const StackId new_stack = after.stack({"inlined"}), other_stack = after.stack({"inlined", "more"});
  StackNames old_names(before.modules, before.stacks, before.symbols, NameForm::Short);
  StackNames new_names(after.modules, after.stacks, after.symbols, NameForm::Short);
  StackPaths paths;
  const PathId path = paths.path_of(old_names, old_stack);
  EXPECT_EQ(path, paths.path_of(new_names, new_stack));
  EXPECT_NE(path, paths.path_of(new_names, other_stack));
  EXPECT_EQ(paths.path_of(new_names, StackId()), PathId());
}

} // namespace
} // namespace heaptape
