#include "report/pages/tape_facts.h"

#include <gtest/gtest.h>

#include <csignal>

namespace heaptape {
namespace {

TEST(CommandText, ArgumentsAreSplitAtTheirEnds) {
  using namespace std::string_literals;
  EXPECT_EQ(split_command("ls\0\0-l\0"s), (std::vector<std::string>{"ls", "", "-l"}));
  EXPECT_EQ(split_command(""), std::vector<std::string>{});
}

TEST(CommandText, CanBePastedIntoAShell) {
  EXPECT_EQ(command_text({"./app", "--name=x", "two words", "", "it's"}), R"(./app --name=x 'two words' '' 'it'\''s')");
  EXPECT_EQ(command_text({"printf", "a\n'b'\x1b[31m\\"}), R"(printf $'a\x0a\'b\'\x1b[31m\\')");
}

TEST(EndingText, SaysHowTheProgramEnded) {
  Summary summary;
  summary.ending = Ending::Exited;
  summary.ending_detail = 3;
  EXPECT_EQ(ending_text(summary, true), "exited with status 3");
  summary.ending = Ending::Killed;
  summary.ending_detail = SIGSEGV;
  EXPECT_EQ(ending_text(summary, true), "killed by SIGSEGV");
  summary.ending_detail = SIGRTMIN + 1;
  EXPECT_EQ(ending_text(summary, true), "killed by signal 35");
  summary.ending = Ending::CollectorStopped;
  summary.note = "no space left on device";
  EXPECT_EQ(ending_text(summary, true), "not seen, because recording stopped first: no space left on device");
  EXPECT_NE(ending_text(summary, false).find("cut off"), std::string::npos);
}

} // namespace
} // namespace heaptape
