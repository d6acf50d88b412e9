#include "report/select/frame_filter.h"

#include <gtest/gtest.h>

#include "report/names/stacks_for_test.h"

namespace heaptape {
namespace {

using test::Stacks;

struct Rule {
  bool include;
  bool of_module;
  const char* expression;
};

bool accepts(Stacks& program, StackId stack, const std::vector<Rule>& rules) {
  std::vector<FilterRule> compiled;
  for (const Rule& rule : rules) {
    auto pattern = Pattern::compile(rule.expression);
    EXPECT_TRUE(pattern.ok());
    compiled.push_back({rule.include, rule.of_module, std::move(pattern).value()});
  }
  FrameFilter filter(std::move(compiled));
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  return filter.accepts(names, stack);
}

constexpr bool kInclude = true, kExclude = false, kModule = true, kFunction = false;

TEST(Pattern, ThatWouldTakeAllMemoryIsRefused) {
  EXPECT_FALSE(Pattern::compile("((((a{1,255}){1,255}){1,255}){1,255})").ok());
  EXPECT_FALSE(Pattern::compile("(a{200}){200}").ok());
  EXPECT_TRUE(Pattern::compile("[0-9]{1,200}x{3}").ok());
  EXPECT_TRUE(Pattern::compile("a{2,}").ok());
}

TEST(FrameFilter, WithoutRulesEveryStackIsWanted) {
  Stacks program;
  EXPECT_TRUE(accepts(program, program.stack({"main"}), {}));
}

TEST(FrameFilter, AnIncludingRuleLeavesOutWhatItDoesNotMatch) {
  Stacks program;
  EXPECT_TRUE(accepts(program, program.stack({"main", "load"}), {{kInclude, kFunction, "^load$"}}));
  EXPECT_FALSE(accepts(program, program.stack({"main", "save"}), {{kInclude, kFunction, "^load$"}}));
}

TEST(FrameFilter, TheInnermostMatchDecides) {
  Stacks program;
  const std::vector<Rule> rules{{kInclude, kFunction, "load"}, {kExclude, kFunction, "cache"}};
  EXPECT_FALSE(accepts(program, program.stack({"load", "cache"}), rules));
  EXPECT_TRUE(accepts(program, program.stack({"cache", "load"}), rules));
}

TEST(FrameFilter, AtOneFrameTheFirstRuleDecides) {
  Stacks program;
  const StackId stack = program.stack({"load_cache"});
  EXPECT_TRUE(accepts(program, stack, {{kInclude, kFunction, "load"}, {kExclude, kFunction, "cache"}}));
  EXPECT_FALSE(accepts(program, stack, {{kExclude, kFunction, "cache"}, {kInclude, kFunction, "load"}}));
}

TEST(FrameFilter, ModulesAreMatchedByTheirPath) {
  Stacks program;
  program.add_module("/opt/lib/libwork.so.2");
  const StackId stack = program.stack({"work"});
  EXPECT_FALSE(accepts(program, stack, {{kExclude, kModule, "^/opt/"}}));
  EXPECT_TRUE(accepts(program, stack, {{kExclude, kFunction, "libwork"}}));
}

TEST(FrameFilter, ParametersCanBeMatchedAlthoughTheyAreNotShown) {
  Stacks program;
  const StackId stack = program.stack({"_Z4workPKc"});
  EXPECT_FALSE(accepts(program, stack, {{kExclude, kFunction, "work\\(char const"}}));
}

TEST(FrameFilter, ABadExpressionIsNamed) {
  const auto pattern = Pattern::compile("a(b");
  ASSERT_FALSE(pattern.ok());
  EXPECT_NE(pattern.error().sentence.find("'a(b' is not a regular expression"), std::string::npos);
}

} // namespace
} // namespace heaptape
