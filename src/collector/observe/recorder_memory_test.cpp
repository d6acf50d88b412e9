#include "collector/observe/recorder_memory.h"

#include <gtest/gtest.h>

#include <memory>

namespace heaptape {
namespace {

constexpr std::uint8_t kRw = kMapRead | kMapWrite;

struct RecorderMemoryTest : testing::Test {
  std::unique_ptr<wire::Header> header = std::make_unique<wire::Header>();
  MapNames names;
  std::uint32_t own = names.number_of("[anon:heaptape]"), file = names.number_of("/lib/libm.so");

  void tell(std::size_t number, std::uint64_t begin, std::uint64_t bytes) {
    header->own_memory[number].begin = begin;
    header->own_memory[number].bytes = bytes;
  }
  std::vector<MappedRange> named(std::vector<MappedRange> ranges) {
    name_recorder_memory(ranges, names, *header);
    return ranges;
  }
};

TEST_F(RecorderMemoryTest, MemoryThatTheKernelJoinedWithTheProgramsIsCut) {
  tell(3, 0x2000, 0x1800);
  tell(0, 0x5000, 0x1000);
  const std::vector<MappedRange> expected = {{0x1000, 0x2000, 0, 0, kRw},
                                             {0x2000, 0x4000, 0, own, kRw},
                                             {0x4000, 0x5000, 0, 0, kRw},
                                             {0x5000, 0x6000, 0, own, kRw},
                                             {0x6000, 0x7000, 0, 0, kRw}};
  EXPECT_EQ(named({{0x1000, 0x7000, 0, 0, kRw}}), expected);
}

TEST_F(RecorderMemoryTest, AMappingOfItsOwnThatHasSeveralPartsIsNamedAsAWhole) {
  tell(0, 0x2000, 0x4000);
  const std::vector<MappedRange> expected = {{0x2000, 0x3000, 0, own, kRw}, {0x3000, 0x6000, 0, own, kRw}};
  EXPECT_EQ(named({{0x2000, 0x3000, 0, 0, kRw}, {0x3000, 0x6000, 0, 0, kRw}}), expected);
}

TEST_F(RecorderMemoryTest, FilesAndSharedMemoryAreNotTheRecordersWhateverItSays) {
  tell(0, 0x1000, 0x4000);
  const std::vector<MappedRange> ranges = {{0x1000, 0x2000, 0x3000, file, kRw},
                                           {0x2000, 0x4000, 0, 0, kRw | kMapShared}};
  EXPECT_EQ(named(ranges), ranges);
}

TEST_F(RecorderMemoryTest, AHeaderThatWasWrittenOverDoesNoHarm) {
  const std::vector<MappedRange> ranges = {{0x1000, 0x2000, 0, 0, kRw}, {0x3000, 0x4000, 0, 0, kRw}};
  tell(0, 0x1000, ~std::uint64_t{0});
  tell(1, 0x1001, 0x1000);
  tell(2, ~std::uint64_t{0xfff}, 0x2000);
  tell(3, 0x3000, 0);
  EXPECT_EQ(named(ranges), ranges);
  tell(4, 0x1000, 0x1000); // twice the same, and one across
  tell(5, 0x1000, 0x1000);
  tell(6, 0x0, 0x9000);
  const std::vector<MappedRange> expected = {{0x1000, 0x2000, 0, own, kRw}, {0x3000, 0x4000, 0, 0, kRw}};
  EXPECT_EQ(named(ranges), expected);
}

} // namespace
} // namespace heaptape
