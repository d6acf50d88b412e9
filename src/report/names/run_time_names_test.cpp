#include "report/names/run_time_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "report/names/stack_names.h"
#include "tape/writer.h"

namespace heaptape {
namespace {

// Stacks in code of no module, each first used at a time. Node 1 is the outermost frame of all.
class RunTimeNamesOf : public testing::Test {
protected:
  void TearDown() override { ::unlink(path_.c_str()); }

  TapeReader tape(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& frames) { // pc, first use
    auto writer = TapeWriter::create({.path = path_, .overwrite = true, .start_realtime_ns = 1, .pid = 4711});
    const Module module{.path = "/bin/app", .build_id = {}, .start = 0x1000, .end = 0x9000, .segments = {}};
    std::vector<StackNode> nodes{{StackId(), 0x2000}};
    std::vector<Mark> marks;
    for (const auto& [pc, time_us] : frames) {
      nodes.push_back({StackId(1), pc});
      marks.push_back({.name = "use", .time_us = time_us, .stack = StackId(static_cast<std::uint32_t>(nodes.size()))});
    }
    EXPECT_TRUE(writer.value().add_modules(std::vector{module}).ok());
    EXPECT_TRUE(writer.value().add_stacks(StackId(1), nodes).ok());
    EXPECT_TRUE(writer.value().add_marks(marks).ok());
    return std::move(TapeReader::open(path_)).value();
  }

  static std::string name_of(const RunTimeNames& names, std::uint32_t node) {
    for (const RunTimeCode& code : names.codes) {
      for (const RunTimeCode::Frame& frame : code.frames)
        if (frame.node == StackId(node)) return code.function;
    }
    return "";
  }
  static RunTimeNames names(const TapeReader& tape, const RunTimeText& text) {
    return name_run_time_code(tape, [&] { return text; });
  }

  std::string path_ = testing::TempDir() + "run-time-" + std::to_string(::getpid()) + ".tape";
};

TEST_F(RunTimeNamesOf, ReturnAddressBehindTheLastByteBelongsToTheFunction) {
  const TapeReader all = tape({{0x70010, 5}, {0x70000, 5}, {0x70011, 5}});
  const RunTimeNames found = names(all, {.perf_map = "70000 10 py::f:/a.py\n"});
  EXPECT_EQ(name_of(found, 2), "f");
  EXPECT_EQ(name_of(found, 3), ""); // the byte in front of it is not the function's
  EXPECT_EQ(name_of(found, 4), "");
  EXPECT_EQ(name_of(found, 1), ""); // a module's
  EXPECT_EQ(found.addresses, 3u);
  EXPECT_EQ(found.named, 1u);
}

TEST_F(RunTimeNamesOf, AddressThatIsUsedAgainHasTheNameOfItsTime) {
  const TapeReader all = tape({{0x70008, 100}, {0x70008, 900}});
  const std::string first = "70000 10 first\n", second = "70000 20 second\n";
  const RunTimeNames found = names(
      all, {.perf_map = first + second, .growth = {{0, 0}, {50, first.size()}, {500, first.size()}, {600, 1000}}});
  EXPECT_EQ(name_of(found, 2), "first");
  EXPECT_EQ(name_of(found, 3), "second");
  ASSERT_EQ(found.codes.size(), 2u);
  EXPECT_EQ(found.codes[0].to_us, 500u);
  EXPECT_EQ(found.codes[1].from_us, 500u);
}

TEST_F(RunTimeNamesOf, WithoutTimesTheLastLineCounts) {
  const TapeReader all = tape({{0x70008, 100}});
  EXPECT_EQ(name_of(names(all, {.perf_map = "70000 10 first\n70000 20 second\n"}), 2), "second");
}

TEST_F(RunTimeNamesOf, MapThatWasWrittenAtTheEndNamesAllThatCameBefore) {
  const TapeReader all = tape({{0x70008, 100}});
  EXPECT_EQ(name_of(names(all, {.perf_map = "70000 10 only\n", .growth = {{0, 0}, {5000, 0}, {5001, 15}}}), 2), "only");
}

TEST_F(RunTimeNamesOf, HostileMapInWhichEverythingCoversEverythingEnds) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> frames;
  for (std::uint64_t i = 1; i <= 2000; ++i) frames.push_back({0x70000 + i, i});
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "0 ffffffffff x\n";
  EXPECT_EQ(name_of(names(tape(frames), {.perf_map = text}), 2), "x");
}

TEST_F(RunTimeNamesOf, FramesOfOneFunctionAreOneFrameInTheModuleJit) {
  const TapeReader all = tape({{0x70008, 1}, {0x70009, 1}});
  Symbols symbols;
  for (RunTimeCode& code : names(all, {.perf_map = "70000 10 py::f:/a.py\n"}).codes)
    symbols.add_run_time(std::move(code));
  StackNames stacks(all.modules(), all.stacks(), symbols, NameForm::Short);
  const std::vector<FrameId> one = stacks.frames_of(StackId(2)), other = stacks.frames_of(StackId(3));
  ASSERT_EQ(one.size(), 2u);
  EXPECT_EQ(one[0], other[0]);
  EXPECT_EQ(stacks.function(one[0]), "f");
  EXPECT_EQ(stacks.text(stacks[one[0]].file), "/a.py");
  EXPECT_EQ(stacks.text(stacks[one[0]].module_name), "[jit]");
}

} // namespace
} // namespace heaptape
