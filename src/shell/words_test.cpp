#include "shell/words.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

std::vector<std::string> texts_of(std::string_view line) {
  const Result<std::vector<Word>> words = split_words(line);
  EXPECT_TRUE(words.ok());
  std::vector<std::string> texts;
  for (const Word& word : words.value()) texts.push_back(word.text);
  return texts;
}

TEST(Words, QuotesAndBackslashesKeepSpacesTogether) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts_of("  two\twords "), (Texts{"two", "words"}));
  EXPECT_EQ(texts_of(R"('two words' "a b" a' 'b two\ words)"), (Texts{"two words", "a b", "a b", "two words"}));
  EXPECT_EQ(texts_of(R"('' \" '\')"), (Texts{"", "\"", "\\"}));
  EXPECT_EQ(texts_of(""), Texts{});
}

TEST(Words, AWordAlsoKeepsHowItWasTyped) {
  EXPECT_EQ(split_words(R"(fn~"a b")").value().front().raw, R"(fn~"a b")");
  EXPECT_EQ(split_words(R"(fn~"a b")").value().front().text, "fn~a b");
}

TEST(Words, AnOpenQuoteIsRefused) {
  EXPECT_FALSE(split_words("a \"b").ok());
  EXPECT_FALSE(split_words("a 'b").ok());
}

} // namespace
} // namespace heaptape
