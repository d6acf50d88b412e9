#include <gtest/gtest.h>

#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"
#include "report/map/heap_map.h"
#include "report/map/map_text.h"
#include "report/names/stacks_for_test.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kHeap = 0x10'0000;

SpaceRange range(std::uint64_t begin, std::uint64_t end, RangeKind kind) {
  SpaceRange made;
  made.begin = begin;
  made.end = end;
  made.committed = end - begin;
  made.kind = kind;
  return made;
}

// A story played to its end, in an address space of its own.
class MapText : public testing::Test {
protected:
  MapText() {
    space.from_kernel = true;
    space.names = {""};
    space.ranges = {range(kHeap, kHeap + 0x1000, RangeKind::MainHeap)};
    stacks.stack({"main", "load", "parse"});
  }

  Result<HeapMap> map(const AskMap& ask) {
    const test::SmallTape file(story.events(), 8, 1000);
    const TapeReader tape = file.open();
    const Index index = build_index(tape);
    HeapState state;
    for (const Event& event : story.events()) state.apply(event);
    return make_heap_map(tape, index, state, space, ask);
  }
  std::string text(const AskMap& ask, MapBy by = MapBy::Density,
                   const TextStyle& style = {.width = 80, .color = false, .utf8 = false}) {
    const Result<HeapMap> made = map(ask);
    if (!made) return made.error().sentence;
    const MapClasses classes(made.value(), by, &names());
    return map_text(made.value(), classes, names(), style);
  }
  StackNames& names() {
    if (!names_) names_.emplace(stacks.modules, stacks.stacks, stacks.symbols, NameForm::Short);
    return *names_;
  }

  test::Story story;
  AddressSpace space;
  test::Stacks stacks;

private:
  std::optional<StackNames> names_;
};

TEST_F(MapText, FullHalfFullFreedAndNeverUsedCellsDiffer) {
  space.ranges = {range(kHeap, kHeap + 0x100, RangeKind::MainHeap)};
  story.make(kHeap, 32).make(kHeap + 0x20, 8).make(kHeap + 0x40, 16).end(kHeap + 0x40);
  EXPECT_EQ(text({.columns = 16, .rows = 1}),
            "main heap: 0x100000-0x100100\n"
            "  256 bytes, 15.6 % used by 2 blocks; a cell is 16 bytes\n"
            "  fragmentation 0.0 % of 40 bytes from first to last block, largest gap 0 bytes\n"
            "  1 page in use, 1 of them for less than 64 bytes\n"
            "0x100000       @@*.-...........\n"
            "\n"
            ":=+*#@ from little to full   - free, used before   . never used\n");
}

