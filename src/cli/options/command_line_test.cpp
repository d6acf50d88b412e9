#include "cli/options/command_line.h"

#include <gtest/gtest.h>

#include "cli/terminal/exit_codes.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape try [options] [TAPE]", .purpose = "Tries something.", .more = "Examples:\n"};

struct Tried {
  std::optional<int> status;
  bool flag = false;
};

Tried parse_words(const std::vector<const char*>& words) {
  Tried tried;
  OptionList list("try");
  list.flag("--all", tried.flag, "everything");
  tried.status = parse(list, kHelp, words);
  return tried;
}

TEST(CommandLine, WrongOptionsAreNamedInOneLineThatSaysWhereTheRightOnesAre) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(parse_words({"--nothing"}).status, kTrouble);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "heaptape: unknown option --nothing; 'heaptape try --help' lists the options\n");
}

TEST(CommandLine, HelpEndsTheCommandWell) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(parse_words({"--all", "-h"}).status, kOk);
  EXPECT_TRUE(testing::internal::GetCapturedStdout().starts_with("usage: heaptape try [options] [TAPE]\n"));
}

TEST(CommandLine, GoodOptionsLetTheCommandGoOn) {
  const Tried tried = parse_words({"--all"});
  EXPECT_EQ(tried.status, std::nullopt);
  EXPECT_TRUE(tried.flag);
}

} // namespace
} // namespace heaptape::cli
