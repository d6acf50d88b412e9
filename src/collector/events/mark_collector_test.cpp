#include "collector/events/mark_collector.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>

namespace heaptape {
namespace {

RingItem item_of(EventKind kind, std::uint64_t address, std::uint64_t size, std::uint32_t slot) {
  RingItem item{};
  item.word0 = static_cast<std::uint64_t>(kind);
  item.word1 = address | (size >> 32) << 48;
  item.word2 = size & 0xffff'ffff;
  item.slot = slot;
  return item;
}

void write_text(MarkCollector& marks, std::string_view text, std::uint32_t slot = 0) {
  for (std::size_t at = 0; at < text.size(); at += MarkCollector::kChunk) {
    char chunk[16] = {};
    const std::string_view part = text.substr(at, MarkCollector::kChunk);
    std::memcpy(chunk, part.data(), part.size());
    std::uint64_t address = 0, size = 0;
    std::memcpy(&address, chunk, 6);
    std::memcpy(&size, chunk + 6, 6);
    marks.add_text(item_of(EventKind::MarkText, address, size, slot));
  }
}

void end_mark(MarkCollector& marks, std::size_t length, std::uint32_t slot = 0, MarkKind kind = MarkKind::Mark) {
  marks.add(item_of(EventKind::Mark, length, static_cast<std::uint64_t>(kind), slot), {.event = 7});
}

TEST(MarkCollector, TextComesInPieces) {
  MarkCollector marks;
  const std::string_view text = "the cache is warm now, \xff\x80 more";
  write_text(marks, text);
  end_mark(marks, text.size(), 0, MarkKind::Snapshot);
  const std::vector<Mark> all = marks.take();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, text);
  EXPECT_EQ(all[0].event, 7u);
  EXPECT_EQ(all[0].kind, MarkKind::Snapshot);
  EXPECT_TRUE(marks.take().empty());
}

TEST(MarkCollector, AMarkOfASignalHandlerInTheMiddleOfAnotherLeavesItWhole) {
  MarkCollector marks;
  write_text(marks, "outer mark t");
  write_text(marks, "handler");
  end_mark(marks, 7);
  write_text(marks, "ext");
  end_mark(marks, 15);
  const std::vector<Mark> all = marks.take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "handler");
  EXPECT_EQ(all[1].name, "outer mark text");
}

TEST(MarkCollector, ThreadsDoNotMix) {
  MarkCollector marks;
  write_text(marks, "one", 1);
  write_text(marks, "two", 2);
  end_mark(marks, 3, 1);
  end_mark(marks, 3, 2);
  const std::vector<Mark> all = marks.take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "one");
  EXPECT_EQ(all[1].name, "two");
}

TEST(MarkCollector, AMarkWhoseTextWasLostHasWhatThereIs) {
  MarkCollector marks;
  end_mark(marks, 100);
  write_text(marks, "half of it");
  end_mark(marks, std::size_t{1} << 40);
  const std::vector<Mark> all = marks.take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "");
  EXPECT_EQ(all[1].name.substr(0, 10), "half of it");
  EXPECT_LE(all[1].name.size(), MarkCollector::kLongest);
}

std::vector<Mark> marks_of(std::string_view text, MarkKind kind) {
  MarkCollector marks;
  write_text(marks, text);
  end_mark(marks, text.size(), 0, kind);
  return marks.take();
}

TEST(MarkCollector, ValueAndDetailStandBehindTheName) {
  using namespace std::string_literals;
  const std::vector<Mark> whole = marks_of("queue\0\1\x2a\0\0\0\0\0\0\0of the server"s, MarkKind::Number);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].name, "queue");
  EXPECT_EQ(whole[0].detail, "of the server");
  EXPECT_EQ(whole[0].value, MarkValue::Integer);
  EXPECT_EQ(whole[0].integer, 42);
  EXPECT_EQ(whole[0].kind, MarkKind::Number);
  const std::vector<Mark> cut = marks_of("queue\0\1\x2a"s, MarkKind::Number);
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut[0].name, "queue");
  EXPECT_EQ(cut[0].value, MarkValue::None);
}

TEST(MarkCollector, ALongTextIsKeptUpToTheLimit) {
  const std::string text(MarkCollector::kLongest, 'x');
  const std::vector<Mark> all = marks_of(text, MarkKind::Text);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, text);
}

TEST(MarkCollector, ASortThatNobodyKnowsIsAMarkAndAMereQuestionIsNone) {
  EXPECT_EQ(marks_of("x", static_cast<MarkKind>(99)).at(0).kind, MarkKind::Mark);
  MarkCollector marks;
  marks.add(item_of(EventKind::Mark, 0, wire::kQuestionOnly | std::uint64_t{7} << 16, 0), {});
  EXPECT_TRUE(marks.take().empty());
}

TEST(MarkCollector, NamesOfThreadsAreNoMarks) {
  MarkCollector marks;
  write_text(marks, "the reader", 3);
  RingItem item = item_of(EventKind::ThreadName, 10, 0, 3);
  item.thread = 5;
  marks.add_thread_name(item);
  EXPECT_TRUE(marks.take().empty());
  const std::vector<MarkCollector::ThreadName> names = marks.take_thread_names();
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].thread, ThreadId(5));
  EXPECT_EQ(names[0].name, "the reader");
}

} // namespace
} // namespace heaptape