TEST_F(MapText, EachRangeHasAHeadingAndSmallOnesAreDrawnFiner) {
  space.ranges = {range(kHeap, kHeap + 0x10'0000, RangeKind::MainHeap),
                  range(0x7000'0000, 0x7000'1000, RangeKind::Anonymous)};
  story.make(kHeap + 0x10, 0xffff0).make(0x7000'0010, 0xff0);
  const Result<HeapMap> made = map({.columns = 16, .rows = 4});
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made.value().parts.size(), 2u);
  EXPECT_EQ(made.value().parts[0].grid.cell_bytes, 0x8000u); // two rows of sixteen
  EXPECT_EQ(made.value().parts[1].grid.cell_bytes, 0x100u);  // one row
  EXPECT_EQ(made.value().parts[1].label, "mapped block");
}

TEST_F(MapText, ReservedPartOfAnArenaIsToldNotDrawn) {
  space.ranges = {range(0x400'0000, 0x800'0000, RangeKind::ThreadArena)};
  space.ranges[0].committed = 0x1000;
  story.make(0x400'0010, 64);
  const std::string picture = text({.columns = 64, .rows = 4});
  EXPECT_NE(picture.find("thread arena, thread 1: 0x4000000-0x8000000\n  4.10 kB of 67.1 MB reserved, 1.6 % used"),
            std::string::npos)
      << picture;
  EXPECT_EQ(picture.find("0x4001000 "), std::string::npos) << picture;
}

TEST_F(MapText, LongStretchesNeverUsedAreOneLine) {
  story.make(kHeap, 16).make(kHeap + 0xff0, 16);
  const std::string picture = text({.columns = 16, .rows = 16});
  EXPECT_NE(picture.find("(14 rows, 3.58 kB, never used)\n"), std::string::npos) << picture;
  EXPECT_NE(picture.find("0x100f00       ...............@\n"), std::string::npos) << picture;
}

TEST_F(MapText, AddressIsMarkedBelowItsCell) {
  space.ranges = {range(kHeap, kHeap + 0x200, RangeKind::MainHeap)};
  story.make(kHeap, 16);
  const std::string first = text({.zoom = MapZoom::Arena, .address = kHeap + 0x18, .columns = 32, .rows = 1});
  EXPECT_NE(first.find("\n                ^ 0x100018\n"), std::string::npos) << first;
  const std::string last = text({.zoom = MapZoom::Arena, .address = kHeap + 0x1ff, .columns = 32, .rows = 1});
  EXPECT_NE(last.find("\n                                     0x1001ff ^\n"), std::string::npos) << last;
}

TEST_F(MapText, AddressOutsideTheHeapIsRefused) {
  story.make(kHeap, 16);
  EXPECT_EQ(text({.zoom = MapZoom::Arena, .address = 0x42}), "0x42 is not in a range that holds heap at this moment");
}

TEST_F(MapText, NothingToDrawIsSaid) {
  space.ranges.clear();
  EXPECT_EQ(text({}), "nothing is live at this moment, so there is nothing to draw");
}

TEST_F(MapText, PageListsItsBlocksAndGaps) {
  story.by(1, 3).make(kHeap + 0x10, 24).make(kHeap + 0x30, 100).make(kHeap + 0xff0, 64);
  EXPECT_EQ(text({.zoom = MapZoom::Page, .address = kHeap + 0x40, .columns = 64}),
            "main heap: 0x100000-0x101000, one page\n"
            "0x100000       .aabbbbbbb......................................................\n"
            "                   ^ 0x100040\n"
            "0x100400       ................................................................\n"
            "0x100800       ................................................................\n"
            "0x100c00       ...............................................................c\n"
            "\n"
            "    address   bytes  event    age  made by\n"
            "  a 0x100010     24      1  20 us  parse <- load <- main\n"
            "> b 0x100030    100      2  10 us  parse <- load <- main\n"
            "    0x100094  3,932                free\n"
            "  c 0x100ff0     64      3   0 us  (goes on) parse <- load <- main\n"
            "  gaps of less than 32 bytes, mostly the allocator's own, are not listed\n"
            "\n"
            "letters: the blocks listed   . never used\n");
}

TEST_F(MapText, StacksAreLettersWithALegend) {
  space.ranges = {range(kHeap, kHeap + 0x100, RangeKind::MainHeap)};
  const StackId save = stacks.stack({"main", "save"});
  story.by(1, 3).make(kHeap, 32).by(1, save.value).make(kHeap + 0x20, 96);
  const std::string picture = text({.columns = 16, .rows = 1}, MapBy::Stack);
  EXPECT_NE(picture.find("0x100000       bbaaaaaa........\n"), std::string::npos) << picture;
  EXPECT_NE(picture.find("  a  75.0 %   96 bytes  save <- main\n"), std::string::npos) << picture;
  EXPECT_NE(picture.find("  b  25.0 %   32 bytes  parse <- load <- main\n"), std::string::npos) << picture;
  EXPECT_EQ(picture.find("other stacks"), std::string::npos) << picture;
}

TEST_F(MapText, SizesAndAgesAreLettersWithALegend) {
  space.ranges = {range(kHeap, kHeap + 0x100, RangeKind::MainHeap)};
  story.make(kHeap, 16).wait_us(2'000'000).make(kHeap + 0x20, 100);
  const std::string sizes = text({.columns = 16, .rows = 1}, MapBy::Size);
  EXPECT_NE(sizes.find("0x100000       a.ddddddd.......\n"), std::string::npos) << sizes;
  EXPECT_NE(sizes.find("  a up to 16 bytes  d up to 128 bytes\n"), std::string::npos) << sizes;
  const std::string ages = text({.columns = 16, .rows = 1}, MapBy::Age);
  EXPECT_NE(ages.find("0x100000       4.0000000.......\n"), std::string::npos) << ages;
  EXPECT_NE(ages.find("  0 younger than 1 ms  4 1 to 10 s\n"), std::string::npos) << ages;
}

TEST_F(MapText, ColourAddsNothingButColour) {
  story.make(kHeap, 700).make(kHeap + 0x400, 16).end(kHeap + 0x400);
  const AskMap ask{.columns = 32, .rows = 4};
  const std::string plain = text(ask, MapBy::Density, {.width = 80, .color = false, .utf8 = true});
  std::string colored = text(ask, MapBy::Density, {.width = 80, .color = true, .utf8 = true});
  EXPECT_NE(plain, colored);
  for (std::size_t at = colored.find('\x1b'); at != std::string::npos; at = colored.find('\x1b'))
    colored.erase(at, colored.find('m', at) - at + 1);
  EXPECT_EQ(plain, colored);
}

TEST_F(MapText, OnlyTheLargestOfManyRangesAreDrawn) {
  space.ranges.clear();
  for (std::uint64_t i = 1; i <= 20; ++i) {
    space.ranges.push_back(range(i * 0x10000, i * 0x10000 + 0x1000, RangeKind::Anonymous));
    story.make(i * 0x10000, i);
  }
  const Result<HeapMap> made = map({.columns = 64, .rows = 30, .most_ranges = 12});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made.value().parts.size(), 12u);
  EXPECT_EQ(made.value().parts[0].begin, 9 * 0x10000u);
  EXPECT_EQ(made.value().ranges_left_out, 8u);
  EXPECT_EQ(made.value().left_out, (Cost{36, 8}));
}

TEST_F(MapText, BlocksOfImpossibleSizesAndPlacesAreDrawnSomehow) {
  space.ranges.clear();
  story.make(0x1000, std::uint64_t{1} << 62).make(~std::uint64_t{0} - 10, 5).make(~std::uint64_t{0}, 0);
  const std::string picture = text({.columns = 64, .rows = 30});
  EXPECT_NE(picture.find("blocks outside every known mapping"), std::string::npos);
  EXPECT_LT(picture.size(), 20'000u);
}

TEST_F(MapText, JsonHoldsRangesAndCells) {
  space.ranges = {range(kHeap, kHeap + 0x100, RangeKind::MainHeap)};
  story.by(1, 3).make(kHeap, 40);
  const Result<HeapMap> made = map({.columns = 16, .rows = 1});
  ASSERT_TRUE(made.ok());
  const std::string json = map_json(made.value(), names());
  EXPECT_NE(json.find(R"("cells_begin":"0x100000","cell_bytes":16)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"({"cell":2,"count":1,"state":"live","live_bytes":8,"blocks":0,"largest":40,)"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(R"({"cell":3,"count":13,"state":"never_used"})"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("functions":["parse","load","main"])"), std::string::npos) << json;
}

TEST(MapColumns, ArePowersOfTwoThatFit) {
  EXPECT_EQ(map_columns(0), 64u);
  EXPECT_EQ(map_columns(20), 16u);
  EXPECT_EQ(map_columns(79), 64u);
  EXPECT_EQ(map_columns(78), 32u);
  EXPECT_EQ(map_columns(200), 128u);
}

} // namespace
} // namespace heaptape
