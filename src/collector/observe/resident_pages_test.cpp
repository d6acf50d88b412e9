#include "collector/observe/resident_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "collector/observe/maps_follower.h"
#include "collector/observe/proc_files.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kMs = 1'000'000, kSecond = 1000 * kMs, kMiB = std::uint64_t{1} << 20;

std::uint64_t bytes_between(const ResidentPages::Look& look, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t bytes = 0;
  for (const ResidentRun& run : look.runs)
    if (run.begin < end && run.end > begin) bytes += std::min(run.end, end) - std::max(run.begin, begin);
  return bytes;
}

// Sixteen megabytes of which every other one is touched; then all of us is looked at, or with the table that mapping alone: a
// sanitizer's shadow has more pages than it reads.
void expect_touched_pages_alone(ResidentPages::Means means) {
  constexpr std::uint64_t kBytes = 16 * kMiB;
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  (void)::madvise(memory, kBytes, MADV_NOHUGEPAGE);
  for (std::uint64_t at = 0; at < kBytes; at += 2 * kMiB) std::memset(static_cast<char*>(memory) + at, 1, kMiB);
  MapsFollower maps(::getpid());
  maps.begin(1);
  while (maps.reading()) (void)maps.go_on(kSecond);
  std::vector<MappedRange> ranges = maps.ranges();
  const auto first = reinterpret_cast<std::uint64_t>(memory);
  if (means == ResidentPages::Means::Table)
    std::erase_if(ranges,
                  [&](const MappedRange& range) { return range.end <= first || range.begin >= first + kBytes; });
  ResidentPages pages(::getpid(), means);
  pages.begin(ranges, maps.names());
  std::optional<ResidentPages::Look> look;
  while (pages.looking()) look = pages.go_on(0);
  ASSERT_TRUE(look);
  EXPECT_TRUE(look->whole);
  EXPECT_EQ(bytes_between(*look, first, first + kBytes), kBytes / 2);
  EXPECT_EQ(bytes_between(*look, first, first + kMiB), kMiB);
  std::uint64_t last = 0;
  for (const ResidentRun& run : look->runs) {
    EXPECT_TRUE(run.begin >= last && run.begin < run.end);
    last = run.end;
  }
  ::munmap(memory, kBytes);
}

TEST(ResidentPages, FindsTouchedPagesAloneByTheScan) { expect_touched_pages_alone(ResidentPages::Means::Scan); }
TEST(ResidentPages, FindsTouchedPagesAloneByTheTable) { expect_touched_pages_alone(ResidentPages::Means::Table); }

TEST(ResidentPages, OfAProgramThatIsGoneSaysNothing) {
  ResidentPages pages(0x7fff'ffff);
  pages.begin({}, MapNames());
  EXPECT_FALSE(pages.looking());
  EXPECT_FALSE(pages.go_on(kSecond));
}

TEST(ResidencyPace, LooksWhenThereIsATwentiethMoreThanEver) {
  ResidencyPace pace;
  EXPECT_TRUE(pace.due(kSecond, 100 * kMiB));
  pace.looked(kMs, 100 * kMiB);
  EXPECT_FALSE(pace.due(2 * kSecond, 104 * kMiB));
  EXPECT_TRUE(pace.due(3 * kSecond, 106 * kMiB));
}

TEST(ResidencyPace, LooksOnceWhenGrowthHasStopped) {
  ResidencyPace pace;
  EXPECT_TRUE(pace.due(kSecond, 100 * kMiB));
  pace.looked(kMs, 100 * kMiB);
  EXPECT_FALSE(pace.due(2 * kSecond, 103 * kMiB));
  EXPECT_TRUE(pace.due(3 * kSecond, 103 * kMiB));
  pace.looked(kMs, 103 * kMiB);
  EXPECT_FALSE(pace.due(4 * kSecond, 103 * kMiB));
  EXPECT_FALSE(pace.due(5 * kSecond, 60 * kMiB));
}

TEST(ResidencyPace, TakesAtMostAHundredthOfTheTimeAndAGrantAtTheStart) {
  ResidencyPace pace;
  std::uint64_t spent = 0, rss = kMiB, now = kSecond;
  for (; now < 11 * kSecond; now += 10 * kMs) {
    rss += 2 * kMiB; // always more
    if (!pace.due(now, rss)) continue;
    const std::uint64_t cost = rss / kMiB * kMs / 100;
    pace.looked(cost, rss);
    spent += cost;
  }
  EXPECT_GT(spent, 50 * kMs);
  EXPECT_LE(spent, 20 * kMs + 10 * kSecond / 100);
}

TEST(ResidencyPace, AQuestionMayAskWheneverThereIsMore) {
  ResidencyPace pace;
  pace.looked(kSecond, 100 * kMiB); // all of the time is spent
  EXPECT_FALSE(pace.due(kSecond, 200 * kMiB));
  EXPECT_TRUE(pace.is_news(200 * kMiB));
  EXPECT_FALSE(pace.is_news(100 * kMiB));
}

TEST(ProcFiles, ReadsThePeakOfTheResidentMemory) {
  EXPECT_EQ(parse_peak_rss("Name:\tx\nVmPeak:\t 9 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 1 kB\n"), 1234u << 10);
  EXPECT_EQ(parse_peak_rss("Name:\tx\n"), 0u);
  EXPECT_GT(ProcFiles(::getpid()).peak_rss_bytes(), kMiB);
}

} // namespace
} // namespace heaptape
