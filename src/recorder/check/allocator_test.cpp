#include "recorder/check/allocator.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <vector>

#include "recorder/check/options.h"
#include "recorder/check/report.h"
#include "recorder/check/size_class.h"
#include "recorder/check/thread_cache.h"

namespace heaptape::recorder {
namespace {

#if defined(__has_feature)
inline constexpr bool kUnderThreadSanitizer = __has_feature(thread_sanitizer);
#else
inline constexpr bool kUnderThreadSanitizer = false;
#endif

// Begun once for all: a process has one heap. What a test finds is counted from where it began.
class AllocatorTest : public testing::Test {
protected:
  void SetUp() override {
    static const bool s_started = [] {
      if (!read_check_options("check", g_check)) return false;
      return start_checks(
          {.malloc = std::malloc,
           .calloc = std::calloc,
           .memalign = [](std::size_t alignment, std::size_t size) { return std::aligned_alloc(alignment, size); },
           .realloc = std::realloc,
           .free = std::free,
           .usable_size = nullptr},
          false);
    }();
    ASSERT_TRUE(s_started);
    before_ = errors_found();
  }
  std::uint64_t found() const { return errors_found() - before_; }
  static volatile char* bytes(void* block) { return static_cast<volatile char*>(block); }

private:
  std::uint64_t before_ = 0;
};

using Sizes = std::initializer_list<std::size_t>;
constexpr std::size_t kSizes[] = {0,    1,     7,      8,      15,     16,     17,      24,
                                  31,   33,    100,    1000,   1007,   1008,   1009,    4096,
                                  5000, 65000, 131000, 131056, 131057, 200000, 1 << 20, 5000000};

TEST_F(AllocatorTest, EverySizeClassIsTheSmallestThatIsLargeEnough) {
  for (std::uint64_t bytes = 1; bytes <= kLargestSlot; ++bytes) {
    const std::uint32_t size_class = class_of(bytes);
    ASSERT_GE(bytes_of_class(size_class), bytes);
    if (size_class > 2) {
      ASSERT_LT(bytes_of_class(size_class - 1), bytes);
    }
  }
}

TEST_F(AllocatorTest, SlotsAreFoundFromEveryAddressInThem) {
  for (std::uint32_t size_class = 2; size_class < kClasses; ++size_class) {
    const ClassFacts& facts = kClassFacts[size_class];
    for (std::uint32_t slot = 0; slot < facts.slots; slot += 1 + facts.slots / 50) {
      const std::uint64_t begin = std::uint64_t{slot} * facts.bytes;
      ASSERT_EQ(begin * facts.factor >> kFactorShift, slot);
      ASSERT_EQ((begin + facts.bytes - 1) * facts.factor >> kFactorShift, slot);
    }
  }
}

TEST_F(AllocatorTest, ABlockIsTheProgramsUpToItsLastByte) {
  for (const std::size_t size : kSizes) {
    void* const block = checked_malloc(size);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0U);
    EXPECT_EQ(checked_usable_size(block), size);
    std::memset(block, 0x5a, size);
    checked_free(block);
  }
  EXPECT_EQ(found(), 0U);
}

TEST_F(AllocatorTest, AByteBehindABlockIsFoundWhenItIsReleased) {
  for (const std::size_t size : kSizes) {
    for (const std::size_t distance : Sizes{0, 1, 7, 15}) {
      const std::uint64_t already = found();
      void* const block = checked_malloc(size);
      bytes(block)[size + distance] = 1;
      checked_free(block);
      EXPECT_EQ(found(), already + 1) << size << " + " << distance;
    }
  }
}

TEST_F(AllocatorTest, AByteBeforeABlockIsFoundWhenItIsReleased) {
  for (const std::size_t size : kSizes) {
    for (const std::ptrdiff_t distance : {1, 8, 16}) {
      const std::uint64_t already = found();
      void* const block = checked_malloc(size);
      bytes(block)[-distance] = 1;
      checked_free(block);
      EXPECT_EQ(found(), already + 1) << size << " - " << distance;
    }
  }
}

TEST_F(AllocatorTest, DamageOfABlockThatIsNeverReleasedIsFoundByALookAtAll) {
  void* const behind = checked_malloc(40);
  void* const before = checked_malloc(40);
  void* const large = checked_malloc(300000);
  bytes(behind)[40] = 1;
  bytes(before)[-1] = 1;
  bytes(large)[300001] = 1;
  check_all_blocks(FoundAt::Request);
  EXPECT_EQ(found(), 3U);
  check_all_blocks(FoundAt::Request); // each once
  EXPECT_EQ(found(), 3U);
}

TEST_F(AllocatorTest, AWriteIntoAReleasedBlockIsFound) {
  for (const std::size_t size : Sizes{1, 16, 100, 5000, 131000, 200000}) {
    const std::uint64_t already = found();
    void* const block = checked_malloc(size);
    checked_free(block);
    bytes(block)[0] = 1;
    bytes(block)[size - 1] = 1;
    check_all_blocks(FoundAt::Request);
    EXPECT_GE(found(), already + 1) << size;
  }
}

TEST_F(AllocatorTest, AWriteIntoAReleasedBlockIsFoundWhenItsMemoryIsUsedAgain) {
  void* const block = checked_malloc(48);
  checked_free(block);
  bytes(block)[5] = 1;
  // What is released after it is more than the quarantine holds.
  for (int i = 0; i < 40000; ++i) checked_free(checked_malloc(i % 2 == 0 ? 48 : 448));
  EXPECT_EQ(found(), 1U);
}

TEST_F(AllocatorTest, ReleasedMemoryIsNotUsedAgainAtOnce) {
  void* const first = checked_malloc(64);
  checked_free(first);
  for (int i = 0; i < 1000; ++i) {
    void* const next = checked_malloc(64);
    EXPECT_NE(next, first);
    checked_free(next);
  }
}

TEST_F(AllocatorTest, WhatIsNoLiveBlockIsNotReleased) {
  void* const block = checked_malloc(100);
  int local = 0;
  checked_free(static_cast<char*>(block) + 8);
  checked_free(&local);
  EXPECT_EQ(found(), 2U);
  checked_free(block);
  checked_free(block);
  EXPECT_EQ(checked_realloc(block, 10), nullptr);
  EXPECT_EQ(found(), 4U);
}

TEST_F(AllocatorTest, AReallocKeepsWhatTheBlockHeld) {
  for (const std::size_t from : Sizes{10, 100, 5000, 131000, 200000, 3000000}) {
    for (const std::size_t to : Sizes{1, 20, 110, 4000, 132000, 190000, 250000, 9000000}) {
      void* block = checked_malloc(from);
      for (std::size_t i = 0; i < from; ++i) bytes(block)[i] = static_cast<char>(i * 7);
      block = checked_realloc(block, to);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(checked_usable_size(block), to);
      for (std::size_t i = 0; i < from && i < to; ++i)
        ASSERT_EQ(bytes(block)[i], static_cast<char>(i * 7)) << from << " " << to;
      std::memset(block, 1, to);
      checked_free(block);
    }
  }
  EXPECT_EQ(found(), 0U);
}

TEST_F(AllocatorTest, TheTailThatAReallocCutsOffIsNotTheProgramsAnyMore) {
  for (const std::size_t from : Sizes{30, 300, 200000}) {
    const std::uint64_t already = found();
    void* const block = checked_realloc(checked_malloc(from), from - 5);
    bytes(block)[from - 5] = 1;
    checked_free(block);
    EXPECT_EQ(found(), already + 1);
  }
}

TEST_F(AllocatorTest, CallocGivesZeroAlsoWhereMemoryWasUsedBefore) {
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t size : Sizes{24, 1000, 5000, 200000, 3000000}) {
      void* const block = checked_calloc(1, size);
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(bytes(block)[i], 0);
      std::memset(block, 1, size);
      checked_free(block);
    }
    for (int i = 0; i < 5000; ++i) checked_free(checked_malloc(1000));
  }
  EXPECT_EQ(checked_calloc(SIZE_MAX / 2, 3), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(found(), 0U);
}

