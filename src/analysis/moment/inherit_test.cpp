#include "analysis/moment/inherit.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "analysis/heap/heap_model.h"
#include "analysis/moment/address_facts.h"
#include "tape/writer.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kForked = 5'000'000; // ns

Event made(std::uint64_t number, std::uint64_t address, std::uint64_t size, std::uint32_t stack) {
  Event event;
  event.number = number;
  event.time_us = number * 1000;
  event.kind = EventKind::Malloc;
  event.address = address;
  event.size = size;
  event.stack = StackId(stack);
  event.thread = ThreadId(1);
  return event;
}
Event freed(std::uint64_t number, std::uint64_t address) {
  Event event = made(number, address, 0, 0);
  event.kind = EventKind::Free;
  return event;
}

class InheritTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "inherit.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string& name) const { return folder + "/" + name; }

  void write(const std::string& name, std::uint32_t pid, const Meta& meta, const std::vector<StackNode>& nodes,
             const std::vector<Event>& events, const std::vector<ForkMade>& forks) const {
    TapeWriter writer = TapeWriter::create({.path = path(name), .pid = pid}).value();
    ASSERT_TRUE(writer.add_meta(meta).ok() && writer.add_stacks(StackId(1), nodes).ok());
    EventEncoder encoder;
    HeapModel model;
    for (const Event& event : events) encoder.add(event, model.apply(event));
    ASSERT_TRUE(writer.add_events(encoder).ok() && writer.add_forks(forks).ok());
    Summary summary;
    summary.events = events.size();
    summary.unknown_releases = model.totals().unknown_releases;
    ASSERT_TRUE(writer.add_summary(summary).ok());
  }
  static Meta forked_by(std::uint32_t pid, const std::string& tape, std::uint64_t when) {
    return {{"started_by", "fork"},
            {"parent_pid", std::to_string(pid)},
            {"parent_tape", tape},
            {"started_monotonic_ns", std::to_string(when)}};
  }
  OpenParent opener() const {
    return [this](const ForkOrigin& origin) { return TapeReader::open(path(origin.parent_tape)); };
  }
  // Process 10 makes three blocks, frees one, forks, and goes on.
  void write_parent() const {
    write("parent.tape", 10, {{"start_monotonic_ns", "1000"}}, {{StackId(), 0x100}, {StackId(1), 0x200}},
          {made(1, 0xa000, 16, 1), made(2, 0xb000, 100, 2), made(3, 0xc000, 7, 2), freed(4, 0xa000),
           made(5, 0xd000, 9, 1)},
          {{.started_ns = kForked, .event = 4, .time_us = 4500}});
  }

  std::string folder;
};

TEST_F(InheritTest, AForkedChildKnowsTheBlocksOfItsParent) {
  write_parent();
  write("child.tape", 11, forked_by(10, "parent.tape", kForked), {{StackId(), 0x100}, {StackId(), 0x999}},
        {made(1, 0xe000, 5, 2), freed(2, 0xb000), made(3, 0xb000, 3, 1), freed(4, 0xb000)}, {});
  ASSERT_TRUE(append_inherited(path("child.tape"), opener()).value());
  const TapeReader tape = TapeReader::open(path("child.tape")).value();
  EXPECT_TRUE(tape.damage().empty());
  EXPECT_EQ(tape.inheritance(), (Inheritance{.parent_pid = 10,
                                             .parent_event = 4,
                                             .blocks = 2,
                                             .bytes = 107,
                                             .released_blocks = 1,
                                             .released_bytes = 100,
                                             .parent_tape = "parent.tape"}));
  // The outermost frame was on the tape, the inner one is new.
  ASSERT_EQ(tape.stacks().size(), 4u);
  EXPECT_EQ(tape.stacks()[3], (StackNode{StackId(1), 0x200}));
  EXPECT_EQ(tape.inherited_blocks(), (std::vector<InheritedBlock>{{0xb000, 100, StackId(3), EventKind::Malloc, 2500},
                                                                  {0xc000, 7, StackId(3), EventKind::Malloc, 1500}}));
  EXPECT_FALSE(append_inherited(path("child.tape"), opener()).value()) << "once is enough";

  const AddressFacts at_start = find_address_facts(tape, {.address = 0xb010, .event = 1});
  ASSERT_NE(at_start.last(), nullptr);
  EXPECT_TRUE(at_start.last()->inherited && at_start.last()->ended == LifeEnd::Live);
  const AddressFacts later = find_address_facts(tape, {.address = 0xb010, .event = 4});
  ASSERT_TRUE(later.freed.has_value());
  EXPECT_TRUE(later.freed->inherited && later.freed->end_event == 2);
  EXPECT_TRUE(later.bad_releases.empty());
}

