#include "collector/options/tape_name.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

namespace heaptape {
namespace {

class TapeName : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "tape_name.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  CollectorOptions options_for(const std::string& name) const {
    CollectorOptions options;
    options.tape = folder + "/" + name;
    return options;
  }

  std::string folder;
  TapeNameFacts facts{4711, "/usr/bin/sqlite3", 0};
};

TEST_F(TapeName, PlaceholdersAreFilledIn) {
  EXPECT_EQ(expand_tape_name("heaptape.%n.%p.tape", facts), "heaptape.sqlite3.4711.tape");
  EXPECT_EQ(expand_tape_name("100%%-%x-%", facts), "100%-%x-%");
  EXPECT_EQ(expand_tape_name("plain", facts), "plain");
  const std::string time = expand_tape_name("%t", facts);
  EXPECT_EQ(time.size(), 15u);
  EXPECT_EQ(time[8], '-');
}

TEST_F(TapeName, NumbersGoBeforeTheEnding) {
  EXPECT_EQ(numbered_tape_name("a.4711.tape", 2), "a.4711.2.tape");
  EXPECT_EQ(numbered_tape_name("tape", 3), "tape.3");
}

TEST_F(TapeName, ANameThatTheUserDidNotChooseIsNumberedWhenTaken) {
  const CollectorOptions options = options_for("%n.tape");
  EXPECT_EQ(create_tape(options, facts, 0).value().path(), folder + "/sqlite3.tape");
  EXPECT_EQ(create_tape(options, facts, 0).value().path(), folder + "/sqlite3.2.tape");
  EXPECT_EQ(create_tape(options, facts, 0).value().path(), folder + "/sqlite3.3.tape");
}

TEST_F(TapeName, ANameThatTheUserChoseIsNeverOverwrittenUnlessForced) {
  CollectorOptions options = options_for("mine.tape");
  options.tape_named = true;
  EXPECT_TRUE(create_tape(options, facts, 0).ok());
  const Result<TapeWriter> second = create_tape(options, facts, 0);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::Exists);
  options.force = true;
  EXPECT_TRUE(create_tape(options, facts, 0).ok());
}

TEST_F(TapeName, AFolderThatIsNotThereIsAnError) {
  EXPECT_FALSE(create_tape(options_for("nowhere/a.tape"), facts, 0).ok());
  const Result<> checked = check_tape_folder(folder + "/nowhere/a.tape");
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, ErrorCode::NotFound);
  EXPECT_TRUE(check_tape_folder(folder + "/a.tape").ok());
  EXPECT_TRUE(check_tape_folder(folder + "/%n/a.tape").ok()) << "known only when the program is";
}

TEST_F(TapeName, ADashAndAFolderAreRefusedAsTapesWithWhatToDo) {
  EXPECT_EQ(check_tape_name("-").error().sentence,
            "a tape cannot be written to standard output; name a file with -o (-o ./- for one named '-')");
  EXPECT_EQ(check_tape_name("tapes/").error().sentence,
            "'tapes/' names a folder; name a tape in it: -o tapes/%n.%p.tape");
  EXPECT_TRUE(check_tape_name("tapes/a.tape").ok());
  EXPECT_TRUE(check_tape_name("./-").ok());
}

TEST_F(TapeName, AFolderThatCannotBeMadeForARunSaysWhatToDo) {
  CollectorOptions options;
  options.run = folder + "/nowhere/run";
  EXPECT_EQ(make_run_folder(options, facts).error().sentence,
            "cannot make the folder '" + options.run +
                "' for the run: No such file or directory; choose a place you may write to with -o");
}

} // namespace
} // namespace heaptape
