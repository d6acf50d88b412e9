#include "report/select/suppressions.h"

#include <gtest/gtest.h>

#include "report/names/stacks_for_test.h"

namespace heaptape {
namespace {

using test::Stacks;

// What is left of one leak of 100 bytes at this stack.
std::uint64_t left(Stacks& program, StackId stack, std::string_view text) {
  Suppressions suppressions;
  const Result<> added = suppressions.add(text, "test.supp");
  EXPECT_TRUE(added.ok()) << (added ? "" : added.error().sentence);
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  std::vector<StackCost> costs{{.stack = stack, .cost = {100, 2}}};
  suppressions.apply(names, costs);
  EXPECT_EQ(suppressions.suppressed().bytes, costs.empty() ? 100u : 0u);
  return costs.empty() ? 0 : costs[0].cost.bytes;
}

TEST(Suppressions, PatternsMayHaveWildcards) {
  EXPECT_TRUE(is_like("setup_cache", "setup*"));
  EXPECT_TRUE(is_like("setup_cache", "*p_c*"));
  EXPECT_TRUE(is_like("abcabd", "*ab?"));
  EXPECT_TRUE(is_like("", "*"));
  EXPECT_FALSE(is_like("setup", "setup?"));
  EXPECT_FALSE(is_like("my_setup", "setup*"));
}

TEST(Suppressions, LeakSanitizersPatternIsLookedForAnywhereInAnyFrame) {
  Stacks program;
  const StackId stack = program.stack({"main", "setup_cache", "make"});
  EXPECT_EQ(left(program, stack, "leak:up_ca"), 0u);
  EXPECT_EQ(left(program, stack, "leak:^cache"), 100u);
  EXPECT_EQ(left(program, stack, "leak:^setup*cache$\n"), 0u);
}

TEST(Suppressions, LeakSanitizersPatternMayNameAFileOrAModule) {
  Stacks program;
  program.add_function("work", "/src/known_leaky.cpp", 3);
  program.add_module("/usr/lib/libold.so.3");
  const StackId stack = program.stack({"call", "work"});
  EXPECT_EQ(left(program, stack, "# a comment\n\nleak:known_leaky.cpp\n"), 0u);
  EXPECT_EQ(left(program, stack, "leak:libold.so"), 0u);
  EXPECT_EQ(left(program, stack, "leak:libnew.so"), 100u);
}

TEST(Suppressions, ValgrindsEntryFollowsTheStackFromTheInnermostFrame) {
  Stacks program;
  const StackId stack = program.stack({"main", "outer", "inner"});
  EXPECT_EQ(left(program, stack, "{\n  known\n  Memcheck:Leak\n  fun:inner\n  fun:out*\n}\n"), 0u);
  EXPECT_EQ(left(program, stack, "{\n  known\n  Memcheck:Leak\n  fun:outer\n}\n"), 100u);
  EXPECT_EQ(left(program, stack, "{\n  known\n  Memcheck:Leak\n  ...\n  fun:main\n}\n"), 0u);
  EXPECT_EQ(left(program, stack, "{\n  known\n  Memcheck:Leak\n  fun:inner\n  ...\n  fun:nobody\n}\n"), 100u);
}

TEST(Suppressions, ManyEllipsesOnADeepStackTakeNoTime) {
  Stacks program;
  const StackId stack = program.stack(std::vector<std::string>(500, "again"));
  std::string text = "{\n deep\n Memcheck:Leak\n";
  for (int i = 0; i < 50; ++i) text += " ...\n fun:again\n";
  EXPECT_EQ(left(program, stack, text + " ...\n fun:nobody\n}\n"), 100u);
  EXPECT_EQ(left(program, stack, text + "}\n"), 0u);
}

TEST(Suppressions, ValgrindsFrameOfTheAllocatorIsPassedOver) {
  Stacks program;
  const StackId stack = program.stack({"main", "inner"});
  EXPECT_EQ(left(program, stack,
                 "{\n  known\n  Memcheck:Leak\n  match-leak-kinds: reachable\n  fun:malloc\n  fun:inner\n  "
                 "obj:*/program\n}\n"),
            0u);
  EXPECT_EQ(left(program, stack, "{\n  known\n  Memcheck:Leak\n  fun:*alloc\n  fun:main\n}\n"), 100u);
}

TEST(Suppressions, EntriesForOtherFindingsMeanNothing) {
  Stacks program;
  const StackId stack = program.stack({"main"});
  EXPECT_EQ(left(program, stack, "{\n  other\n  Memcheck:Cond\n  fun:main\n}\nrace:main\n"), 100u);
}

// Whether an error that `main` > `inner` made in a call of free is known.
bool is_known(std::string_view text, SuppressionOf of) {
  Stacks program;
  const StackId stack = program.stack({"main", "inner"});
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  Suppressions suppressions;
  const Result<> added = suppressions.add(text, "test.supp");
  EXPECT_TRUE(added.ok()) << (added ? "" : added.error().sentence);
  return suppressions.suppress(names, {.of = of, .stacks = {StackId(), stack}, .called = "free"});
}

TEST(Suppressions, MemchecksEntriesForFreeAndAddrAreAboutErrors) {
  EXPECT_TRUE(is_known("{\n a\n Memcheck:Free\n fun:free\n fun:inner\n}\n", SuppressionOf::Releases));
  EXPECT_TRUE(is_known("{\n a\n Memcheck,Addrcheck:Free\n fun:inner\n}\n", SuppressionOf::Mismatches));
  EXPECT_TRUE(is_known("{\n a\n Memcheck:Addr16\n ...\n fun:main\n}\n", SuppressionOf::Accesses));
  EXPECT_FALSE(is_known("{\n a\n Memcheck:Free\n fun:inner\n}\n", SuppressionOf::Accesses));
  EXPECT_FALSE(is_known("{\n a\n Memcheck:Value4\n fun:inner\n}\n", SuppressionOf::Accesses));
  EXPECT_FALSE(is_known("{\n a\n Memcheck:AddrX\n fun:inner\n}\n", SuppressionOf::Accesses));
  EXPECT_FALSE(is_known("{\n a\n Helgrind:Free\n fun:inner\n}\n", SuppressionOf::Releases));
}

TEST(Suppressions, AddressSanitizersWordsNameACallerOrTheFunctionThatWasCalled) {
  EXPECT_TRUE(is_known("interceptor_via_fun:inn", SuppressionOf::Accesses));
  EXPECT_TRUE(is_known("interceptor_via_lib:/program$", SuppressionOf::Releases));
  EXPECT_TRUE(is_known("interceptor_name:free", SuppressionOf::Releases));
  EXPECT_FALSE(is_known("interceptor_name:memcpy", SuppressionOf::Releases));
  EXPECT_FALSE(is_known("interceptor_via_fun:free", SuppressionOf::Releases)) << "it is not on the stack";
  EXPECT_TRUE(is_known("alloc_dealloc_mismatch:inner", SuppressionOf::Mismatches));
  EXPECT_FALSE(is_known("alloc_dealloc_mismatch:inner", SuppressionOf::Releases));
  EXPECT_FALSE(is_known("leak:inner\nodr_violation:inner\n", SuppressionOf::Releases));
}

TEST(Suppressions, EntriesForErrorsLeaveLeaksAlone) {
  Stacks program;
  const StackId stack = program.stack({"main"});
  EXPECT_EQ(left(program, stack, "{\n a\n Memcheck:Free\n fun:main\n}\ninterceptor_via_fun:main\n"), 100u);
}

TEST(Suppressions, TheFirstEntryThatMatchesCountsIt) {
  Stacks program;
  const StackId stack = program.stack({"main"});
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.add("leak:nobody\nleak:main\nleak:ma\n", "x").ok());
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  std::vector<StackCost> costs{{.stack = stack, .thread = ThreadId(1), .cost = {100, 2}},
                               {.stack = stack, .thread = ThreadId(2), .cost = {10, 1}}};
  suppressions.apply(names, costs);
  EXPECT_EQ(suppressions.entries()[0].used, Cost{});
  EXPECT_EQ(suppressions.entries()[1].used, (Cost{110, 3}));
  EXPECT_EQ(suppressions.entries()[2].used, Cost{});
}

TEST(Suppressions, AWrongLineIsNamed) {
  const auto sentence = [](std::string_view text) {
    Suppressions suppressions;
    const Result<> added = suppressions.add(text, "my.supp");
    return added ? std::string() : added.error().sentence;
  };
  EXPECT_NE(sentence("leak:a\nnonsense\n").find("my.supp, line 2: 'nonsense'"), std::string::npos);
  EXPECT_NE(sentence("{\n name\n Memcheck:Leak\n fun:a\n").find("'}' is missing"), std::string::npos);
  EXPECT_NE(sentence("leak:\n").find("needs a pattern"), std::string::npos);
}

} // namespace
} // namespace heaptape
