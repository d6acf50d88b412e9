// What the checks in a program find, from its records to what goes onto the tape.
#include <gtest/gtest.h>

#include <cstring>

#include "collector/events/error_collector.h"
#include "collector/events/event_builder_impl.h"
#include "collector/recording/fake_program.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kUs = 1000; // ticks of the fake program

struct OneThread {
  std::vector<MemoryError> errors() { return pipeline.builder.memory_errors().take().errors; }

  FakeProgram program;
  Pipeline pipeline{program};
  FakeThread thread{program, 0, 100, 1};
};

wire::MemoryError overrun() {
  wire::MemoryError error{};
  error.sort = ErrorSort::WriteBehind;
  error.found = FoundAt::Release;
  error.expected = 0xfd;
  error.byte_count = 3;
  error.address = 0x1010;
  error.length = 3;
  error.block = 0x1000;
  error.block_size = 16;
  std::memcpy(error.bytes, "a\0b", 3);
  return error;
}

bool add(ErrorCollector& collector, const wire::MemoryError& error, MemoryError known = {}) {
  return collector.add({reinterpret_cast<const char*>(&error), sizeof error}, std::move(known), TickClock());
}

TEST(MemoryErrors, AnErrorIsNoEventAndKnowsTheEventBeforeIt) {
  OneThread one;
  const std::uint32_t stack = one.program.node(0, 0x4000);
  one.thread.malloc(10 * kUs, 0x1000, 16);
  wire::MemoryError said = overrun();
  said.whole_ticks = 12 * kUs;
  one.thread.memory_error(20 * kUs, said, stack);
  one.thread.free(30 * kUs, 0x1000);
  one.pipeline.round();
  EXPECT_EQ(one.pipeline.events().size(), 2u);
  const MemoryError expected{.sort = ErrorSort::WriteBehind,
                             .found = FoundAt::Release,
                             .expected = 0xfd,
                             .event = 1,
                             .time_us = 20,
                             .thread = ThreadId(1),
                             .stack = StackId(1),
                             .address = 0x1010,
                             .length = 3,
                             .block = 0x1000,
                             .block_size = 16,
                             .whole_us = 12,
                             .bytes = std::string("a\0b", 3)};
  EXPECT_EQ(one.errors(), std::vector<MemoryError>{expected});
  EXPECT_EQ(one.pipeline.builder.damaged(), 0u);
}

TEST(MemoryErrors, ErrorsOfThreadsAndTheirTextsDoNotMix) {
  FakeProgram program;
  Pipeline pipeline(program);
  FakeThread a(program, 0, 100, 1), b(program, 1, 101, 2);
  wire::MemoryError said = overrun();
  const std::string_view bytes(reinterpret_cast<const char*>(&said), sizeof said);
  a.text(10 * kUs, bytes);
  said.sort = ErrorSort::WriteFreed;
  said.block = 0x2000;
  b.memory_error(11 * kUs, said);
  a.put(EventKind::MemoryError, 12 * kUs, sizeof said);
  pipeline.round();
  const std::vector<MemoryError> errors = pipeline.builder.memory_errors().take().errors;
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].sort, ErrorSort::WriteFreed);
  EXPECT_EQ(errors[0].block, 0x2000u);
  EXPECT_EQ(errors[0].thread, ThreadId(2));
  EXPECT_EQ(errors[1].sort, ErrorSort::WriteBehind);
  EXPECT_EQ(errors[1].block, 0x1000u);
  EXPECT_EQ(errors[1].thread, ThreadId(1));
}

TEST(MemoryErrors, AnErrorOfASignalHandlerInTheMiddleOfAnotherLeavesItWhole) {
  OneThread one;
  wire::MemoryError outer = overrun();
  const std::string_view bytes(reinterpret_cast<const char*>(&outer), sizeof outer);
  wire::MemoryError inner = overrun();
  inner.block = 0x2000;
  one.thread.text(10, bytes.substr(0, 48));
  one.thread.memory_error(11, inner);
  one.thread.text(12, bytes.substr(48));
  one.thread.put(EventKind::MemoryError, 13, sizeof outer);
  one.pipeline.round();
  const std::vector<MemoryError> errors = one.errors();
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].block, 0x2000u);
  EXPECT_EQ(errors[1].block, 0x1000u);
}

