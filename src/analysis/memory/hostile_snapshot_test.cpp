#include <gtest/gtest.h>

#include <random>

#include "analysis/memory/hostile_snapshot_for_test.h"

namespace heaptape {
namespace {

TEST(HostileSnapshot, IsGoneThroughWhateverItsTablesSay) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint8_t> bytes(random() % 900);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() >> (random() % 8));
    HostileSnapshot(bytes).go_through();
  }
}

} // namespace
} // namespace heaptape
