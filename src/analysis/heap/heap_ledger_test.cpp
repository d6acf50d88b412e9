#include "analysis/heap/heap_ledger.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace heaptape {
namespace {

// The plainest store that will do.
struct PlainStore {
  using Block = Event;
  std::map<std::uint64_t, Block> blocks;

  static Block block_of(const Event& event) { return event; }
  bool insert(std::uint64_t address, const Block& block) { return blocks.emplace(address, block).second; }
  bool take(std::uint64_t address, Block& block) {
    const auto found = blocks.find(address);
    if (found == blocks.end()) return false;
    block = found->second;
    blocks.erase(found);
    return true;
  }
};

// Writes down what it hears, with the number of the event that made the block.
struct Diary : BlockListener {
  std::vector<std::string> lines;

  void note(const char* what, std::uint64_t number) { lines.push_back(what + (" " + std::to_string(number))); }
  void collides(const Event& event) { note("collides", event.number); }
  void made(const Event& block) { note("made", block.number); }
  void ended(const Event& block, const Event&) { note("ended", block.number); }
  void given_up(const Event& block, const Event&) { note("given up", block.number); }
  void peaked(const Event& event) { note("peaked", event.number); }
};

class HeapLedgerTest : public testing::Test {
protected:
  void apply(EventKind kind, std::uint64_t address, std::uint64_t size = 0, std::uint64_t old_address = 0) {
    Event event;
    event.number = ++number_;
    event.kind = kind;
    event.address = address;
    event.size = size;
    event.old_address = old_address;
    diary.lines.clear();
    ledger.apply(event, diary);
  }
  using Lines = std::vector<std::string>;

  HeapLedger<PlainStore> ledger;
  Diary diary;

private:
  std::uint64_t number_ = 0;
};

TEST_F(HeapLedgerTest, AReallocEndsItsOldBlockBeforeItMakesTheNewOneAlsoInPlace) {
  apply(EventKind::Malloc, 0x1000, 100);
  EXPECT_EQ(diary.lines, (Lines{"made 1", "peaked 1"}));
  apply(EventKind::Realloc, 0x1000, 120, 0x1000);
  EXPECT_EQ(diary.lines, (Lines{"ended 1", "made 2", "peaked 2"}));
  EXPECT_EQ(ledger.totals().peak_bytes, 120u) << "the two never count together";
}

TEST_F(HeapLedgerTest, ABlockInTheWayIsGivenUpBeforeAllElse) {
  apply(EventKind::Malloc, 0x1000, 100);
  apply(EventKind::Malloc, 0x2000, 50);
  apply(EventKind::Realloc, 0x2000, 10, 0x1000);
  EXPECT_EQ(diary.lines, (Lines{"collides 3", "given up 2", "ended 1", "made 3"}));
  EXPECT_EQ(ledger.totals().live_bytes, 10u);
  EXPECT_EQ(ledger.totals().collisions, 1u);
}

TEST_F(HeapLedgerTest, WhatIsNotOfTheHeapIsOnlyCounted) {
  apply(EventKind::MmapAnonymous, 0x10000, 4096);
  EXPECT_TRUE(diary.lines.empty());
  EXPECT_EQ(ledger.totals().events, 1u);
  EXPECT_EQ(ledger.totals().live_bytes, 0u);
}

} // namespace
} // namespace heaptape
