#include "tape/inherited_codec.h"

#include <gtest/gtest.h>

#include "tape/appender.h"
#include "tape/sample_tape.h"

namespace heaptape {
namespace {

std::vector<InheritedBlock> many_blocks(std::size_t count) {
  std::vector<InheritedBlock> blocks;
  for (std::size_t i = 0; i < count; ++i)
    blocks.push_back({.address = 0x10000 + i * 64,
                      .size = i % 48,
                      .stack = StackId(static_cast<std::uint32_t>(1 + i % 3)),
                      .kind = EventKind::Malloc,
                      .age_us = i});
  return blocks;
}

TEST(Inherited, ForksReadBackAsTheyWereWritten) {
  const std::vector<ForkMade> forks{{.started_ns = 77, .event = 3, .time_us = 9},
                                    {.started_ns = 99, .event = 3, .time_us = 12}};
  std::vector<std::byte> payload;
  put_forks(forks, payload);
  std::vector<ForkMade> back;
  std::optional<Inheritance> figures;
  std::optional<InheritedExtent> extent;
  std::vector<std::uint64_t> releases;
  EXPECT_TRUE(parse_inherited(payload, {back, figures, releases}, extent));
  EXPECT_EQ(back, forks);
  EXPECT_FALSE(figures || extent);
  payload.pop_back();
  EXPECT_FALSE(parse_inherited(payload, {back, figures, releases}, extent)) << "cut off";
}

TEST(Inherited, BlocksOnATapeAreFoundByTheirAddresses) {
  const std::vector<InheritedBlock> blocks = many_blocks(150'000);
  const Inheritance figures{
      .parent_pid = 12, .parent_event = 34, .blocks = blocks.size(), .bytes = 5, .parent_tape = "p.tape"};
  std::string path = testing::TempDir() + "inherited.XXXXXX";
  const UniqueFd made(::mkstemp(path.data()));
  const std::vector<std::byte> bytes = SampleTape(100).bytes(25);
  ASSERT_EQ(::write(made.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  {
    auto appender = TapeAppender::open(path);
    ASSERT_TRUE(appender.ok());
    EXPECT_TRUE(appender.value().tape().inherited_blocks().empty());
    for (const auto& payload : encode_inheritance(figures, blocks, {}))
      ASSERT_TRUE(appender.value().add(format::ChunkType::Inherited, payload).ok());
  }
  const TapeReader tape = TapeReader::open(path).value();
  EXPECT_TRUE(tape.damage().empty());
  EXPECT_EQ(tape.inheritance(), figures);
  EXPECT_EQ(tape.inherited_blocks().size(), blocks.size());
  const std::uint64_t inside = blocks[70'001].address + 1;
  ASSERT_EQ(tape.inherited_blocks(inside, inside + 1).size(), 1u);
  EXPECT_EQ(tape.inherited_blocks(inside, inside + 1).front().address, blocks[70'001].address);
  EXPECT_TRUE(tape.inherited_blocks(1, 2).empty());
  ::unlink(path.c_str());
}

TEST(Inherited, ReleasesReadBackInOrder) {
  const std::vector<std::uint64_t> events{3, 4, 4'000'000'000};
  std::vector<ForkMade> forks;
  std::optional<Inheritance> figures;
  std::optional<InheritedExtent> extent;
  std::vector<std::uint64_t> releases;
  for (const auto& payload : encode_inheritance({}, {}, events))
    EXPECT_TRUE(parse_inherited(payload, {forks, figures, releases}, extent));
  EXPECT_EQ(releases, events);
  EXPECT_TRUE(figures.has_value());
}

TEST(Inherited, NumbersThatMakeNoSenseAreRefused) {
  std::vector<InheritedBlock> blocks = many_blocks(1);
  blocks[0].kind = static_cast<EventKind>(100);
  std::vector<InheritedBlock> back;
  EXPECT_FALSE(parse_inherited_blocks(encode_inheritance({}, blocks, {}).front(), back));
  EXPECT_TRUE(back.empty());
  EXPECT_FALSE(parse_inherited_blocks({}, back));
}

} // namespace
} // namespace heaptape