TEST(MemoryErrors, OfTheWrongLengthAnErrorIsDamage) {
  const wire::MemoryError said = overrun();
  const std::string_view bytes(reinterpret_cast<const char*>(&said), sizeof said);
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, sizeof said - 1, sizeof said + 1}) {
    OneThread one;
    one.thread.text(10, std::string(bytes) + std::string(12, 'x'));
    one.thread.put(EventKind::MemoryError, 20, length);
    one.pipeline.round();
    EXPECT_TRUE(one.errors().empty()) << length;
    EXPECT_EQ(one.pipeline.builder.damaged(), 1u) << length;
  }
}

TEST(MemoryErrors, WithoutItsTextAnErrorIsDamage) {
  const wire::MemoryError said = overrun();
  OneThread one;
  one.thread.text(10, {reinterpret_cast<const char*>(&said), 96}); // the last record is missing
  one.thread.put(EventKind::MemoryError, 20, sizeof said);
  one.pipeline.round();
  EXPECT_TRUE(one.errors().empty());
  EXPECT_EQ(one.pipeline.builder.damaged(), 1u);
}

TEST(ErrorCollector, WhatNobodyKnowsMakesNoSense) {
  ErrorCollector collector;
  const auto refused = [&](auto change) {
    wire::MemoryError error = overrun();
    change(error);
    return !add(collector, error);
  };
  EXPECT_TRUE(refused([](wire::MemoryError& error) { error.sort = ErrorSort::None; }));
  EXPECT_TRUE(refused([](wire::MemoryError& error) { error.sort = static_cast<ErrorSort>(kErrorSorts); }));
  EXPECT_TRUE(refused([](wire::MemoryError& error) { error.found = static_cast<FoundAt>(kFoundAts); }));
  EXPECT_TRUE(refused([](wire::MemoryError& error) { error.byte_count = wire::kErrorBytes + 1; }));
  EXPECT_EQ(collector.found(), 0u);
  EXPECT_FALSE(refused([](wire::MemoryError&) {}));
  EXPECT_EQ(collector.found(), 1u);
}

TEST(ErrorCollector, AFunctionsNameMayFillAllItsRoom) {
  ErrorCollector collector;
  wire::MemoryError error = overrun();
  std::memset(error.function, 'f', sizeof error.function);
  ASSERT_TRUE(add(collector, error));
  std::memcpy(error.function, "memcpy", 7);
  ASSERT_TRUE(add(collector, error));
  const std::vector<MemoryError> errors = collector.take().errors;
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].function, std::string(16, 'f'));
  EXPECT_EQ(errors[1].function, "memcpy");
}

TEST(ErrorCollector, WhenItWasLastWholeIsBeforeItWasFound) {
  FakeProgram program;
  Pipeline pipeline(program);
  ErrorCollector collector;
  for (const std::uint64_t ticks : {std::uint64_t{0}, std::uint64_t{1}, 7 * kUs, ~std::uint64_t{0} >> 8}) {
    wire::MemoryError error = overrun();
    error.whole_ticks = ticks;
    ASSERT_TRUE(collector.add({reinterpret_cast<const char*>(&error), sizeof error}, {.time_us = 9}, pipeline.clock));
  }
  const std::vector<MemoryError> errors = collector.take().errors;
  ASSERT_EQ(errors.size(), 4u);
  EXPECT_EQ(errors[0].whole_us, 0u);
  EXPECT_EQ(errors[1].whole_us, 1u) << "0 is never";
  EXPECT_EQ(errors[2].whole_us, 7u);
  EXPECT_EQ(errors[3].whole_us, 9u);
}

TEST(ErrorCollector, WhereThereAreTooManyTheyAreOnlyCounted) {
  ErrorCollector collector;
  for (std::uint64_t i = 0; i < ErrorCollector::kMost + 3; ++i) ASSERT_TRUE(add(collector, overrun()));
  const MemoryErrors first = collector.take();
  EXPECT_EQ(first.errors.size(), ErrorCollector::kMost);
  EXPECT_EQ(first.left_out, 3u);
  EXPECT_FALSE(collector.anything_new());
  collector.leave_out(2);
  EXPECT_TRUE(collector.anything_new());
  EXPECT_EQ(collector.take().left_out, 5u);
  EXPECT_EQ(collector.found(), ErrorCollector::kMost + 5);
}

} // namespace
} // namespace heaptape
