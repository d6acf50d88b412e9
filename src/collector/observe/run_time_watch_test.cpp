#include "collector/observe/run_time_watch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace heaptape {
namespace {

class RunTimeWatchOf : public testing::Test {
protected:
  void TearDown() override {
    for (const std::string& path : {map_, other_}) ::unlink(path.c_str());
  }
  static void append(const std::string& path, const char* text) { std::ofstream(path, std::ios::app) << text; }

  std::string map_ = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  std::string other_ = testing::TempDir() + "run-time-watch-" + std::to_string(::getpid());
};

TEST_F(RunTimeWatchOf, PerfMapIsFoundWhenItComesAndItsGrowthIsNoted) {
  RunTimeWatch watch(::getpid(), "");
  watch.look(10);
  append(map_, "1000 10 a\n");
  for (const std::uint64_t time : {20u, 30u, 40u}) watch.look(time);
  append(map_, "2000 10 b\n");
  watch.finish(50);
  const std::vector<FileGrowth>& growth = watch.perf_map().growth;
  ASSERT_EQ(growth.size(), 4u);
  EXPECT_EQ(growth[0].bytes, 0u);
  EXPECT_EQ(growth[1].time_us, 20u);
  EXPECT_EQ(growth[2].time_us, 40u); // the last time it was as large
  EXPECT_EQ(growth[2].bytes, 10u);
  EXPECT_EQ(growth[3].bytes, 20u);
  ::unlink(map_.c_str());
  EXPECT_EQ(read_run_time_file(watch.perf_map().fd.get()), "1000 10 a\n2000 10 b\n");
}

TEST_F(RunTimeWatchOf, LinksPipesAndFilesOfOtherUsersAreNotOpened) {
  append(other_, "1000 10 a\n");
  EXPECT_TRUE(open_run_time_file(other_, ::getuid()));
  ASSERT_EQ(::symlink(other_.c_str(), map_.c_str()), 0);
  EXPECT_FALSE(open_run_time_file(map_, ::getuid()));
  ::unlink(map_.c_str());
  ASSERT_EQ(::mkfifo(map_.c_str(), 0600), 0);
  EXPECT_FALSE(open_run_time_file(map_, ::getuid()));
  if (::getuid() != 0) return;
  ASSERT_EQ(::chown(other_.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(open_run_time_file(other_, 0));
  EXPECT_TRUE(open_run_time_file(other_, 65534));
}

TEST_F(RunTimeWatchOf, NothingIsWatchedWithoutAProgram) {
  RunTimeWatch watch;
  watch.look(1);
  watch.finish(2);
  EXPECT_FALSE(watch.perf_map().fd);
  EXPECT_TRUE(watch.perf_map().growth.empty());
}

} // namespace
} // namespace heaptape
