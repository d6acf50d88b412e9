#include "tape/run_time_codec.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

std::vector<RunTimeCode> some_code() {
  return {{.start = 0x7f00'0000'0000,
           .size = 11,
           .function = "matrix",
           .file = "/home/me/job.py",
           .from_us = 5,
           .frames = {{StackId(3)}, {StackId(9), 7}}},
          {.start = 0x7f00'0000'0000,
           .size = 64,
           .function = "foo",
           .line = 12,
           .from_us = 90,
           .to_us = 95,
           .frames = {{StackId(12)}}}};
}

TEST(RunTimeCodec, WhatIsWrittenIsReadAgain) {
  const auto payloads = encode_run_time_code(some_code());
  ASSERT_EQ(payloads.size(), 1u);
  Symbols back;
  ASSERT_TRUE(parse_run_time_code(payloads[0], back));
  EXPECT_EQ(back.run_time_code(), some_code());
  EXPECT_EQ(back.size(), 3u);
  ASSERT_EQ(back.run_time_places(StackId(9)).size(), 1u);
  EXPECT_EQ(back.run_time_places(StackId(9))[0].function, "matrix");
  EXPECT_EQ(back.run_time_places(StackId(9))[0].line, 7u);
  EXPECT_EQ(back.run_time_places(StackId(12))[0].line, 12u);
  EXPECT_TRUE(back.run_time_places(StackId(4)).empty());
}

TEST(RunTimeCodec, PayloadThatIsCutGivesWhatIsInFrontOfIt) {
  const auto payload = encode_run_time_code(some_code())[0];
  Symbols back;
  EXPECT_FALSE(parse_run_time_code(std::span(payload).first(payload.size() - 1), back));
  EXPECT_EQ(back.run_time_code().size(), 1u);
}

TEST(RunTimeCodec, NoCodeMakesNoPayload) { EXPECT_TRUE(encode_run_time_code({}).empty()); }

TEST(RunTimeCodec, FunctionWithVeryManyFramesFits) {
  RunTimeCode code{.start = 1, .size = 1, .function = "f"};
  for (std::uint32_t node = 1; node <= 600'000; ++node) code.frames.push_back({StackId(node), node});
  Symbols back;
  for (const auto& payload : encode_run_time_code(std::span(&code, 1))) ASSERT_TRUE(parse_run_time_code(payload, back));
  EXPECT_EQ(back.size(), 600'000u);
}

} // namespace
} // namespace heaptape
