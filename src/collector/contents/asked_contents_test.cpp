#include "collector/contents/asked_contents.h"

#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include <gtest/gtest.h>

namespace heaptape {
namespace {

constexpr auto kNone = static_cast<std::uint32_t>(wire::Question::None);
constexpr auto kAsked = static_cast<std::uint32_t>(wire::Question::Asked);
constexpr auto kTaken = static_cast<std::uint32_t>(wire::Question::Taken);
constexpr auto kAnswered = static_cast<std::uint32_t>(wire::Question::Answered);

struct AskedContentsTest : testing::Test {
  std::unique_ptr<wire::Header> header = std::make_unique<wire::Header>();
  wire::ContentsQuestion& question = header->contents;
  AskedContents asked{*header};

  void ask(const char* name, std::uint32_t tid) {
    std::strncpy(question.name, name, sizeof question.name);
    question.reason = static_cast<std::uint32_t>(wire::ContentsReason::Crash);
    question.asker = tid;
    question.registers[static_cast<std::size_t>(wire::AskerRegister::Rip)] = 0x1234;
    question.state = kAsked;
  }
};

TEST_F(AskedContentsTest, AThreadThatCrashesComesWithItsSignal) {
  question.signal = SIGSEGV;
  ask("crash SIGSEGV", 77);
  const std::optional<AskedContents::Question> taken = asked.take();
  ASSERT_TRUE(taken);
  std::vector<ThreadState> threads{{.tid = 76}, {.tid = 77}};
  taken->thread.put_into(threads, ::getpid());
  EXPECT_EQ(threads[0].signal, 0U);
  EXPECT_EQ(threads[1].signal, static_cast<std::uint32_t>(SIGSEGV));
}

TEST_F(AskedContentsTest, WhatIsLeftOverOfACrashIsNotOfALaterQuestion) {
  question.signal = SIGSEGV;
  ask("by a call", 77);
  question.reason = static_cast<std::uint32_t>(wire::ContentsReason::Call);
  const std::optional<AskedContents::Question> taken = asked.take();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->thread.signal, 0U);
}

TEST_F(AskedContentsTest, AQuestionIsTakenOnceAndAnsweredWithANumber) {
  EXPECT_FALSE(asked.take());
  ask("crash", 77);
  const std::optional<AskedContents::Question> taken = asked.take();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->name, "crash");
  EXPECT_EQ(taken->reason, wire::ContentsReason::Crash);
  EXPECT_EQ(taken->thread.tid, 77u);
  EXPECT_FALSE(asked.take());
  EXPECT_EQ(question.state, kTaken);
  asked.answer(taken->thread, 3);
  EXPECT_EQ(question.state, kAnswered);
  EXPECT_EQ(question.number, 3u);
}

TEST_F(AskedContentsTest, OnlyAnOpenQuestionHasABeat) {
  asked.beat();
  EXPECT_EQ(question.beat, 0u);
  ask("one", 1);
  const auto taken = asked.take();
  asked.beat();
  EXPECT_EQ(question.beat, 1u);
  asked.answer(taken->thread, 1);
  asked.beat();
  EXPECT_EQ(question.beat, 1u);
}

TEST_F(AskedContentsTest, AnAnswerThatComesTooLateIsNotThatOfTheNextQuestion) {
  ask("one", 1);
  const auto first = asked.take();
  ask("two", 2); // the first was given up
  const auto second = asked.take();
  asked.answer(first->thread, 1);
  EXPECT_EQ(question.state, kTaken);
  asked.answer(second->thread, 2);
  EXPECT_EQ(question.number, 2u);
}

TEST_F(AskedContentsTest, WhoHasGivenUpIsNotAnswered) {
  ask("one", 1);
  const auto taken = asked.take();
  question.state = kNone;
  asked.answer(taken->thread, 1);
  EXPECT_EQ(question.state, kNone);
}

TEST_F(AskedContentsTest, WhenThereAreNoMoreSnapshotsNobodyWaits) {
  ask("one", 1);
  ASSERT_TRUE(asked.take());
  asked.refuse();
  EXPECT_EQ(question.state, kAnswered);
  EXPECT_EQ(question.number, 0u);
  ask("two", 2);
  asked.refuse();
  EXPECT_EQ(question.state, kAnswered);
}

TEST_F(AskedContentsTest, ANameWithoutAnEndEndsWithItsField) {
  std::memset(question.name, 'x', sizeof question.name);
  question.state = kAsked;
  EXPECT_EQ(asked.take()->name, std::string(sizeof question.name, 'x'));
}

TEST_F(AskedContentsTest, SignalsAreSeenOnceHoweverManyHaveCome) {
  EXPECT_FALSE(asked.take_signal());
  question.last_signal = SIGUSR2;
  question.signals += 3;
  EXPECT_EQ(asked.take_signal(), SIGUSR2);
  EXPECT_FALSE(asked.take_signal());
}

TEST_F(AskedContentsTest, OnlyTheThreadThatAskedGetsItsRegistersBack) {
  ask("one", 2);
  const auto taken = asked.take();
  std::vector<ThreadState> threads(2);
  for (std::uint32_t tid : {1u, 2u}) {
    threads[tid - 1].tid = tid;
    threads[tid - 1].stopped = true;
    threads[tid - 1].extended.resize(576, std::byte{1});
  }
  taken->thread.put_into(threads, 0);
  EXPECT_EQ(threads[0].registers[ThreadState::Rip], 0u);
  EXPECT_EQ(threads[1].registers[ThreadState::Rip], 0x1234u);
  EXPECT_TRUE(threads[1].extended.empty()) << "nothing was saved: they hold nothing";
  EXPECT_FALSE(threads[0].extended.empty());
}

} // namespace
} // namespace heaptape
