#include "shell/call.h"

#include <gtest/gtest.h>

#include "shell/command.h"

namespace heaptape {
namespace {

constexpr CommandOption kOptions[] = {
    {"--json", "as JSON"},
    {"-n N", "at most N"},
    {"--by,--color-by WHAT", "the order", "size age"},
    {"--png FILE", "a picture"},
};

class CallTest : public testing::Test {
protected:
  Result<OptionList::Outcome> parse(std::string_view line) { return call_.parse(split_words(line).value()); }
  void expect_parsed(std::string_view line) {
    const Result<OptionList::Outcome> outcome = parse(line);
    ASSERT_TRUE(outcome.ok()) << outcome.error().sentence;
    EXPECT_EQ(outcome.value(), OptionList::Outcome::GoOn);
  }

  Command command_{
      .name = "try", .arguments = {}, .summary = {}, .help = {}, .example = {}, .run = nullptr, .options = kOptions};
  Call call_{command_.name, command_.options};
};

TEST_F(CallTest, OptionsMayStandAnywhereAndPlainWordsKeepTheirOrder) {
  expect_parsed("0x10 --json -n 5 0x20 --png=a.png");
  EXPECT_TRUE(call_.flag("--json"));
  EXPECT_EQ(call_.option("-n"), "5");
  EXPECT_EQ(call_.option("--png"), "a.png");
  EXPECT_EQ(call_.option("--by"), std::nullopt);
  EXPECT_EQ(call_.next(), "0x10");
  EXPECT_EQ(call_.next(), "0x20");
  EXPECT_EQ(call_.next(), std::nullopt);
  EXPECT_TRUE(call_.finish().ok());
}

TEST_F(CallTest, AFilterKeepsItsQuotesAndAWordLosesThem) {
  expect_parsed(R"('two words' --by "age" size>1M and fn~"a b")");
  EXPECT_EQ(call_.option("--by"), "age");
  EXPECT_EQ(call_.next(), "two words");
  EXPECT_EQ(call_.rest(), R"(size>1M and fn~"a b")");
}

TEST_F(CallTest, ANumberWithASignIsAPlainWordAndMayBeAValue) {
  expect_parsed("-5 --png -3");
  EXPECT_EQ(call_.next(), "-5");
  EXPECT_EQ(call_.option("--png"), "-3");
}

TEST_F(CallTest, AnOptionMayHaveTwoNames) {
  expect_parsed("--color-by age");
  EXPECT_EQ(call_.option("--by"), "age");
}

TEST_F(CallTest, AnOptionThatTheCommandDoesNotDeclareIsRefusedByName) {
  EXPECT_EQ(parse("--jsn").error().sentence, "unknown option --jsn; did you mean '--json'?");
}

TEST_F(CallTest, AValueThatIsMissingIsAskedFor) { EXPECT_EQ(parse("a --png").error().sentence, "--png needs a value"); }

TEST_F(CallTest, AWordThatNobodyTookIsRefused) {
  expect_parsed("a");
  EXPECT_EQ(call_.finish().error().sentence, "unexpected argument 'a'");
}

TEST_F(CallTest, HelpCanBeAskedForInsteadOfAnAnswer) {
  EXPECT_EQ(parse("--help").value(), OptionList::Outcome::WantsHelp);
}

TEST_F(CallTest, ACountIsANumberAndNothingElse) {
  for (const auto& [text, good] :
       {std::pair{"-n 5", true}, std::pair{"", true}, std::pair{"-n 0", false}, std::pair{"-n -1", false},
        std::pair{"-n 5x", false}, std::pair{"-n 18446744073709551615", false}}) {
    Call call(command_.name, command_.options);
    ASSERT_TRUE(call.parse(split_words(text).value()).ok()) << text;
    EXPECT_EQ(call.count("-n", 20).ok(), good) << text;
  }
  expect_parsed("");
  EXPECT_EQ(call_.count("-n", 20).value(), 20u);
}

TEST_F(CallTest, TheFirstWordIsTakenWhenItIsWantedAndNeverAnOptionsValue) {
  const auto is_tape = [](const std::string& word) { return word.ends_with(".tape"); };
  expect_parsed("--png old.tape app.tape 0x1 b.tape");
  EXPECT_EQ(call_.next_if(is_tape), "app.tape");
  EXPECT_EQ(call_.next_if(is_tape), std::nullopt);
  EXPECT_EQ(call_.rest(), "0x1 b.tape");
}

TEST_F(CallTest, BehindTwoDashesEverythingIsPlain) {
  expect_parsed("a -- --json b");
  EXPECT_FALSE(call_.flag("--json"));
  EXPECT_EQ(call_.rest(), "a --json b");
}

TEST_F(CallTest, CompletionLearnsWhatAValueMayBe) {
  EXPECT_EQ(call_.options().options()[2].choices, (std::vector<std::string>{"size", "age"}));
}

} // namespace
} // namespace heaptape
