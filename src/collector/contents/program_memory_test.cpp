#include "collector/contents/program_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <map>

#include "collector/contents/forked_child_for_test.h"
#include "tape/memory_snapshot.h"

namespace heaptape {
namespace {

constexpr std::size_t kPages = 400;

// Every third page alone and the rest together; some of it is gone, some may not be read.
TEST(ProgramMemory, GivesAllThatIsThereAndNamesWhatIsNot) {
  auto* const memory = static_cast<std::byte*>(
      ::mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const ForkedChild child([&](ForkedChild::Voice voice) {
    for (std::size_t page = 0; page < kPages; ++page)
      std::memset(memory + page * kPageBytes, static_cast<int>(page % 251), kPageBytes);
    ::munmap(memory + 10 * kPageBytes, 100 * kPageBytes);
    ::munmap(memory + 300 * kPageBytes, kPageBytes);
    ::mprotect(memory + 350 * kPageBytes, 2 * kPageBytes, PROT_NONE);
    voice.say(1);
    (void)voice.listen();
  });
  ASSERT_EQ(child.hear(), 1);
  const auto begin = reinterpret_cast<std::uint64_t>(memory);
  const auto is_there = [](std::size_t page) {
    return (page < 10 || page >= 110) && page != 300 && page != 350 && page != 351;
  };
  const auto pages_from = [&](std::size_t first, std::size_t last) {
    return PageRange{begin + first * kPageBytes, begin + last * kPageBytes};
  };
  std::vector<PageRange> alone;
  for (std::size_t page = 0; page < kPages; page += 3) alone.push_back(pages_from(page, page + 1));
  for (const std::vector<PageRange>& ranges : {std::vector{pages_from(0, kPages)}, alone}) {
    std::map<std::uint64_t, int> seen; // by page; -1: refused
    ASSERT_TRUE(ProgramMemory(child.pid()).read(ranges, [&](std::uint64_t address, std::span<const std::byte> bytes) {
      if (bytes.empty()) seen[(address - begin) / kPageBytes] = -1;
      for (std::size_t at = 0; at < bytes.size(); at += kPageBytes)
        seen[(address + at - begin) / kPageBytes] = std::to_integer<int>(bytes[at + 17]);
    }));
    std::size_t expected = 0;
    for (const PageRange& range : ranges) {
      for (std::uint64_t at = range.begin; at < range.end; at += kPageBytes, ++expected) {
        const std::size_t page = (at - begin) / kPageBytes;
        ASSERT_TRUE(seen.contains(page)) << page;
        EXPECT_EQ(seen[page], is_there(page) ? static_cast<int>(page % 251) : -1) << page;
      }
    }
    EXPECT_EQ(seen.size(), expected);
  }
  ::munmap(memory, kPages * kPageBytes);
}

} // namespace
} // namespace heaptape
