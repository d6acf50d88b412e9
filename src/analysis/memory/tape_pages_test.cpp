#include "analysis/memory/tape_pages.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "analysis/memory/memory_image.h"
#include "tape/compression.h"
#include "tape/memory_snapshot_codec.h"
#include "tape/writer.h"

namespace heaptape {
namespace {

TEST(TapePages, AreReadAtTheAddressesOfASnapshot) {
  std::string path = "/tmp/tape_pages_test.XXXXXX";
  ::close(::mkstemp(path.data()));
  {
    auto writer = TapeWriter::create({.path = path, .overwrite = true, .start_realtime_ns = 1, .pid = 4711});
    ASSERT_TRUE(writer);
    PagePacker packer;
    for (const std::uint64_t first : {std::uint64_t{1}, std::uint64_t{10}}) { // those between are missing
      std::vector<std::byte> pages(2 * kPageBytes, static_cast<std::byte>(first)), payload;
      put_pages(first, pages, packer, payload);
      ASSERT_TRUE(writer.value().add_pages(payload));
    }
    ASSERT_TRUE(writer.value().add_meta({{"pid", "4711"}}));
  }
  const auto tape = TapeReader::open(path);
  ::unlink(path.c_str());
  ASSERT_TRUE(tape);
  const TapePages pages(tape.value());
  EXPECT_EQ(pages.end(), 12u);
  const MemoryImage image({{0x1000, 0x3000, PageState::Stored, 1}, {0x5000, 0x9000, PageState::Stored, 9}}, pages);
  MemoryCursor cursor(image);
  EXPECT_EQ(cursor.word(0x2ff8), 0x0101010101010101u);
  EXPECT_EQ(cursor.state_at(0x5000), MemoryState::Damaged);
  EXPECT_EQ(cursor.word(0x6000), 0x0a0a0a0a0a0a0a0au);
  EXPECT_EQ(cursor.word(0x7000), 0x0a0a0a0a0a0a0a0au);
  EXPECT_EQ(cursor.state_at(0x8000), MemoryState::Damaged);
}

} // namespace
} // namespace heaptape