TEST_F(AllocatorTest, AlignedBlocksAreAlignedAndHaveRedzonesToo) {
  for (std::size_t alignment = 32; alignment <= std::size_t{4} << 20; alignment *= 2) {
    for (const std::size_t size : Sizes{1, 40, 5000}) {
      const std::uint64_t already = found();
      void* const block = checked_memalign(alignment, size);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
      std::memset(block, 1, size);
      bytes(block)[size] = 1;
      bytes(block)[-1] = 1;
      checked_free(block);
      EXPECT_EQ(found(), already + 2);
    }
  }
  void* block = nullptr;
  EXPECT_EQ(checked_posix_memalign(&block, 24, 10), EINVAL);
  EXPECT_EQ(checked_posix_memalign(&block, 64, SIZE_MAX), ENOMEM);
}

TEST_F(AllocatorTest, ADeleteWithAnotherAlignmentIsAnError) {
  checked_delete(checked_memalign(64, 10), 64);
  checked_delete(checked_malloc(10), 0);
  checked_delete(checked_malloc(10), 16); // what every block has
  EXPECT_EQ(found(), 0U);
  checked_delete(checked_memalign(64, 10), 0);
  checked_delete(checked_memalign(64, 10), 32);
  EXPECT_EQ(found(), 2U);
}

