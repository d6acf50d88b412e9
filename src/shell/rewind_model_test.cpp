// The shell's answers against a model that knows every life of every block and searches through all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/index/naive_findings_for_test.h"
#include "analysis/index/tape_for_test.h"
#include "base/number_text.h"
#include "shell/explain.h"
#include "shell/interpreter.h"

namespace heaptape {
namespace {

// Eight threads that make, end, move and hand over blocks, as a sane program does: nothing overlaps.
std::vector<Event> sane_events(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  std::vector<std::uint64_t> free_slots, live;
  for (std::uint64_t i = 0; i < 3000; ++i) free_slots.push_back(0x5500'0000'0000 + 256 * i);
  std::vector<Event> events;
  std::uint64_t time_us = 0;
  const auto take = [&](std::vector<std::uint64_t>& from) {
    const std::size_t at = from.size() - 1 - below(std::min<std::size_t>(from.size(), 50));
    const std::uint64_t address = from[at];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
    return address;
  };
  for (std::uint64_t number = 1; number <= count; ++number) {
    Event event;
    event.number = number;
    event.time_us = time_us += below(4);
    event.thread = ThreadId(static_cast<std::uint32_t>(1 + below(8)));
    event.stack = StackId(static_cast<std::uint32_t>(1 + below(200)));
    const std::uint64_t dice = below(100);
    if (live.empty() || (dice < 50 && !free_slots.empty())) {
      event.kind = below(3) == 0 ? EventKind::New : EventKind::Malloc;
      event.address = take(free_slots);
      event.size = below(200);
      live.push_back(event.address);
    } else if (dice < 90 || free_slots.empty()) {
      event.kind = EventKind::Free;
      event.address = take(live);
      free_slots.push_back(event.address);
    } else {
      event.kind = EventKind::Realloc;
      event.old_address = take(live);
      event.address = below(2) == 0 ? event.old_address : take(free_slots);
      if (event.address != event.old_address) free_slots.push_back(event.old_address);
      event.size = below(200);
      live.push_back(event.address);
    }
    events.push_back(event);
  }
  return events;
}

class RewindModel : public testing::Test {
protected:
  static constexpr std::size_t kEvents = 100'000;

  static void SetUpTestSuite() {
    events_ = new std::vector<Event>(sane_events(11, kEvents));
    file_ = new test::SmallTape(*events_, 300, 4096);
    lives_ = new std::vector<test::Life>;
    std::map<std::uint64_t, std::size_t> at;
    for (const Event& event : *events_) {
      const std::uint64_t ended = event.kind == EventKind::Free ? event.address : event.old_address;
      if (ended != 0) {
        test::Life& life = (*lives_)[at[ended]];
        life.ended = event.number;
        life.ended_us = event.time_us;
        life.ended_by = event.thread;
        at.erase(ended);
      }
      if (event.kind == EventKind::Free) continue;
      at[event.address] = lives_->size();
      lives_->push_back({event});
    }
  }
  static void TearDownTestSuite() {
    delete events_;
    delete file_;
    delete lives_;
  }

  RewindModel() : session_(Session::open(file_->path(), {.view = {.symbols = {.debuginfod = false}}})) {
    EXPECT_TRUE(session_.ok());
  }

  Session& session() { return session_.value(); }
  // Runs a line that must succeed.
  std::string run(const std::string& line) {
    StringPrinter out;
    const Result<LineEnd> end = run_line(session(), line, out);
    EXPECT_TRUE(end.ok()) << line << ": " << (end.ok() ? "" : end.error().sentence);
    return out.text();
  }
  static const test::Life* holder(std::uint64_t address, std::uint64_t event) {
    for (const test::Life& life : *lives_) {
      if (life.is_live_after(event) && MemoryRange{address, address + 1}.meets(life.made.address, life.made.size))
        return &life;
    }
    return nullptr;
  }
  // The one that covered the address and ended last, up to an event.
  static const test::Life* last_ended(std::uint64_t address, std::uint64_t event) {
    const test::Life* last = nullptr;
    for (const test::Life& life : *lives_) {
      if (life.ended > event || !MemoryRange{address, address + 1}.meets(life.made.address, life.made.size)) continue;
      if (last == nullptr || life.ended > last->ended) last = &life;
    }
    return last;
  }

  static std::vector<Event>* events_;
  static test::SmallTape* file_;
  static std::vector<test::Life>* lives_;
  Result<Session> session_;
};
std::vector<Event>* RewindModel::events_ = nullptr;
test::SmallTape* RewindModel::file_ = nullptr;
std::vector<test::Life>* RewindModel::lives_ = nullptr;

TEST_F(RewindModel, OwnersAndTotalsAtAThousandRandomPositionsAndAddressesAreRight) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t event = random() % (kEvents + 1);
    const std::uint64_t address = 0x5500'0000'0000 + random() % (3000 * 256);
    session().move_to({event, event == 0 ? 0 : (*events_)[event - 1].time_us});
    const std::optional<Block> found = session().heap().find_around(address);
    const test::Life* expected = holder(address, event);
    ASSERT_EQ(found.has_value(), expected != nullptr) << event << " " << std::hex << address;
    if (expected != nullptr) {
      EXPECT_EQ(found->event, expected->made.number);
      EXPECT_EQ(found->size, expected->made.size);
      EXPECT_EQ(session().heap().owner_of(*found), expected->owner());
    }
    if (i % 10 != 0) continue;
    Cost live;
    for (const test::Life& life : *lives_) {
      if (life.is_live_after(event)) live += life.cost();
    }
    EXPECT_EQ(session().heap().totals().live_bytes, live.bytes);
    EXPECT_EQ(session().heap().totals().live_blocks, live.blocks);
  }
}

