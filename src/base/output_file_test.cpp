#include "base/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace heaptape {
namespace {

class OutputFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/output-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::filesystem::path folder_;
};

TEST_F(OutputFileTest, ZerosAreAHoleAlsoAtTheEnd) {
  const std::string path = folder_ / "file";
  constexpr std::size_t kMany = std::size_t{1} << 20;
  {
    OutputFile file = OutputFile::create({.path = path, .owner_only = true}).value();
    ASSERT_TRUE(file.write("begin").ok());
    ASSERT_TRUE(file.write_zeros(kMany).ok());
    ASSERT_TRUE(file.write("end").ok());
    ASSERT_TRUE(file.write_zeros(kMany).ok());
    ASSERT_TRUE(file.keep().ok());
  }
  EXPECT_EQ(read(path), "begin" + std::string(kMany, '\0') + "end" + std::string(kMany, '\0'));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_LT(static_cast<std::size_t>(status.st_blocks) * 512, kMany);
}

TEST_F(OutputFileTest, ZerosAreWrittenToAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  OutputFile file = OutputFile::create({.path = "/proc/self/fd/" + std::to_string(ends[1])}).value();
  ASSERT_TRUE(file.write_zeros(100).ok());
  char bytes[200];
  EXPECT_EQ(::read(ends[0], bytes, sizeof bytes), 100);
  ::close(ends[0]), ::close(ends[1]);
}

TEST_F(OutputFileTest, AnUnnamedFileLeavesNothing) {
  ::setenv("TMPDIR", folder_.c_str(), 1);
  OutputFile file = OutputFile::create_unnamed().value();
  ::unsetenv("TMPDIR");
  ASSERT_TRUE(file.write("text").ok());
  ASSERT_TRUE(file.keep().ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  const UniqueFd descriptor = file.take_to_hand_on();
  EXPECT_EQ(read("/proc/self/fd/" + std::to_string(descriptor.get())), "text");
}

} // namespace
} // namespace heaptape
