#include "base/near_word.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heaptape {
namespace {

const std::vector<std::string> kCommands{"record", "report", "leaks", "peak", "top", "ps", "sql", "stats", "symbolize"};

TEST(NearWord, CountsInsertedLostReplacedAndSwappedLetters) {
  EXPECT_EQ(letters_apart("", "abc"), 3u);
  EXPECT_EQ(letters_apart("output", "ouput"), 1u);
  EXPECT_EQ(letters_apart("function", "fucntion"), 1u);
  EXPECT_EQ(letters_apart("kitten", "sitting"), 3u);
  EXPECT_EQ(letters_apart("Peak", "peak"), 0u);
  EXPECT_GT(letters_apart(std::string(65, 'a'), std::string(65, 'a')), 1000u);
}

TEST(NearWord, FindsWhatWasMeant) {
  EXPECT_EQ(near_word("leak", kCommands), "leaks");
  EXPECT_EQ(near_word("reprot", kCommands), "report");
  EXPECT_EQ(near_word("symb", kCommands), "symbolize"); // the only one that begins like this
}

TEST(NearWord, KeepsQuietWhenNothingIsNear) {
  EXPECT_EQ(near_word("fly", kCommands), "");
  EXPECT_EQ(near_word("s", kCommands), "");
  EXPECT_EQ(near_word("redis-server", kCommands), "");
  EXPECT_EQ(near_word("", kCommands), "");
  EXPECT_EQ(near_word("word", std::vector<std::string>{}), "");
  EXPECT_EQ(did_you_mean("fly", kCommands), "");
  EXPECT_EQ(did_you_mean("leask", kCommands), "; did you mean 'leaks'?");
}

TEST(NearWord, ListsChoicesAsASentenceDoes) {
  EXPECT_EQ(listed({"a"}), "a");
  EXPECT_EQ(listed({"a", "b"}), "a or b");
  EXPECT_EQ(listed({"a", "b", "c"}, "and"), "a, b and c");
}

} // namespace
} // namespace heaptape
