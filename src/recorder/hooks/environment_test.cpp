#include "recorder/hooks/environment.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <list>
#include <string>
#include <vector>

namespace heaptape::recorder {
namespace {

using Strings = std::vector<std::string>;

constexpr const char* kLibrary = "/lib/libheaptape.so";

// The words behind a program's arguments, as the kernel leaves them: the environment, null, the auxiliary vector.
class Words {
public:
  explicit Words(const Strings& variables) {
    for (const std::string& variable : variables) words_.push_back(texts_.emplace_back(variable).data());
    words_.push_back(nullptr);
    for (const std::uint64_t word :
         {std::uint64_t{AT_PAGESZ}, std::uint64_t{4096}, std::uint64_t{AT_NULL}, std::uint64_t{0}})
      words_.push_back(reinterpret_cast<char*>(word));
  }

  char** environment() { return words_.data(); }

  Strings variables() const {
    Strings variables;
    for (std::size_t i = 0; words_[i] != nullptr; ++i) variables.emplace_back(words_[i]);
    return variables;
  }

  // The page size as somebody finds it who looks behind the environment; 0: there is none before the vector's end.
  std::uint64_t page_size() const {
    std::size_t i = 0;
    while (words_[i] != nullptr) ++i;
    for (++i; i + 1 < words_.size() && words_[i] != nullptr; i += 2) {
      if (word(i) == AT_PAGESZ) return word(i + 1);
    }
    return 0;
  }

private:
  std::uint64_t word(std::size_t index) const { return reinterpret_cast<std::uint64_t>(words_[index]); }

  std::list<std::string> texts_;
  std::vector<char*> words_;
};

TEST(RestoreEnvironment, TheAuxiliaryVectorIsFoundBehindItHoweverManyEntriesWent) {
  for (std::size_t taken = 0; taken <= 8; ++taken) {
    Strings variables{"A=1"};
    for (std::size_t i = 0; i < taken; ++i) variables.push_back("HEAPTAPE_" + std::to_string(i) + "=x");
    variables.emplace_back("B=2");
    Words words(variables);
    restore_environment(words.environment(), kLibrary, false);
    EXPECT_EQ(words.page_size(), 4096u) << taken;
    EXPECT_EQ(words.variables().front(), "A=1");
  }
}

TEST(RestoreEnvironment, AnEvenNumberGoesWithoutATrace) {
  Words words({"LD_PRELOAD=/lib/libheaptape.so", "A=1", "HEAPTAPE_OUTPUT=x"});
  restore_environment(words.environment(), kLibrary, false);
  EXPECT_EQ(words.variables(), (Strings{"A=1"}));
}

TEST(RestoreEnvironment, OfAnOddNumberAnEmptyOneStays) {
  Words preload({"A=1", "LD_PRELOAD=/lib/libheaptape.so"});
  restore_environment(preload.environment(), kLibrary, false);
  EXPECT_EQ(preload.variables(), (Strings{"A=1", "LD_PRELOAD="}));
  Words option({"LD_PRELOAD=/lib/libheaptape.so:mine.so", "HEAPTAPE_MAX_DEPTH=9", "A=1"});
  restore_environment(option.environment(), kLibrary, false);
  EXPECT_EQ(option.variables(), (Strings{"LD_PRELOAD=mine.so", "A=1", "HEAPTAPE_="}));
}

TEST(RestoreEnvironment, AFollowedProgramKeepsAllButItsConnection) {
  Words words({"LD_PRELOAD=/lib/libheaptape.so", "HEAPTAPE_SHM_FD=100", "HEAPTAPE_FOLLOW=1", "HEAPTAPE_SHM_KEY=7"});
  restore_environment(words.environment(), kLibrary, true);
  EXPECT_EQ(words.variables(), (Strings{"LD_PRELOAD=/lib/libheaptape.so", "HEAPTAPE_FOLLOW=1"}));
  EXPECT_EQ(words.page_size(), 4096u);
}

Strings without_recorder(const Strings& variables) {
  Words words(variables);
  std::vector<char*> copy(count_variables(words.environment()) + 1);
  const char* entry = preload_entry(words.environment());
  std::string preload(entry != nullptr ? entry : "");
  copy_without_recorder(words.environment(), kLibrary, copy.data(), preload.data());
  EXPECT_EQ(words.variables(), variables) << "the original is not touched";
  Strings left;
  for (char** variable = copy.data(); *variable != nullptr; ++variable) left.emplace_back(*variable);
  return left;
}

TEST(CopyWithoutRecorder, TheUsersOwnPreloadStays) {
  EXPECT_EQ(without_recorder({"A=1", "LD_PRELOAD=a.so:/lib/libheaptape.so b.so", "HEAPTAPE_FOLLOW=1"}),
            (Strings{"A=1", "LD_PRELOAD=a.so:b.so"}));
  EXPECT_EQ(without_recorder({"LD_PRELOAD=/lib/libheaptape.so", "HEAPTAPE_CHECKPOINT=x", "B="}),
            (Strings{"HEAPTAPE_CHECKPOINT=x", "B="}));
}

TEST(HasRecorder, AnEntryOfTheListMustBeTheWholePath) {
  EXPECT_TRUE(has_recorder(Words({"LD_PRELOAD=a.so:/lib/libheaptape.so"}).environment(), kLibrary));
  EXPECT_FALSE(has_recorder(Words({"LD_PRELOAD=/lib/libheaptape.so.1:x/lib/libheaptape.so"}).environment(), kLibrary));
  EXPECT_FALSE(has_recorder(Words({"PRELOAD=/lib/libheaptape.so"}).environment(), kLibrary));
  EXPECT_FALSE(has_recorder(nullptr, kLibrary));
}

TEST(CopyWithRecorder, WhatIsPutInIsTakenOutAgainWithoutATrace) {
  for (const Strings& theirs : {Strings{"A=1", "B=2"}, Strings{}, Strings{"LD_PRELOAD=/lib/theirs.so", "A=1"},
                                Strings{"A=1", "HEAPTAPE_CHECKPOINT=x"}}) {
    for (const Strings& ours : {Strings{}, Strings{"HEAPTAPE_COLLECTOR=/bin/heaptape"},
                                Strings{"HEAPTAPE_COLLECTOR=/bin/heaptape", "HEAPTAPE_QUIET=1", "HOME=/"}}) {
      Words before(theirs), options(ours);
      const PassedOn passed{kLibrary, options.environment(), "HEAPTAPE_SHM_DOOR=x", false};
      std::vector<char*> copy(count_with_recorder(before.environment(), passed));
      std::string preload(preload_bytes(before.environment(), passed), 'x');
      copy_with_recorder(before.environment(), passed, copy.data(), preload.data());
      Strings given;
      for (char** at = copy.data(); *at != nullptr; ++at) given.emplace_back(*at);
      EXPECT_LE(given.size() + 1, copy.size());
      Words after(given);
      EXPECT_TRUE(has_recorder(after.environment(), kLibrary));
      EXPECT_STREQ(find_variable(after.environment(), "HEAPTAPE_SHM_DOOR"), "x");
      restore_environment(after.environment(), kLibrary, false);
      EXPECT_EQ(after.variables(), theirs);
      EXPECT_EQ(after.page_size(), 4096u);
    }
  }
}

} // namespace
} // namespace heaptape::recorder
