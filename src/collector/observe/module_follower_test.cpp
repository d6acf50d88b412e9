#include "collector/observe/module_follower.h"

#include <gtest/gtest.h>

#include "collector/recording/fake_program.h"

namespace heaptape {
namespace {

struct Log {
  FakeProgram program;
  ModuleFollower follower{program.memory.module_log()};
  TickClock clock;

  Log() { clock.start(false, {0, 0}, 0); }
  std::vector<Module> take() { return follower.take_new(program.header.module_log_used, "/bin/prog", clock); }
  wire::ModuleEntry& first() { return *reinterpret_cast<wire::ModuleEntry*>(program.memory.module_log()); }
};

TEST(ModuleFollower, EachModuleComesOnceWithAllItsFacts) {
  Log log;
  log.program.module("", 0x1000, 0x2000);
  log.program.module("/lib/libc.so.6", 0x7000, 0x9000, 5'000'000);
  const std::vector<Module> modules = log.take();
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[0].path, "/bin/prog") << "an empty path is the executable";
  EXPECT_EQ(modules[1].path, "/lib/libc.so.6");
  EXPECT_EQ(modules[1].start, 0x7000u);
  EXPECT_EQ(modules[1].end, 0x9000u);
  EXPECT_EQ(modules[1].first_seen_us, 5000u);
  EXPECT_EQ(modules[1].build_id, (std::vector<std::uint8_t>{0xbe, 0xef}));
  ASSERT_EQ(modules[1].segments.size(), 1u);
  EXPECT_EQ(modules[1].segments[0], (Segment{0x7000, 0x2000, 0, 5}));
  EXPECT_TRUE(log.take().empty());
  log.program.module("/lib/late.so", 0xa000, 0xb000);
  EXPECT_EQ(log.take().size(), 1u);
}

TEST(ModuleFollower, AnEntryThatIsBeingWrittenIsWaitedFor) {
  Log log;
  log.program.module("/lib/a.so", 0x1000, 0x2000);
  log.program.module("/lib/b.so", 0x3000, 0x4000);
  const std::uint32_t size = log.first().size.exchange(0);
  EXPECT_TRUE(log.take().empty());
  log.first().size = size;
  EXPECT_EQ(log.take().size(), 2u);
}

TEST(ModuleFollower, EntriesThatMakeNoSenseEndTheLog) {
  const auto spoiled = [](auto&& spoil) {
    Log log;
    log.program.module("/lib/a.so", 0x1000, 0x2000);
    log.program.module("/lib/b.so", 0x3000, 0x4000);
    spoil(log.first());
    EXPECT_TRUE(log.take().empty());
    EXPECT_TRUE(log.take().empty());
    return log.follower.damaged();
  };
  EXPECT_TRUE(spoiled([](wire::ModuleEntry& entry) { entry.size = 16; }));
  EXPECT_TRUE(spoiled([](wire::ModuleEntry& entry) { entry.size = 0xffff'fff8; }));
  EXPECT_TRUE(spoiled([](wire::ModuleEntry& entry) { entry.size += 1; }));
  EXPECT_TRUE(spoiled([](wire::ModuleEntry& entry) { entry.path_size = 0xffff'ffff; }));
  EXPECT_TRUE(spoiled([](wire::ModuleEntry& entry) { entry.segment_count = 9; }));
  EXPECT_TRUE(spoiled([](wire::ModuleEntry& entry) { entry.build_id_size = 33; }));
}

TEST(ModuleFollower, AFullLogIsReadToItsEndOnly) {
  Log log;
  log.program.module("/lib/a.so", 0x1000, 0x2000);
  log.program.header.module_log_used = ~std::uint64_t{0}; // entries that did not fit are counted here too
  EXPECT_EQ(log.take().size(), 1u);
}

} // namespace
} // namespace heaptape