TEST_F(RewindModel, ExplanationsAreRight) {
  std::mt19937_64 random(2);
  int freed = 0, live = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t event = random() % kEvents + 1;
    const std::uint64_t address = 0x5500'0000'0000 + random() % (3000 * 256);
    session().move_to({event, (*events_)[event - 1].time_us});
    const Explanation answer = explain_address(session(), address);
    if (const test::Life* expected = holder(address, event)) {
      ++live;
      EXPECT_EQ(answer.kind, AddressKind::LiveBlock);
      ASSERT_TRUE(answer.block.has_value());
      EXPECT_EQ(answer.block->event, expected->made.number);
      EXPECT_EQ(answer.offset, address - expected->made.address);
      continue;
    }
    // Behind a live block, in the bytes that malloc rounds up: that comes first.
    if (answer.kind == AddressKind::PastEnd) {
      const test::Life* owner = holder(answer.block->address, event);
      if (answer.block->ended != LifeEnd::Live) {
        EXPECT_EQ(last_ended(address, event), nullptr);
        owner = last_ended(answer.block->address, event);
      }
      ASSERT_NE(owner, nullptr);
      EXPECT_EQ(owner->made.address + owner->made.size + answer.offset, address);
      continue;
    }
    if (const test::Life* expected = last_ended(address, event)) {
      ++freed;
      EXPECT_EQ(answer.kind, AddressKind::FreedBlock) << std::hex << address << std::dec << " at " << event;
      ASSERT_TRUE(answer.block.has_value());
      EXPECT_EQ(answer.block->event, expected->made.number);
      EXPECT_EQ(answer.block->end_event, expected->ended);
      EXPECT_EQ(answer.block->ender.thread, expected->ended_by);
    } else {
      EXPECT_NE(answer.kind, AddressKind::FreedBlock);
      EXPECT_NE(answer.kind, AddressKind::LiveBlock);
    }
  }
  EXPECT_GT(freed, 10);
  EXPECT_GT(live, 10);
}

TEST_F(RewindModel, StepsWithAndWithoutAFilterLandWhereTheyShould) {
  std::mt19937_64 random(3);
  const auto matches = [](const Event& event) {
    return event.kind != EventKind::Free && event.size > 150 && event.thread == ThreadId(3);
  };
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t from = 1000 + random() % (kEvents - 2000);
    run("goto " + std::to_string(from));
    ASSERT_EQ(session().event(), from);
    std::uint64_t next = from + 1, previous = from - 1;
    while (!matches((*events_)[next - 1])) ++next;
    while (!matches((*events_)[previous - 1])) --previous;
    run("next size>150 and thread=3");
    EXPECT_EQ(session().event(), next);
    run("goto " + std::to_string(from));
    run("prev size>150 and thread=3");
    EXPECT_EQ(session().event(), previous);
    run("next 5");
    EXPECT_EQ(session().event(), previous + 5);
    run("prev 7");
    EXPECT_EQ(session().event(), previous - 2);
    EXPECT_EQ(session().time_us(), (*events_)[previous - 3].time_us);
  }
}

TEST_F(RewindModel, BlocksByFilterAreAllThatMatch) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t event = random() % kEvents + 1;
    const std::uint64_t now = (*events_)[event - 1].time_us;
    session().move_to({event, now});
    Cost expected;
    for (const test::Life& life : *lives_) {
      if (life.is_live_after(event) && life.made.size >= 100 && now - life.made.time_us > 500) expected += life.cost();
    }
    const std::string text = run("blocks size>=100 and age>500us --json");
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), static_cast<std::ptrdiff_t>(expected.blocks));
    const std::string table = run("blocks size>=100 and age>500us -n 1");
    EXPECT_NE(table.find(" in " + with_separators(expected.blocks) + " block"), std::string::npos) << table;
  }
}

TEST_F(RewindModel, TheLimitHidesWhatComesAfter) {
  Result<Session> limited = Session::open(file_->path(), {.limit = 5000});
  ASSERT_TRUE(limited.ok());
  EXPECT_EQ(limited.value().event(), 5000u);
  EXPECT_EQ(limited.value().last_event(), 5000u);
  EXPECT_FALSE(limited.value().position("5001").ok());
  StringPrinter out;
  EXPECT_FALSE(run_line(limited.value(), "next", out).ok());
}

} // namespace
} // namespace heaptape
