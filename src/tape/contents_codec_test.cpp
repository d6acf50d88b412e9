#include "tape/contents_codec.h"

#include <gtest/gtest.h>

#include "base/byte_cursor.h"
#include "tape/format.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kMost = ~std::uint64_t{0};

using Bytes = std::vector<std::byte>;

// Every shorter payload is refused, or is a whole one of its own; none does harm.
template <class Parse>
void expect_no_harm_when_cut(const Bytes& payload, Parse parse) {
  for (std::size_t size = 0; size < payload.size(); ++size) parse(std::span(payload).first(size));
  for (std::size_t at = 0; at < payload.size(); ++at) {
    Bytes wrong = payload;
    wrong[at] ^= std::byte{0xff};
    parse(wrong);
  }
}

TEST(ContentsCodec, KeepsMeta) {
  const Meta meta{{"command", std::string("a\0b\0", 4)}, {"", ""}, {"long", std::string(100'000, 'x')}};
  Bytes payload;
  put_meta(meta, payload);
  Meta back{{"command", "replaced"}, {"kept", "yes"}};
  ASSERT_TRUE(parse_meta(payload, back));
  Meta expected = meta;
  expected["kept"] = "yes";
  EXPECT_EQ(back, expected);
}

TEST(ContentsCodec, KeepsModules) {
  const std::vector<Module> modules{{"/bin/x", {1, 255}, kMost, 0, kMost, 3, {{kMost, 1, 2, 0xffff'ffff}, {}}}, {}};
  Bytes payload;
  put_modules(modules, payload);
  std::vector<Module> back;
  ASSERT_TRUE(parse_modules(payload, back));
  EXPECT_EQ(back, modules);
  expect_no_harm_when_cut(payload, [](auto bytes) {
    std::vector<Module> any;
    (void)parse_modules(bytes, any);
  });
}

TEST(ContentsCodec, ALaterThreadReplacesTheEarlierOne) {
  const std::vector<Thread> threads{{ThreadId(7), 1, "first", 2, 0}, {ThreadId(3), 4, "", kMost, kMost}};
  const std::vector<Thread> later{{ThreadId(7), 1, "renamed", 2, 99}};
  Bytes payload, second;
  put_threads(threads, payload);
  put_threads(later, second);
  std::map<ThreadId, Thread> back;
  ASSERT_TRUE(parse_threads(payload, back));
  ASSERT_TRUE(parse_threads(second, back));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[ThreadId(3)], threads[1]);
  EXPECT_EQ(back[ThreadId(7)], later[0]);
}

TEST(ContentsCodec, AnEntryFromALaterMinorVersionIsReadAsFarAsItIsKnown) {
  Bytes entry;
  ByteWriter fields(entry);
  for (const std::uint64_t number : {7u, 1u}) fields.varint(number);
  fields.text("name");
  for (const std::uint64_t number : {2u, 3u, 4u}) fields.varint(number);
  fields.text("a field that only later versions know");
  Bytes payload;
  ByteWriter writer(payload);
  writer.varint(1);
  writer.varint(entry.size());
  writer.bytes(entry);
  writer.text("and something behind all entries");
  std::map<ThreadId, Thread> back;
  ASSERT_TRUE(parse_threads(payload, back));
  EXPECT_EQ(back[ThreadId(7)], (Thread{ThreadId(7), 1, "name", 2, 3, 4}));
}

TEST(ContentsCodec, AThreadOfATapeWithoutStacksHasNone) {
  Bytes entry, payload;
  ByteWriter fields(entry);
  for (const std::uint64_t number : {7u, 1u}) fields.varint(number);
  fields.text("name");
  for (const std::uint64_t number : {2u, 3u}) fields.varint(number);
  ByteWriter(payload).varint(1);
  ByteWriter(payload).varint(entry.size());
  ByteWriter(payload).bytes(entry);
  std::map<ThreadId, Thread> back;
  ASSERT_TRUE(parse_threads(payload, back));
  EXPECT_EQ(back[ThreadId(7)], (Thread{ThreadId(7), 1, "name", 2, 3, 0}));
}

TEST(ContentsCodec, ALaterNameOfAPoolReplacesTheEarlierOne) {
  const std::vector<Pool> pools{{.number = 1}, {.number = 7, .kind = PoolKind::Function, .name = "g_malloc"}},
      later{{.number = 1, .name = "arena \xff"}};
  Bytes first, second;
  put_pools(pools, first);
  put_pools(later, second);
  std::map<std::uint32_t, Pool> back;
  ASSERT_TRUE(parse_pools(first, back));
  ASSERT_TRUE(parse_pools(second, back));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[1], later[0]);
  EXPECT_EQ(back[7], pools[1]);
  EXPECT_FALSE(parse_pools(std::span(first).first(first.size() - 1), back));
}

TEST(ContentsCodec, KeepsStacksThatComeInParts) {
  const std::vector<StackNode> nodes{
      {StackId(0), kMost}, {StackId(1), 0}, {StackId(1), 0x7fff'1234'5678}, {StackId(3), 1}};
  Bytes first, second;
  put_stacks(StackId(1), std::span(nodes).first(1), first);
  put_stacks(StackId(2), std::span(nodes).subspan(1), second);
  std::vector<StackNode> back(1);
  ASSERT_TRUE(parse_stacks(first, back));
  ASSERT_TRUE(parse_stacks(second, back));
  ASSERT_EQ(back.size(), 5u);
  for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(back[i + 1], nodes[i]);
}

TEST(ContentsCodec, NodesOfALostChunkBecomeRootsWithoutAPc) {
  const std::vector<StackNode> nodes{{StackId(9), 0x1000}};
  Bytes payload;
  put_stacks(StackId(10), nodes, payload);
  std::vector<StackNode> back(1);
  ASSERT_TRUE(parse_stacks(payload, back));
  ASSERT_EQ(back.size(), 11u);
  EXPECT_EQ(back[9], StackNode{});
  EXPECT_EQ(back[10], nodes[0]);
}

TEST(ContentsCodec, NoStackCanBeEndless) {
  for (const std::uint64_t distance : {std::uint64_t{0}, std::uint64_t{2}, kMost}) {
    Bytes payload;
    ByteWriter writer(payload);
    for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{1}, distance, std::uint64_t{0}})
      writer.varint(number);
    std::vector<StackNode> back(1);
    EXPECT_FALSE(parse_stacks(payload, back)) << distance;
  }
}

TEST(ContentsCodec, ACountThatThePayloadDoesNotBackTakesNoMemory) {
  Bytes payload;
  ByteWriter writer(payload);
  writer.varint(kMost);
  writer.varint(6);
  std::vector<Sample> samples;
  EXPECT_FALSE(parse_samples(payload, samples));
  std::vector<Module> modules;
  EXPECT_FALSE(parse_modules(payload, modules));
  Meta meta;
  EXPECT_FALSE(parse_meta(payload, meta));
  EXPECT_TRUE(samples.empty() && modules.empty() && meta.empty());
}

TEST(ContentsCodec, NodeIdsOutOfRangeAreRefusedAndTakeNoMemory) {
  constexpr std::uint64_t end = format::kMaxStackNodes;
  const std::pair<std::uint64_t, std::uint64_t> cases[] = {{0, 1},     {end, 1},   {end - 1, 2},
                                                           {kMost, 1}, {1, kMost}, {1, 5}};
  for (const auto& [first, count] : cases) {
    Bytes payload;
    ByteWriter writer(payload);
    for (const std::uint64_t number :
         {first, count, std::uint64_t{1}, std::uint64_t{1}, std::uint64_t{0}, std::uint64_t{0}})
      writer.varint(number);
    std::vector<StackNode> nodes(1);
    EXPECT_FALSE(parse_stacks(payload, nodes)) << first << " " << count;
    EXPECT_EQ(nodes.size(), 1u);
  }
}

TEST(ContentsCodec, KeepsOddCallsInParts) {
  const OddCall failed{.kind = OddKind::Failed,
                       .call = EventKind::Calloc,
                       .event = 7,
                       .time_us = 12,
                       .thread = ThreadId(2),
                       .stack = StackId(3),
                       .address = 0,
                       .size = ~std::uint64_t{0},
                       .error = 12};
  const OddCall mismatch{.kind = OddKind::Mismatch,
                         .call = EventKind::Free,
                         .event = 9,
                         .address = 0x7f00'1234'5670,
                         .maker = 8,
                         .block_size = 40,
                         .family = Family::NewArray};
  OddCalls read;
  for (const OddCalls& part : {OddCalls{{failed}, 0}, OddCalls{{mismatch}, 5}}) {
    std::vector<std::byte> payload;
    put_odd_calls(part, payload);
    ASSERT_TRUE(parse_odd_calls(payload, read));
  }
  EXPECT_EQ(read, (OddCalls{{failed, mismatch}, 5}));
}

TEST(ContentsCodec, KeepsSamples) {
  const std::vector<Sample> samples{{1, 2, 3, 4, 5, 6}, {}, {kMost, kMost, 0, kMost, 1, 0xffff'ffff}};
  Bytes payload;
  put_samples(samples, payload);
  std::vector<Sample> back;
  ASSERT_TRUE(parse_samples(payload, back));
  EXPECT_EQ(back, samples);
}

TEST(ContentsCodec, KeepsTheSummary) {
  Summary summary;
  summary.events = kMost;
  for (std::size_t kind = 0; kind < summary.per_kind.size(); ++kind) summary.per_kind[kind] = kind * 1000;
  summary.duration_us = 1;
  summary.allocated_bytes = 2;
  summary.allocated_blocks = 3;
  summary.live_bytes = 4;
  summary.live_blocks = 5;
  summary.peak_bytes = 6;
  summary.peak_event = 7;
  summary.peak_us = 8;
  summary.unknown_releases = 9;
  summary.reordered = 10;
  summary.losses = {{"ring full", 1}, {"stack cut", kMost}};
  summary.ending = Ending::CollectorStopped;
  summary.ending_detail = -2;
  summary.note = "the disk is full";
  Bytes payload;
  put_summary(summary, payload);
  std::optional<Summary> back;
  ASSERT_TRUE(parse_summary(payload, back));
  EXPECT_EQ(back, summary);
  for (std::size_t size = 0; size < payload.size(); ++size) {
    std::optional<Summary> none;
    EXPECT_FALSE(parse_summary(std::span(payload).first(size), none));
    EXPECT_FALSE(none.has_value());
  }
}

} // namespace
} // namespace heaptape