TEST_F(InheritTest, AGrandchildInheritsFromBothEvenWhileTheChildHasNoListYet) {
  write_parent();
  constexpr std::uint64_t kAgain = kForked + 3'000'000;
  write("child.tape", 11, forked_by(10, "parent.tape", kForked), {{StackId(), 0x300}},
        {freed(1, 0xc000), made(2, 0xe000, 5, 1)}, {{.started_ns = kAgain, .event = 2, .time_us = 3000}});
  write("grandchild.tape", 12, forked_by(11, "child.tape", kAgain), {}, {}, {});
  ASSERT_TRUE(append_inherited(path("grandchild.tape"), opener()).value());
  const auto blocks = TapeReader::open(path("grandchild.tape")).value().inherited_blocks();
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].address, 0xb000u);
  EXPECT_EQ(blocks[0].age_us, 2500u + 3000u);
  EXPECT_EQ(blocks[1].address, 0xe000u);
  EXPECT_EQ(blocks[1].age_us, 1000u);
}

TEST_F(InheritTest, AChildThatStillRunsKnowsThemWithoutAChangeToItsTape) {
  write_parent();
  write("child.tape", 11, forked_by(10, "parent.tape", kForked), {{StackId(), 0x100}}, {freed(1, 0xb000)}, {});
  const auto size = std::filesystem::file_size(path("child.tape"));
  TapeReader tape = TapeReader::open(path("child.tape")).value();
  ASSERT_TRUE(inherit_for_now(tape, path("child.tape")).value());
  EXPECT_EQ(tape.inheritance()->released_blocks, 1u);
  EXPECT_EQ(tape.inherited_blocks(), (std::vector<InheritedBlock>{{0xb000, 100, StackId(2), EventKind::Malloc, 2500},
                                                                  {0xc000, 7, StackId(2), EventKind::Malloc, 1500}}));
  EXPECT_EQ(tape.inherited_blocks(0xb010, 0xb011).size(), 1u);
  EXPECT_EQ(tape.stacks().back(), (StackNode{StackId(1), 0x200}));
  EXPECT_FALSE(inherit_for_now(tape, path("child.tape")).value()) << "once is enough";
  EXPECT_EQ(std::filesystem::file_size(path("child.tape")), size);
}

TEST_F(InheritTest, OfTooManyTheReleasedAndTheLargestAreListed) {
  write("parent.tape", 10, {{"start_monotonic_ns", "1000"}}, {{StackId(), 0x100}},
        {made(1, 0xa000, 16, 1), made(2, 0xb000, 100, 1), made(3, 0xc000, 7, 1), made(4, 0xd000, 9, 1)},
        {{.started_ns = kForked, .event = 4, .time_us = 4500}});
  write("child.tape", 11, forked_by(10, "parent.tape", kForked), {}, {freed(1, 0xc000)}, {});
  ASSERT_TRUE(append_inherited(path("child.tape"), opener(), 2).value());
  const TapeReader tape = TapeReader::open(path("child.tape")).value();
  EXPECT_EQ(tape.inheritance()->blocks, 4u);
  EXPECT_EQ(tape.inheritance()->bytes, 132u);
  EXPECT_EQ(tape.inheritance()->left_out, 2u);
  std::vector<std::uint64_t> listed;
  for (const InheritedBlock& block : tape.inherited_blocks()) listed.push_back(block.address);
  EXPECT_EQ(listed, (std::vector<std::uint64_t>{0xb000, 0xc000}));
}

TEST_F(InheritTest, AnotherTapeOfThatNameAndATapeWithoutTheForkGiveNothing) {
  write_parent();
  write("child.tape", 11, forked_by(9, "parent.tape", kForked), {}, {freed(1, 0xb000)}, {});
  EXPECT_FALSE(append_inherited(path("child.tape"), opener()).ok());
  write("other.tape", 11, forked_by(10, "gone.tape", kForked), {}, {freed(1, 0xb000)}, {});
  EXPECT_FALSE(append_inherited(path("other.tape"), opener()).ok());
  write("alone.tape", 11, {}, {}, {freed(1, 0xb000)}, {});
  EXPECT_FALSE(append_inherited(path("alone.tape"), opener()).value());
}

TEST_F(InheritTest, WithoutARecordOfTheForkItsTimeDecides) {
  write_parent();
  const TapeReader parent = TapeReader::open(path("parent.tape")).value();
  const auto fork = find_fork(parent, {.parent_pid = 10, .parent_tape = "parent.tape", .started_ns = 2'600'000});
  ASSERT_TRUE(fork.has_value());
  EXPECT_EQ(fork->event, 2u);
}

} // namespace
} // namespace heaptape
