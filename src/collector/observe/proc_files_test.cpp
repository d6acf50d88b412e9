#include "collector/observe/proc_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace heaptape {
namespace {

TEST(ProcStat, AProgramNameMayHoldAnything) {
  const auto stat = parse_proc_stat("42 (a) b ( c) S 7 1 1 0 -1 4194304 10 0 0 0 1 2 0 0 20 0 3 0 5555 1000 20 30 "
                                    "4096 8192 140000 0 0");
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->parent, 7u);
  EXPECT_EQ(stat->threads, 3u);
  EXPECT_EQ(stat->start_time, 5555u);
  EXPECT_EQ(stat->start_code, 4096u);
  EXPECT_EQ(stat->start_stack, 140000u);
}

TEST(ProcStat, TextThatIsNoneIsRefused) {
  EXPECT_FALSE(parse_proc_stat("").has_value());
  EXPECT_FALSE(parse_proc_stat("42 nothing").has_value());
}

TEST(ProcFiles, KnowsThisProcess) {
  const ProcFiles proc(::getpid());
  const Meta facts = proc.facts();
  EXPECT_EQ(facts.at("pid"), std::to_string(::getpid()));
  EXPECT_EQ(facts.at("ppid"), std::to_string(::getppid()));
  EXPECT_EQ(facts.at("program"), proc.executable());
  EXPECT_FALSE(facts.at("command").empty());
  EXPECT_FALSE(facts.at("directory").empty());
  EXPECT_FALSE(facts.at("kernel").empty());
  const auto sample = proc.sample();
  ASSERT_TRUE(sample.has_value());
  EXPECT_GT(sample->rss_bytes, 0u);
  EXPECT_GT(sample->virtual_bytes, sample->rss_bytes);
  EXPECT_GE(sample->threads, 1u);
  EXPECT_TRUE(proc.has_thread(static_cast<std::uint32_t>(::getpid())));
  EXPECT_FALSE(proc.has_thread(1));
  EXPECT_FALSE(proc.thread_name(static_cast<std::uint32_t>(::getpid())).empty());
}

TEST(ProcFiles, AProcessThatIsGoneHasNoFacts) {
  const ProcFiles proc(0x3fff'ffff);
  EXPECT_TRUE(proc.executable().empty());
  EXPECT_FALSE(proc.sample().has_value());
  EXPECT_FALSE(proc.stat().has_value());
  EXPECT_EQ(proc.facts().count("command"), 0u);
}

TEST(StartedName, IsTheLinksAndTheScripts) {
  EXPECT_EQ(started_name("/usr/bin/redis-check-rdb", "redis-server", "redis-server"), "redis-server");
  EXPECT_EQ(started_name("/usr/bin/bash", "/bin/bash", "run.sh"), "run.sh");
  EXPECT_EQ(started_name("/usr/bin/a-very-long-program-name", "x", "a-very-long-pro"), "a-very-long-program-name");
  EXPECT_EQ(started_name("/usr/bin/busybox", "./a-very-long-link-name", "a-very-long-lin"), "a-very-long-link-name");
  EXPECT_EQ(started_name("/usr/bin/worker", "x", "pool/1"), "pool_1");
}

} // namespace
} // namespace heaptape
