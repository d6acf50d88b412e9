#include "shell/interpreter.h"

#include <gtest/gtest.h>

#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"
#include "shell/command.h"
#include "shell/explain.h"

namespace heaptape {
namespace {

class Shell : public testing::Test {
protected:
  Shell()
      : file_(test::Story()
                  .by(1, 1)
                  .make(0x5000'1000, 64)
                  .by(2, 2)
                  .make(0x5000'2000, 100)
                  .end(0x5000'1000)
                  .move(0x5000'2000, 0x5000'3000, 200)
                  .make(0x5000'1020, 16)
                  .events(),
              5, 100),
        session_(Session::open(file_.path())) {
    EXPECT_TRUE(session_.ok());
  }

  std::string run(std::string_view line) {
    StringPrinter out;
    const Result<LineEnd> end = run_line(session_.value(), line, out);
    return end.ok() ? out.text() : "error: " + end.error().sentence;
  }
  Session& session() { return session_.value(); }

  test::SmallTape file_;
  Result<Session> session_;
};

TEST_F(Shell, CommandsMayBeShortenedWhileTheyAreClear) {
  EXPECT_EQ(find_command("expl").value()->name, "explain");
  EXPECT_EQ(find_command("g").value()->name, "goto");
  EXPECT_EQ(find_command("l").error().sentence, "'l' is ambiguous: last, live, leaks");
  EXPECT_EQ(find_command("frobnicate").error().sentence, "not a command: 'frobnicate'; 'help' lists them");
}

TEST_F(Shell, ANameOfTwoWordsMayBeTypedAsTwo) {
  EXPECT_EQ(run("check heap"), run("check-heap"));
  EXPECT_NE(run("check heap").find("the tape holds no memory"), std::string::npos) << run("check heap");
  EXPECT_EQ(run("help check heap"), run("help check-heap"));
  EXPECT_EQ(run("check heaps"), "error: 'check' is ambiguous: checkpoints, check-heap");
}

TEST_F(Shell, EveryCommandHasAHelpAndAnExampleThatBeginsWithItsName) {
  for (const Command* command : commands()) {
    EXPECT_TRUE(command->example.starts_with(command->name)) << command->name;
    EXPECT_FALSE(command->summary.empty()) << command->name;
    EXPECT_NE(run("help " + std::string(command->name)).find(command->summary), std::string::npos);
    EXPECT_NE(run("help").find(command->summary), std::string::npos);
    std::size_t column = 0;
    for (const char c : command->help) {
      column = c == '\n' ? 0 : column + 1;
      EXPECT_LE(column, 90u) << command->name;
    }
    EXPECT_TRUE(command->help.empty() || command->help.back() == '\n') << command->name;
  }
}

TEST_F(Shell, EveryOptionIsInTheHelpOfItsCommandWhichTheOptionHelpPrintsToo) {
  for (const Command* command : commands()) {
    const std::string name(command->name), text = run("help " + name);
    const Call call(command->name, command->options);
    for (const Option& option : call.options().options()) {
      EXPECT_NE(text.find(option.long_name.empty() ? option.short_name : option.long_name), text.npos) << name;
      EXPECT_FALSE(option.help.empty()) << name;
    }
    EXPECT_EQ(run(name + " --help"), text);
  }
}

TEST_F(Shell, EmptyLinesAndCommentsDoNothing) {
  EXPECT_EQ(run(""), "");
  EXPECT_EQ(run("   "), "");
  EXPECT_EQ(run("# where"), "");
  EXPECT_EQ(run("goto 2 # there"), run("goto 2"));
}

TEST_F(Shell, ErrorsAreOneLineAndLeaveTheCursorAlone) {
  session().move_to({3, 30});
  for (const char* wrong : {"goto", "goto 99", "goto nowhere", "next 0", "next 99", "find", "owner",
                            "owner nothing_of_that_name", "history", "blocks --by colour", "blocks -n x", "event 99",
                            "where now", "explain --jsn 0x1", "diff", "nonsense", "goto 'x"}) {
    const std::string answer = run(wrong);
    EXPECT_TRUE(answer.starts_with("error: ")) << wrong << " -> " << answer;
    EXPECT_EQ(answer.find('\n'), answer.npos) << wrong;
    EXPECT_EQ(session().event(), 3u) << wrong;
  }
}

TEST_F(Shell, ALineThatIsInterruptedBeforeItsCommandBeginsDoesNothing) {
  session().move_to({3, 30});
  session().stop();
  for (const char* line : {"next size>1G", "goto 1", "blocks", "help"}) {
    EXPECT_EQ(run(line), "error: stopped") << line;
    EXPECT_EQ(session().event(), 3u) << line;
  }
  EXPECT_EQ(run(""), "") << "there is nothing to stop";
  session().go_on();
  EXPECT_EQ(run("goto 1").find("error"), std::string::npos);
  EXPECT_EQ(session().event(), 1u);
}

TEST_F(Shell, OwnerNamesTheBlockAndItsNeighbours) {
  run("goto 2");
  const std::string text = run("owner 0x50001010");
  EXPECT_TRUE(text.starts_with("0x50001010 is 16 bytes into a live 64-byte block at 0x50001000")) << text;
  EXPECT_NE(text.find("after   0x50002000  100-byte block"), std::string::npos) << text;
  EXPECT_NE(text.find("before  no live block"), std::string::npos) << text;
}

TEST_F(Shell, ExplainTellsAFreedBlockWithItsEndAndItsReuse) {
  run("goto 4");
  const std::string text = run("explain 0x50001028");
  EXPECT_TRUE(text.starts_with("0x50001028 is 40 bytes into a 64-byte block freed 10 us earlier\n")) << text;
  EXPECT_NE(text.find("  freed 10 us earlier by thread 2"), std::string::npos) << text;
  EXPECT_NE(text.find("  made 30 us earlier by thread 1"), std::string::npos) << text;
  EXPECT_NE(text.find("  reused 10 us later (event 5 at 0.000050 s) as part of a 16-byte block"), std::string::npos)
      << text;
  run("goto $");
  EXPECT_TRUE(run("explain 0x50001028")
                  .starts_with("0x50001028 is 8 bytes into a live 16-byte block; until 20 us earlier 40 bytes into a "
                               "64-byte block of "));
}

TEST_F(Shell, ExplainTellsReallocAndOverrun) {
  EXPECT_TRUE(
      run("explain 0x50002010").starts_with("0x50002010 is 16 bytes into a 100-byte block moved away by realloc"));
  EXPECT_TRUE(run("explain 0x500030c8").starts_with("0x500030c8 is one past the end of a live 200-byte block"));
}

TEST_F(Shell, HistoryShowsTheCursorAmongTheLives) {
  run("goto 4");
  const std::string text = run("history 0x50001020");
  const std::size_t cursor = text.find("---- the cursor: event 4");
  ASSERT_NE(cursor, text.npos) << text;
  EXPECT_LT(text.find("64-byte block"), cursor);
  EXPECT_GT(text.find("16-byte block"), cursor);
}

TEST_F(Shell, CompletesCommandsPositionsAndFilterWords) {
  EXPECT_EQ(completions(session(), "ex"), std::vector<std::string>{"explain"});
  EXPECT_EQ(completions(session(), "goto pe"), std::vector<std::string>{"peak"});
  EXPECT_EQ(completions(session(), "help posi"), std::vector<std::string>{"positions"});
  EXPECT_EQ(completions(session(), "next thr"), std::vector<std::string>{"thread"});
  EXPECT_TRUE(completions(session(), "nonsense x").empty());
  EXPECT_EQ(completed_from("next fn~\"Ca"), 9u);
}

TEST_F(Shell, ThePromptShowsWhereOneIs) {
  run("goto 2");
  EXPECT_EQ(prompt_of(session()), "(event 2, 0.000020 s) ");
}

TEST(OddAddress, IsRecognisedByItself) {
  EXPECT_EQ(odd_address(0).kind, AddressKind::Null);
  EXPECT_EQ(odd_address(0x18).sentence.substr(0, 9), "null + 24");
  EXPECT_EQ(odd_address(0xdddddddddddddddd).kind, AddressKind::Poison);
  EXPECT_EQ(odd_address(0xdddddddddddddde5).kind, AddressKind::Poison); // a field of it
  EXPECT_EQ(odd_address(0xdeadbeefdeadbeef).kind, AddressKind::Poison);
  EXPECT_EQ(odd_address(0xffffffffffffffff).kind, AddressKind::Poison);
  EXPECT_EQ(odd_address(0x6f77206f6c6c6568).kind, AddressKind::Text); // "hello wo"
  EXPECT_EQ(odd_address(0x8000000000001234).kind, AddressKind::NotCanonical);
  EXPECT_EQ(odd_address(0x55d0c4a2e2a0).kind, AddressKind::Nothing);
  EXPECT_EQ(odd_address(0x7ffff7dd5000).kind, AddressKind::Nothing);
}

} // namespace
} // namespace heaptape