TEST_F(AllocatorTest, NothingIsWrongWithBlocksThatGoFromThreadToThread) {
  constexpr int kThreads = 4, kRounds = 30000;
  std::vector<std::thread> threads;
  std::vector<std::atomic<void*>> shared(64);
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&shared, number] {
      unsigned state = static_cast<unsigned>(number) + 1;
      for (int i = 0; i < kRounds; ++i) {
        state = state * 1103515245 + 12345;
        const std::size_t size = state % 7 == 0 ? state / 65536 % 3000 : state / 65536 % 200;
        void* const block = checked_malloc(size);
        std::memset(block, number, size);
        checked_free(shared[state / 256 % shared.size()].exchange(block));
      }
      checked_thread_ends();
    });
  }
  // ThreadSanitizer calls it a race that somebody looks, and looks again, at what others write.
  for (int i = 0; i < 20 && !kUnderThreadSanitizer; ++i) check_all_blocks(FoundAt::Request);
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<void*>& block : shared) checked_free(block);
  check_all_blocks(FoundAt::Request);
  EXPECT_EQ(found(), 0U);
}

TEST_F(AllocatorTest, ASignalHandlerThatInterruptsAnAllocationMayAllocate) {
  void* const outside = checked_malloc(100);
  t_cache->busy = 1; // as if it had
  void* const block = checked_malloc(100);
  void* const large = checked_malloc(400000);
  checked_free(outside);
  t_cache->busy = 0;
  ASSERT_NE(block, nullptr);
  ASSERT_NE(large, nullptr);
  std::memset(block, 1, 100);
  std::memset(large, 1, 400000);
  checked_free(block);
  checked_free(large);
  EXPECT_EQ(found(), 0U);
}

TEST(CheckOptions, AreReadAsTheyAreWritten) {
  CheckOptions options;
  ASSERT_TRUE(read_check_options("full,stomp=5a,fill=none,quarantine=1048576,on-error=abort", options));
  EXPECT_TRUE(options.full && !options.fill && options.on);
  EXPECT_EQ(options.released_byte, 0x5a);
  EXPECT_EQ(options.quarantine_bytes, 1048576U);
  EXPECT_EQ(options.on_error, OnError::Abort);
  for (const char* text : {"", "checks", "check,stomp=", "check,stomp=100", "check,on-error=go", "check,x=1",
                           "check,quarantine=99999999999999999999"}) {
    EXPECT_FALSE(read_check_options(text, options)) << text;
  }
}

} // namespace
} // namespace heaptape::recorder
