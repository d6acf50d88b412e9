#include "report/export/core_xstate.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace heaptape {
namespace {

constexpr std::uint64_t kUpToProtectionKeys = 0x2e7, kTiles = 0x60000;

std::vector<std::byte> area_of(std::size_t bytes, std::uint64_t features) {
  std::vector<std::byte> area(bytes, std::byte{0x5a});
  for (const std::size_t offset : {std::size_t{464}, std::size_t{512}})
    std::memcpy(&area[offset], &features, sizeof features);
  return area;
}

std::uint64_t word_at(const std::string& area, std::size_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, area.data() + offset, sizeof word);
  return word;
}

TEST(CoreXstate, TilesAreLeftOutAndTheAreaSaysSo) {
  const std::string known = xstate_for_debuggers(area_of(11008, kUpToProtectionKeys | kTiles));
  EXPECT_EQ(known.size(), 2696U);
  EXPECT_EQ(word_at(known, 464), kUpToProtectionKeys);
  EXPECT_EQ(word_at(known, 512), kUpToProtectionKeys);
  EXPECT_EQ(known.substr(576), std::string(2696 - 576, 0x5a));
}

TEST(CoreXstate, AnAreaThatDebuggersKnowStaysAsItIs) {
  for (const auto& [bytes, features] : {std::pair{832U, 0x7U}, {1088U, 0x1fU}, {2688U, 0xe7U}, {2696U, 0x2e7U}}) {
    const std::vector<std::byte> area = area_of(bytes, features);
    EXPECT_EQ(xstate_for_debuggers(area), std::string(reinterpret_cast<const char*>(area.data()), area.size()));
  }
}

// Fills the part that begins here.
void put(std::vector<std::byte>& area, std::size_t offset, std::size_t bytes, unsigned char with) {
  std::memset(&area[offset], with, bytes);
}

TEST(CoreXstate, RegistersOfAmdsLayoutAreMovedToWhereDebuggersLook) {
  std::vector<std::byte> area = area_of(2440, kUpToProtectionKeys);
  put(area, 576, 256, 1);
  put(area, 832, 64, 2);
  put(area, 896, 512, 3);
  put(area, 1408, 1024, 4);
  put(area, 2432, 8, 5);
  const std::string known = xstate_for_debuggers(area);
  ASSERT_EQ(known.size(), 2696U);
  EXPECT_EQ(word_at(known, 464), kUpToProtectionKeys);
  EXPECT_EQ(word_at(known, 512), kUpToProtectionKeys);
  EXPECT_EQ(known.substr(576, 256), std::string(256, 1));
  EXPECT_EQ(known.substr(1088, 64), std::string(64, 2));
  EXPECT_EQ(known.substr(1152, 512), std::string(512, 3));
  EXPECT_EQ(known.substr(1664, 1024), std::string(1024, 4));
  EXPECT_EQ(known.substr(2688), std::string(8, 5));
}

TEST(CoreXstate, AmdsLayoutWithoutProtectionKeysHasTheSizeThatDebuggersWant) {
  EXPECT_EQ(xstate_for_debuggers(area_of(2432, 0xe7)).size(), 2688U);
}

TEST(CoreXstate, WithoutAvx512AmdsProtectionKeysLieBehindAvx) {
  std::vector<std::byte> area = area_of(840, 0x207);
  put(area, 832, 8, 5);
  const std::string known = xstate_for_debuggers(area);
  ASSERT_EQ(known.size(), 2696U);
  EXPECT_EQ(known.substr(2688), std::string(8, 5));
}

TEST(CoreXstate, APartThatIsCutOffIsNotInUse) {
  const std::string known = xstate_for_debuggers(area_of(600, 0x7));
  ASSERT_EQ(known.size(), 832U);
  EXPECT_EQ(word_at(known, 512), 0x3U);
}

TEST(CoreXstate, AShortAreaIsNotLookedInto) {
  EXPECT_EQ(xstate_for_debuggers(std::vector<std::byte>(512)).size(), 512U);
  EXPECT_EQ(xstate_for_debuggers({}), "");
}

} // namespace
} // namespace heaptape
