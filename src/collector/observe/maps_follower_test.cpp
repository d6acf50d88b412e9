#include "collector/observe/maps_follower.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace heaptape {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

std::optional<MapsChange> look_at_once(MapsFollower& follower, std::uint64_t time_us) {
  follower.begin(time_us);
  std::optional<MapsChange> change = follower.go_on(0);
  while (follower.reading()) change = follower.go_on(0);
  return change;
}

TEST(MapsFollower, SeesAMappingComeAndGo) {
  MapsFollower follower(::getpid());
  Maps maps;
  const auto look = [&](std::uint64_t time_us) {
    while (auto change = look_at_once(follower, time_us)) { // until our own memory has settled
      for (MappedRange& range : change->added) range.name = maps.names().number_of(follower.names()[range.name]);
      maps.add(follower.moments() - 1, std::move(*change));
      time_us += 1;
    }
    return maps.ranges(maps.size() - 1);
  };
  const auto holds = [](const std::vector<MappedRange>& ranges, std::uint64_t address) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const MappedRange& range) { return range.begin <= address && address < range.end; });
  };
  look(10);
  void* memory = ::mmap(nullptr, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto address = reinterpret_cast<std::uint64_t>(memory) + 4096;
  EXPECT_TRUE(holds(look(2000), address));
  ::munmap(memory, 1 << 20);
  EXPECT_FALSE(holds(look(3000), address));
  EXPECT_TRUE(holds(maps.ranges(0), reinterpret_cast<std::uint64_t>(&::getpid)));
}

TEST(MapsFollower, SaysNothingAboutAProgramThatIsNotThere) {
  MapsFollower follower(0x7fff'ffff);
  EXPECT_EQ(look_at_once(follower, 1), std::nullopt);
  EXPECT_FALSE(follower.reading());
  EXPECT_EQ(follower.moments(), 0u);
}

// How many moments a run of so long has when everything changes all the time and asking takes so long.
std::uint64_t moments_in(std::uint64_t run_ns, std::uint64_t cost_ns) {
  MapsPace pace;
  std::uint64_t moments = 0;
  for (std::uint64_t now = kMs; now < run_ns; now += 2 * kMs) {
    if (!pace.due(now, 1000 * moments)) continue;
    ++moments;
    pace.asked(now, cost_ns, 1000 * moments, true);
    now += cost_ns;
  }
  return moments;
}

TEST(MapsPace, AShortRunIsAskedAtOnceAndALongOneNotTooOften) {
  EXPECT_GE(moments_in(5 * kMs, 0), 1u);
  EXPECT_GE(moments_in(100 * kMs, 0), 4u);
  EXPECT_LE(moments_in(1'000 * kMs, 0), 100u);
  EXPECT_LE(moments_in(3'600'000 * kMs, 0), 1'500u);
}

TEST(MapsPace, AskingTakesAtMostAFiftiethOfTheTime) {
  EXPECT_LE(moments_in(10'000 * kMs, 40 * kMs) * 40, 10'000 / 50 + 40);
}

TEST(MapsPace, AnEarlyLookIsTakenWhenTheSizeChangedALot) {
  MapsPace pace;
  ASSERT_TRUE(pace.due(kMs, 1 << 20));
  pace.asked(kMs, 0, 1 << 20, true);
  EXPECT_FALSE(pace.due(4 * kMs, (1 << 20) + 4096));
  EXPECT_TRUE(pace.due(4 * kMs, 2 << 20));
  EXPECT_TRUE(pace.due(4 * kMs, 1 << 19));
  EXPECT_FALSE(pace.due(kMs + kMs / 2, 2 << 20));
  EXPECT_TRUE(pace.due(20 * kMs, 1 << 20));
}

} // namespace
} // namespace heaptape
