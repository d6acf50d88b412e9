#include "shell/words.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

Words words_of(std::string_view line) {
  Result<std::vector<Word>> words = split_words(line);
  EXPECT_TRUE(words.ok());
  return Words(std::move(words).value());
}

TEST(Words, OptionsMayStandAnywhereAndPlainWordsKeepTheirOrder) {
  Words words = words_of("0x10 --json --limit 5 0x20 --png=a.png");
  EXPECT_TRUE(words.flag("--json"));
  EXPECT_FALSE(words.flag("--json"));
  EXPECT_EQ(words.option("--limit").value(), "5");
  EXPECT_EQ(words.option("--png").value(), "a.png");
  EXPECT_EQ(words.option("--svg").value(), std::nullopt);
  EXPECT_EQ(words.next(), "0x10");
  EXPECT_EQ(words.next(), "0x20");
  EXPECT_EQ(words.next(), std::nullopt);
  EXPECT_TRUE(words.finish().ok());
}

TEST(Words, AFilterKeepsItsQuotesAndAWordLosesThem) {
  Words words = words_of(R"(size>1M and fn~"a b")");
  EXPECT_EQ(words.rest(), R"(size>1M and fn~"a b")");
  EXPECT_EQ(words_of(R"('two words')").next(), "two words");
  EXPECT_EQ(words_of(R"(two\ words)").next(), "two words");
}

TEST(Words, ANumberWithASignIsNoOption) {
  Words words = words_of("-5");
  EXPECT_EQ(words.next(), "-5");
}

TEST(Words, WhatNobodyTookIsRefusedByName) {
  EXPECT_EQ(words_of("--jsn").finish().error().sentence, "unknown option '--jsn'");
  EXPECT_EQ(words_of("a").finish().error().sentence, "'a' is one word too many");
  EXPECT_EQ(words_of("--png").option("--png").error().sentence, "--png needs a value");
}

TEST(Words, ACountIsANumberAndNothingElse) {
  EXPECT_EQ(words_of("-n 5").count("-n", 20).value(), 5u);
  EXPECT_EQ(words_of("").count("-n", 20).value(), 20u);
  for (const char* wrong : {"-n 0", "-n -1", "-n 5x", "-n 18446744073709551615", "-n"})
    EXPECT_FALSE(words_of(wrong).count("-n", 20).ok()) << wrong;
}

TEST(Words, AValueOfAnOptionIsNotTheFirstWord) {
  const auto any = [](const std::string&) { return true; };
  EXPECT_EQ(words_of("--png old.png app.tape").take_first("--by --png", any), "app.tape");
  EXPECT_EQ(words_of("--json app.tape 0x1").take_first("--by --png", any), "app.tape");
  EXPECT_EQ(words_of("--png=old.png app.tape").take_first("--png", any), "app.tape");
  EXPECT_EQ(words_of("0x1 app.tape").take_first("", [](const std::string& word) { return word.ends_with(".tape"); }),
            std::nullopt);
}

TEST(Words, BehindTwoDashesEverythingIsPlain) {
  Words words = words_of("a -- --json b");
  EXPECT_FALSE(words.flag("--json"));
  EXPECT_EQ(words.rest(), "a --json b");
}

TEST(Words, AnOpenQuoteIsRefused) {
  EXPECT_FALSE(split_words("a \"b").ok());
  EXPECT_FALSE(split_words("a 'b").ok());
}

} // namespace
} // namespace heaptape
