// Questions that the program leaves in shared memory.
#include "collector/control/where_desk.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "collector/options/collector_options.h"

namespace heaptape {
namespace {

class WhereDeskTest : public testing::Test {
protected:
  static SharedMemory small_memory() {
    CollectorOptions options;
    options.slot_count = 4;
    options.ring_records = 16;
    return SharedMemory::create(options).value();
  }

  void ask(std::uint64_t address) {
    memory.header().asked_address = address;
    memory.header().question = static_cast<std::uint32_t>(wire::Question::Asked);
  }
  void wait_for_answer(WhereDesk& desk) {
    while (desk.working()) {
      desk.go_on();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(memory.header().question, static_cast<std::uint32_t>(wire::Question::Answered));
  }
  std::string answer() const {
    return std::string(reinterpret_cast<const char*>(memory.answer()), memory.header().answer_bytes);
  }

  SharedMemory memory = small_memory();
};

TEST_F(WhereDeskTest, TheCommandIsGivenTapeAndAddressAndItsOutputIsTheAnswer) {
  WhereDesk desk(memory, {"/bin/echo", "where"});
  EXPECT_FALSE(desk.asked());
  ask(0x1234);
  ASSERT_TRUE(desk.asked());
  desk.begin("a.tape");
  EXPECT_FALSE(desk.asked());
  wait_for_answer(desk);
  EXPECT_EQ(answer(), "where a.tape 0x1234\n");
  EXPECT_EQ(memory.header().answer_found, 1u);
}

TEST_F(WhereDeskTest, AStatusOtherThanZeroMeansThatItIsInNoBlock) {
  WhereDesk desk(memory, {"/bin/sh", "-c", "echo nothing; exit 1"});
  ask(1);
  desk.begin("a.tape");
  wait_for_answer(desk);
  EXPECT_EQ(answer(), "nothing\n");
  EXPECT_EQ(memory.header().answer_found, 0u);
}

TEST_F(WhereDeskTest, AnAnswerThatIsTooLongIsCut) {
  WhereDesk desk(memory, {"/bin/sh", "-c", "head -c 100000 /dev/zero"});
  ask(1);
  desk.begin("a.tape");
  wait_for_answer(desk);
  EXPECT_EQ(answer().size(), wire::kAnswerBytes);
}

TEST_F(WhereDeskTest, ACommandThatFailsOrIsMissingIsToldInASentence) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"/bin/false"}, {"/no/such/program"}, std::vector<std::string>{}}) {
    WhereDesk desk(memory, command);
    ask(1);
    desk.begin("a.tape");
    wait_for_answer(desk);
    EXPECT_TRUE(answer().starts_with("heaptape: ")) << answer();
    EXPECT_EQ(memory.header().answer_found, 0u);
  }
}

TEST_F(WhereDeskTest, ANewQuestionReplacesOneThatNobodyWaitsForAnyMore) {
  WhereDesk desk(memory, {"/bin/sh", "-c", "[ $2 = 0x1 ] && exec sleep 100; echo $2", "name"});
  ask(1);
  desk.begin("a.tape");
  ask(2);
  desk.begin("a.tape");
  wait_for_answer(desk);
  EXPECT_EQ(answer(), "0x2\n");
}

TEST_F(WhereDeskTest, WhoStillWaitsAtTheEndIsTold) {
  {
    WhereDesk desk(memory, {"/bin/sleep"});
    ask(1);
  }
  EXPECT_EQ(answer(), "heaptape: the recording is over\n");
  {
    WhereDesk desk(memory, {"/bin/sh", "-c", "exec sleep 100"});
    ask(1);
    desk.begin("a.tape");
  }
  EXPECT_EQ(answer(), "heaptape: the recording is over\n");
}

} // namespace
} // namespace heaptape
