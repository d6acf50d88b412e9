#include "live/log_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace heaptape {
namespace {

class LogFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "log.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    path = folder + "/x.log";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  static std::string text_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  std::string folder, path;
};

TEST_F(LogFileTest, AFullFileMovesOnAndOnlySoManyStay) {
  Result<LogFile> log = LogFile::create(path, {.max_bytes = 12, .keep = 2});
  ASSERT_TRUE(log.ok());
  for (const char* text : {"first line\n", "second line\n", "third line\n", "fourth\n"}) {
    if (std::string_view(text).size() > log.value().room()) {
      ASSERT_TRUE(log.value().next().ok());
    }
    ASSERT_TRUE(log.value().write(text).ok());
  }
  EXPECT_EQ(text_of(path), "fourth\n");
  EXPECT_EQ(text_of(path + ".1"), "third line\n");
  EXPECT_EQ(text_of(path + ".2"), "second line\n");
  EXPECT_FALSE(std::filesystem::exists(path + ".3"));
  EXPECT_EQ(log.value().room(), 12 - text_of(path).size());
  EXPECT_EQ(log.value().room_in_next(), 12u);
}

TEST_F(LogFileTest, ALogOfAnEarlierRunIsKept) {
  std::ofstream(path) << "yesterday";
  Result<LogFile> log = LogFile::create(path, {});
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE(log.value().write("today").ok());
  EXPECT_EQ(text_of(path + ".1"), "yesterday");
  EXPECT_EQ(text_of(path), "today");
}

TEST_F(LogFileTest, KeepingNoneMeansOneFile) {
  std::ofstream(path) << "yesterday";
  Result<LogFile> log = LogFile::create(path, {.max_bytes = 1, .keep = 0});
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE(log.value().write("today").ok());
  ASSERT_TRUE(log.value().next().ok());
  ASSERT_TRUE(log.value().write("later").ok());
  EXPECT_EQ(text_of(path), "later");
  EXPECT_FALSE(std::filesystem::exists(path + ".1"));
}

TEST_F(LogFileTest, AFolderThatIsNotThereIsAnErrorWithTheName) {
  const Result<LogFile> log = LogFile::create(folder + "/nowhere/x.log", {});
  ASSERT_FALSE(log.ok());
  EXPECT_NE(log.error().sentence.find("nowhere/x.log"), std::string::npos);
}

TEST_F(LogFileTest, AFullDiskLeavesWholeSnapshots) {
  Result<LogFile> log = LogFile::create("/dev/full", {});
  ASSERT_TRUE(log.ok());
  EXPECT_FALSE(log.value().write("text").ok());
  EXPECT_EQ(log.value().bytes(), 0u);
}

TEST_F(LogFileTest, ALinkToAFileIsRefusedAndTheFileLeftAlone) {
  std::ofstream(folder + "/target") << "precious";
  ASSERT_EQ(::symlink("target", path.c_str()), 0);
  const Result<LogFile> log = LogFile::create(path, {});
  ASSERT_FALSE(log.ok());
  EXPECT_NE(log.error().sentence.find("symbolic link"), std::string::npos);
  EXPECT_EQ(text_of(folder + "/target"), "precious");
}

} // namespace
} // namespace heaptape
