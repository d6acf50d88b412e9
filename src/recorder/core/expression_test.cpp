#include "recorder/core/expression.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptape::recorder {
namespace {

bool read_word(void*, std::uint64_t address, std::uint64_t& word) noexcept {
  word = address + 0x1000;
  return address != 0xbad;
}

struct Outcome {
  bool good;
  std::uint64_t value;
};

Outcome run(std::vector<std::uint8_t> operations) {
  std::uint64_t registers[kRegisters] = {};
  registers[kRsp] = 0x7000;
  registers[kRbp] = 0x8000;
  operations.insert(operations.begin(), static_cast<std::uint8_t>(operations.size()));
  Outcome outcome{false, 0};
  outcome.good = evaluate(operations.data(), registers, false, 0, read_word, nullptr, outcome.value);
  return outcome;
}

TEST(Expression, ARegisterPlusAnOffsetIsLoaded) {
  const Outcome outcome = run({0x76, 0x78, 0x06}); // breg6 -8, deref
  EXPECT_TRUE(outcome.good);
  EXPECT_EQ(outcome.value, 0x8000 - 8 + 0x1000u);
}

TEST(Expression, TheLinkersJumpTableExpressionWorks) {
  // rsp + 8 + ((rip & 15) >= 11) << 3, with rip = 0 here.
  const Outcome outcome = run({0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
  EXPECT_TRUE(outcome.good);
  EXPECT_EQ(outcome.value, 0x7008u);
}

TEST(Expression, MemoryThatCannotBeReadIsAFailureNotACrash) { EXPECT_FALSE(run({0x0a, 0xad, 0x0b, 0x06}).good); }

TEST(Expression, AnEndlessLoopIsGivenUp) { EXPECT_FALSE(run({0x2f, 0xfd, 0xff}).good); }

TEST(Expression, AnEmptyStackIsAFailure) { EXPECT_FALSE(run({0x22}).good); }

TEST(Expression, AnUnknownOperationIsAFailure) { EXPECT_FALSE(run({0xe0}).good); }

} // namespace
} // namespace heaptape::recorder
