#include "cli/options/choose_tape.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace heaptape::cli {
namespace {

class NewestTape : public testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/heaptape-newest-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void file(const std::string& name, std::time_t modified) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "x";
    const timespec times[2] = {{modified, 0}, {modified, 0}};
    ::utimensat(AT_FDCWD, path.c_str(), times, 0);
  }

  std::string folder_;
};

TEST_F(NewestTape, LastChangedTapeIsMeant) {
  file("a.tape", 1'000);
  file("b.tape", 3'000);
  file("c.tape", 2'000);
  file("d.txt", 9'000);
  std::filesystem::create_directory(folder_ + "/e.tape");
  EXPECT_EQ(newest_tape(folder_).value(), "b.tape");
}

// With --follow, "newest tape" was whichever process ended last.
TEST_F(NewestTape, ARunCountsAsOneThing) {
  std::filesystem::create_directory(folder_ + "/make.run");
  file("a.tape", 1'000);
  file("make.run/last.tape", 3'000);
  file("make.run/processes.jsonl", 3'000);
  EXPECT_EQ(newest_tape(folder_).value(), "make.run");
  file("b.tape", 4'000);
  EXPECT_EQ(newest_tape(folder_).value(), "b.tape");
}

// "no process 'nowhere.tape' in .": every folder with tapes is a run.
TEST_F(NewestTape, ATapeThatIsNotThereIsNotAProcessOfItsFolder) {
  file("a.tape", 1'000);
  TapeChoice tape;
  tape.path = folder_ + "/nowhere.tape";
  EXPECT_TRUE(choose_tape(tape).error().sentence.starts_with("there is no tape '" + folder_ + "/nowhere.tape'"));
}

TEST_F(NewestTape, ASnapshotStandsBehindTheTape) {
  file("a.tape", 1'000);
  file("b@3.tape", 1'000);
  file("c.tape@2", 1'000);
  const std::string a = folder_ + "/a.tape", b = folder_ + "/b@3.tape", c = folder_ + "/c.tape@2";
  using Parts = std::pair<std::string, std::string>;
  EXPECT_EQ(split_snapshot(a + "@2"), Parts(a, "2"));
  EXPECT_EQ(split_snapshot(a + "@user@host"), Parts(a, "user@host"));
  EXPECT_EQ(split_snapshot(b + "@last"), Parts(b, "last"));
  EXPECT_EQ(split_snapshot(c), std::nullopt) << "a file of this name";
  EXPECT_EQ(split_snapshot(a), std::nullopt);
  EXPECT_EQ(split_snapshot(a + "@"), std::nullopt);
  EXPECT_EQ(split_snapshot(folder_ + "/nothing@2"), std::nullopt);
  EXPECT_EQ(split_snapshot(folder_ + "/nothing.tape@2"), Parts(folder_ + "/nothing.tape", "2")) << "named like a tape";
  EXPECT_EQ(split_snapshot(folder_ + "@2"), Parts(folder_, "2")) << "a folder with tapes is a run";
  EXPECT_EQ(split_snapshot(folder_ + "/nowhere/x@2"), std::nullopt);

  TapeChoice unnamed;
  unnamed.path = a + "@";
  EXPECT_EQ(choose_tape(unnamed).error().sentence, "which snapshot? write " + a + "@2, " + a + "@NAME or " + a +
                                                       "@last ('heaptape snapshots " + a + "' lists them)");

  TapeChoice tape;
  tape.path = a + "@2";
  EXPECT_EQ(choose_tape(tape).error().sentence, "this command is not about one snapshot; leave '@2' out: " + a);
  tape.takes_snapshot = true;
  ASSERT_TRUE(choose_tape(tape).ok());
  EXPECT_EQ(tape.path, a);
  EXPECT_EQ(moment_of(tape, "").value(), "snapshot:2");
  EXPECT_EQ(moment_of(tape, "peak").error().sentence, "give the moment either as '@2' or by --at");
  EXPECT_EQ(moment_of({}, "peak").value(), "peak");
}

TEST_F(NewestTape, WithoutOneTheUserIsToldHowToGetOne) {
  EXPECT_EQ(newest_tape(folder_).error().code, ErrorCode::NotFound);
  EXPECT_NE(newest_tape(folder_ + "/none").error().sentence.find("heaptape record"), std::string::npos);
}

// Options took the tape for one more moment, or for the picture to be written.
TEST_F(NewestTape, ATapeBehindAnOptionThatMayHaveAValueIsTheTape) {
  using Words = std::vector<std::string>;
  const std::string tape = folder_ + "/run1", other = folder_ + "/done", run = folder_ + "/make";
  std::ofstream(tape) << "HEAPTAPE...";
  std::ofstream(other) << "HEAP";
  std::filesystem::create_directory(run);
  file("make/a.tape", 3'000);
  OptionList list("try");
  std::optional<std::string> picture;
  std::vector<std::string> moments;
  std::string output;
  list.optional_text("-s,--svg [FILE]", picture, "");
  list.series("--no-growth MOMENT...", moments, 1, "");
  list.text("-o,--output FILE", output, "");
  const auto ordered = [&](const Words& words) { return tape_before_options(list, words); };
  EXPECT_EQ(ordered({"--svg", tape}), (Words{tape, "--svg"}));
  EXPECT_EQ(ordered({"-s", run, "--json"}), (Words{run, "-s", "--json"}));
  EXPECT_EQ(ordered({"--svg", "x.svg", tape}), (Words{"--svg", "x.svg", tape}));
  EXPECT_EQ(ordered({"--svg", other}), (Words{"--svg", other})); // to be overwritten
  EXPECT_EQ(ordered({"--no-growth", "warm-up", "done", "gone.tape", "--svg", tape}),
            (Words{"gone.tape", "--no-growth", "warm-up", "done", tape, "--svg"}));
  EXPECT_EQ(ordered({"--no-growth", "warm-up", other}), (Words{"--no-growth", "warm-up", other}));
  // A value that must be there is one whatever it is, and so is what stands behind "=".
  EXPECT_EQ(ordered({"-o", "new.tape"}), (Words{"-o", "new.tape"}));
  EXPECT_EQ(ordered({"--svg=" + tape}), (Words{"--svg=" + tape}));
  EXPECT_EQ(ordered({"--svg"}), (Words{"--svg"}));
  EXPECT_EQ(ordered({"--", "--svg", tape}), (Words{"--", "--svg", tape}));
}

// "TAPE" or "-p PID" as it was understood.
std::string text_of(const TapeChoice& tape) { return tape.pid ? "-p " + *tape.pid + tape.path : tape.path; }

TapeChoice one_of(const std::vector<std::string>& words) {
  TapeChoice tape;
  OptionList list("try");
  tape.add(list);
  EXPECT_TRUE(list.parse(words).ok());
  return tape;
}

using Two = std::pair<std::string, std::string>;

Two two_of(const std::vector<std::string>& words) {
  TwoTapes two;
  OptionList list("try");
  two.add(list);
  EXPECT_TRUE(list.parse(words).ok());
  if (const Result<> good = two.settle(); !good) return {good.error().sentence, ""};
  return {text_of(two.before), two.from.empty() ? text_of(two.after) : two.from + " to " + two.to};
}

TEST(TapeChoice, IsATapeOrAProgram) {
  EXPECT_EQ(text_of(one_of({"a.tape"})), "a.tape");
  EXPECT_EQ(text_of(one_of({"-p", "7"})), "-p 7");
  EXPECT_EQ(text_of(one_of({"--pid=7"})), "-p 7");
  EXPECT_FALSE(one_of({}).is_named());
}

TEST(TapeChoice, BothAreRefused) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"a.tape", "-p", "7"}, {"-p", "7", "-p", "8"}}) {
    TapeChoice tape = one_of(words);
    EXPECT_EQ(choose_tape(tape).error().sentence, "give either TAPE or -p PID");
  }
}

// -p "$(pidof app)" when there is no app.
TEST(TapeChoice, AnEmptyProcessIdDoesNotMeanTheNewestTape) {
  TapeChoice tape = one_of({"-p", ""});
  EXPECT_TRUE(tape.is_named());
  EXPECT_EQ(choose_tape(tape).error().code, ErrorCode::Usage);
}

// heaptape report "$TAPE" when there is no such variable.
TEST(TapeChoice, AnEmptyNameDoesNotMeanTheNewestTape) {
  TapeChoice tape = one_of({""});
  EXPECT_EQ(choose_tape(tape).error().code, ErrorCode::Usage);
}

TEST(TapeChoice, TwoKeepTheirOrder) {
  EXPECT_EQ(two_of({"a.tape", "b.tape"}), Two("a.tape", "b.tape"));
  EXPECT_EQ(two_of({"-p", "7", "b.tape"}), Two("-p 7", "b.tape"));
  EXPECT_EQ(two_of({"a.tape", "-p", "7"}), Two("a.tape", "-p 7"));
  EXPECT_EQ(two_of({"-p", "7", "-p", "8"}), Two("-p 7", "-p 8"));
}

// 'heaptape diff -p server before after' said that there is no tape 'after'.
TEST(TapeChoice, WordsAfterTheFirstOfTwoMayBeMoments) {
  EXPECT_EQ(two_of({"a.tape", "10s", "end"}), Two("a.tape", "10s to end"));
  EXPECT_EQ(two_of({"-p", "7", "before", "after"}), Two("-p 7", "before to after"));
  const Two refused("give two tapes, or one tape and two moments", "");
  EXPECT_EQ(two_of({"a.tape", "-p", "7", "after"}), refused);
  EXPECT_EQ(two_of({"-p", "7", "-p", "8", "after"}), refused);
  EXPECT_EQ(two_of({"before", "after", "-p", "7"}), refused) << "the program comes first";
}

} // namespace
} // namespace heaptape::cli
