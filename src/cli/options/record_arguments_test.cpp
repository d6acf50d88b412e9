#include "cli/options/record_arguments.h"

#include <gtest/gtest.h>

namespace heaptape::cli {
namespace {

struct Split {
  std::vector<std::string> options, command;
  friend bool operator==(const Split&, const Split&) = default;
};

Split split(const std::vector<const char*>& words) {
  std::string value;
  bool flag = false;
  OptionList list("record");
  list.text("-o,--output FILE", value, "");
  list.text("--max-depth N", value, "");
  list.flag("-q,--quiet", flag, "");
  const RecordArguments arguments = split_record_arguments(list, words);
  return {{arguments.options.begin(), arguments.options.end()}, {arguments.command.begin(), arguments.command.end()}};
}

TEST(RecordArguments, EverythingAfterTheProgramIsItsOwn) {
  EXPECT_EQ(split({"-q", "ls", "-q", "--output", "--", "x"}), (Split{{"-q"}, {"ls", "-q", "--output", "--", "x"}}));
}

TEST(RecordArguments, ValueOfAnOptionIsNotTheProgram) {
  EXPECT_EQ(split({"-o", "a.tape", "ls"}), (Split{{"-o", "a.tape"}, {"ls"}}));
  EXPECT_EQ(split({"-qo", "a.tape", "ls"}), (Split{{"-qo", "a.tape"}, {"ls"}}));
  EXPECT_EQ(split({"-oa.tape", "ls"}), (Split{{"-oa.tape"}, {"ls"}}));
  EXPECT_EQ(split({"--output=a.tape", "ls"}), (Split{{"--output=a.tape"}, {"ls"}}));
  EXPECT_EQ(split({"--max-depth", "5", "ls"}), (Split{{"--max-depth", "5"}, {"ls"}}));
}

TEST(RecordArguments, TwoDashesEndTheOptionsWhateverFollows) {
  EXPECT_EQ(split({"-q", "--", "-program", "-o"}), (Split{{"-q"}, {"-program", "-o"}}));
}

TEST(RecordArguments, UnknownOptionStaysAmongTheOptionsToBeComplainedAbout) {
  EXPECT_EQ(split({"--quite", "ls"}), (Split{{"--quite"}, {"ls"}}));
}

TEST(RecordArguments, WithoutAProgramTheCommandIsEmpty) {
  EXPECT_EQ(split({"-q"}), (Split{{"-q"}, {}}));
  EXPECT_EQ(split({"-q", "--"}), (Split{{"-q"}, {}}));
  EXPECT_EQ(split({}), (Split{{}, {}}));
}

} // namespace
} // namespace heaptape::cli
