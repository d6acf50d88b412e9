// What a thread knew when the program died.
#include <gtest/gtest.h>

#include <cstring>

#include "collector/events/event_builder_impl.h"
#include "collector/recording/fake_program.h"

namespace heaptape {
namespace {

void put_crash(FakeThread& thread, const wire::CrashRecord& record, std::uint32_t stack, std::size_t said) {
  char bytes[sizeof record];
  std::memcpy(bytes, &record, sizeof record);
  for (std::size_t at = 0; at < sizeof record; at += 12) {
    std::uint64_t low = 0, high = 0;
    std::memcpy(&low, bytes + at, 6);
    std::memcpy(&high, bytes + at + 6, 6);
    thread.put(EventKind::MarkText, 20, low, high);
  }
  thread.put(EventKind::Crash, 20, said, 0, stack);
}

TEST(Crashes, AreTakenFromTheirBytesWithTheEventBeforeThem) {
  FakeProgram program;
  Pipeline pipeline{program};
  FakeThread thread{program, 0, 100, 1};
  const std::uint32_t stack = program.node(0, 0x4000);
  thread.malloc(10, 0x1000, 16);
  wire::CrashRecord record{};
  record.signal = 11;
  record.code = 1;
  record.address = 0x18;
  record.registers[17] = 0x1234'5678'9abc'def0;
  record.byte_count = 2;
  record.bytes[0] = 0x8b;
  put_crash(thread, record, stack, sizeof record);
  pipeline.round();
  const std::vector<Crash> crashes = pipeline.builder.crashes().take();
  ASSERT_EQ(crashes.size(), 1u);
  EXPECT_EQ(crashes[0].signal, 11u);
  EXPECT_EQ(crashes[0].address, 0x18u);
  EXPECT_EQ(crashes[0].event, 1u);
  EXPECT_EQ(crashes[0].stack, StackId(1));
  EXPECT_EQ(crashes[0].registers[17], 0x1234'5678'9abc'def0u);
  EXPECT_EQ(crashes[0].bytes, std::string("\x8b\0", 2));
  EXPECT_EQ(pipeline.builder.damaged(), 0u);
}

TEST(Crashes, OfTheWrongLengthOrWithoutASignalAreDamaged) {
  FakeProgram program;
  Pipeline pipeline{program};
  FakeThread thread{program, 0, 100, 1};
  wire::CrashRecord record{};
  put_crash(thread, record, 0, sizeof record);
  record.signal = 11;
  put_crash(thread, record, 0, sizeof record - 12);
  pipeline.round();
  EXPECT_TRUE(pipeline.builder.crashes().take().empty());
  EXPECT_EQ(pipeline.builder.damaged(), 2u);
}

TEST(Crashes, HoweverManyBytesOfCodeAreNamedNoMoreAreTakenThanThereAre) {
  FakeProgram program;
  Pipeline pipeline{program};
  FakeThread thread{program, 0, 100, 1};
  wire::CrashRecord record{};
  record.signal = 11;
  record.byte_count = 0xffff'ffff;
  put_crash(thread, record, 0, sizeof record);
  pipeline.round();
  EXPECT_EQ(pipeline.builder.crashes().take().at(0).bytes.size(), wire::kCrashCodeBytes);
}

} // namespace
} // namespace heaptape
