// Where pointers come from, on hand-made tapes.
#include "shell/origin.h"

#include <gtest/gtest.h>

#include "analysis/index/story_for_test.h"
#include "analysis/space/space_for_test.h"
#include "report/names/stacks_for_test.h"

namespace heaptape {
namespace {

using test::SpaceTape;
using test::Stacks;
using test::Story;

TapeReader tape_of(const Story& story) {
  SpaceTape tape(story.events());
  tape.threads = {{ThreadId(1), 4711, "main", 0, 0, 0}, {ThreadId(2), 4712, "loader", 5, 0, 0}};
  return tape.open();
}

Origin origin_at(const TapeReader& tape, std::uint64_t address, const Moment& moment) {
  return origin_of(find_address_facts(tape, {.address = address, .event = moment.event}), moment.time_us);
}
Origin origin_at(const TapeReader& tape, std::uint64_t address) { return origin_at(tape, address, end_of(tape)); }

// Names for the stacks 1 to 3.
struct Names {
  Names() {
    made.add_place("insert", {{"insert", "/src/cache.h", 88, 14}, {"add", "/src/cache.cpp", 12, 5}});
    const StackId maker = made.stack({"insert"});
    const StackId ender = made.stack({"drop"});
    const StackId other = made.stack({"other"});
    EXPECT_EQ(std::vector({maker.value, ender.value, other.value}), (std::vector<std::uint32_t>{1, 2, 3}));
    names.emplace(made.modules, made.stacks, made.symbols, NameForm::Short);
    text.emplace(*names);
  }
  Stacks made;
  std::optional<StackNames> names;
  std::optional<StackText> text;
};

TEST(Origin, ALiveBlockIsToldWithItsOffsetAgeThreadAndStack) {
  Names names;
  Story story;
  story.by(2, 1).make(0x1000, 64).wait_us(1'000'000).by(1, 3).make(0x9000, 8);
  const TapeReader tape = tape_of(story);
  const Origin origin = origin_at(tape, 0x1010);
  ASSERT_TRUE(origin.block);
  EXPECT_EQ(origin.offset(), 16u);
  EXPECT_EQ(origin.stacks().front(), StackId(1));
  EXPECT_EQ(origin_text(tape, *names.text, origin, {}), "PID:    \n"
                                                        "Len:    64 bytes at 0x1000\n"
                                                        "Offset: 16 bytes into the block\n"
                                                        "State:  live, 1.000 s old\n"
                                                        "Made:   malloc by thread 2 (loader), event 1 at 0.000010 s\n"
                                                        "   0: insert\n"
                                                        "             at /src/cache.h:88:14\n"
                                                        "      add\n"
                                                        "             at /src/cache.cpp:12:5\n");
}

TEST(Origin, AFreedBlockIsToldWithBothStacks) {
  Names names;
  Story story;
  story.by(1, 1).make(0x1000, 64).by(2, 2).end(0x1000);
  const TapeReader tape = tape_of(story);
  const Origin origin = origin_at(tape, 0x1000);
  ASSERT_TRUE(origin.block);
  const std::string text = origin_text(tape, *names.text, origin, {});
  EXPECT_NE(text.find("Offset: 0, the start of the block\n"), text.npos) << text;
  EXPECT_NE(text.find("State:  freed just now, after a life of 10 us\n"), text.npos) << text;
  EXPECT_NE(text.find("Freed:  free by thread 2 (loader), event 2 at 0.000020 s\n   0: drop\n"), text.npos) << text;
}

TEST(Origin, ABlockThatReallocMovedSaysWhereItWent) {
  Names names;
  Story story;
  story.by(1, 1).make(0x1000, 64).by(1, 3).move(0x1000, 0x2000, 128);
  const TapeReader tape = tape_of(story);
  const std::string before = origin_text(tape, *names.text, origin_at(tape, 0x1004), {});
  EXPECT_NE(before.find("moved to 0x2000 by realloc"), before.npos) << before;
  EXPECT_NE(before.find("Moved:  realloc"), before.npos) << before;
  const std::string after = origin_text(tape, *names.text, origin_at(tape, 0x2004), {});
  EXPECT_NE(after.find("Made:   realloc of 0x1000 by thread 1"), after.npos) << after;
}

TEST(Origin, WhoHadTheAddressBeforeIsNamedInALine) {
  Names names;
  Story story;
  story.by(1, 3).make(0x1000, 32).end(0x1000).by(1, 1).make(0x1000, 64);
  const TapeReader tape = tape_of(story);
  const Origin origin = origin_at(tape, 0x1008);
  ASSERT_TRUE(origin.before);
  const std::string text = origin_text(tape, *names.text, origin, {});
  EXPECT_NE(text.find("Before: part of a 32-byte block of other"), text.npos) << text;
  EXPECT_NE(text.find(" ago, freed by other"), text.npos) << text;
}

TEST(Origin, AnEarlierMomentHasItsOwnAnswer) {
  Story story;
  story.make(0x1000, 32).end(0x1000);
  const TapeReader tape = tape_of(story);
  EXPECT_EQ(origin_at(tape, 0x1000, {1, 10}).block->ended, LifeEnd::Live);
  EXPECT_EQ(origin_at(tape, 0x1000).block->ended, LifeEnd::Released);
}

TEST(Origin, AnAddressThatNoBlockCoveredHasNone) {
  Story story;
  story.make(0x1000, 32);
  const TapeReader tape = tape_of(story);
  for (const std::uint64_t address :
       {std::uint64_t{0}, std::uint64_t{0xfff}, std::uint64_t{0x1020}, ~std::uint64_t{0}}) {
    EXPECT_FALSE(origin_at(tape, address).block) << address;
  }
}

TEST(Origin, TheJsonHasTheBlockAndWhereTheAddressLiesInIt) {
  Names names;
  Story story;
  story.by(1, 1).make(0x1000, 64);
  const TapeReader tape = tape_of(story);
  JsonWriter json;
  write_origin_json(json, tape, *names.text, origin_at(tape, 0x1010));
  EXPECT_NE(json.text().find(R"("in_block":true,"offset":16,"block":{"address":"0x1000","size":64)"), json.text().npos)
      << json.text();
}

} // namespace
} // namespace heaptape
