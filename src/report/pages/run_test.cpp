#include "report/pages/run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "report/pages/run_text.h"

namespace heaptape {
namespace {

RunProcess program(std::uint32_t pid, const char* name, std::uint64_t peak, std::optional<std::size_t> parent = {}) {
  RunProcess process;
  process.pid = pid;
  process.name = name;
  process.tape = std::string("run/") + name + ".tape";
  process.finished = true;
  process.summary.ending = Ending::Exited;
  process.summary.events = 10;
  process.summary.peak_bytes = peak;
  process.parent = parent;
  return process;
}

Run compiler() {
  Run run{.folder = "run"};
  run.programs = {program(1, "g++", 100), program(2, "cc1plus", 5000, 0), program(3, "as", 700, 0)};
  run.main = main_of_run(run);
  return run;
}

TEST(RunTree, ChildrenStandBelowTheirParentsAndTheOneThatIsOpenedIsMarked) {
  EXPECT_EQ(run_tree_text(compiler(), 0, {}), "  g++        1  10 events  peak 100 bytes  exit 0\n"
                                              "    cc1plus  2  10 events  peak   5.00 kB  exit 0  <-\n"
                                              "    as       3  10 events  peak 700 bytes  exit 0\n");
}

TEST(RunTree, WithTooManyLinesTheLargestStay) {
  EXPECT_EQ(run_tree_text(compiler(), 2, {}).find("cc1plus"), std::string::npos); // no room for it and its parent
  auto run = compiler();
  for (std::uint32_t pid = 4; pid < 40; ++pid) run.programs.push_back(program(pid, "small", 1, 0));
  const std::string text = run_tree_text(run, 5, {});
  EXPECT_NE(text.find("cc1plus"), std::string::npos);
  EXPECT_NE(text.find("and 35 more processes: heaptape info run"), std::string::npos) << text;
}

TEST(RunTree, OneEventIsNotOneEvents) {
  auto run = compiler();
  run.programs[0].summary.events = 1;
  EXPECT_TRUE(run_tree_text(run, 0, {}).starts_with("  g++        1    1 event  peak 100 bytes  exit 0\n"));
}

// A process whose tape lost its first bytes was missing from the tree without a word.
TEST(RunTree, TapesThatCannotBeReadAreNamed) {
  auto run = compiler();
  run.unreadable = {"run/ld.77.tape"};
  EXPECT_TRUE(run_tree_text(run, 0, {}).ends_with("\n  and 1 tape that cannot be read: ld.77.tape\n"));
  for (const char* name : {"b", "c\033", "d"}) run.unreadable.push_back(std::string("run/") + name);
  EXPECT_TRUE(run_tree_text(run, 0, {}).ends_with(": ld.77.tape, b, c\\x1b, …\n")) << run_tree_text(run, 0, {});
  EXPECT_NE(run_json(run).find("\"unreadable\":[\"run/ld.77.tape\","), std::string::npos);
}

TEST(RunTree, ParentsThatMakeACircleAreShownOnce) {
  auto run = compiler();
  run.programs[0].parent = 1;
  const std::string text = run_tree_text(run, 0, {});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  (void)run_tree_text(run, 2, {});
}

TEST(MainOfRun, MemoryThatAProcessMappedItselfCounts) {
  auto run = compiler();
  run.programs[2].summary.peak_bytes = 6000;
  EXPECT_EQ(main_of_run(run), 2u);
  run.programs[1].anonymous_bytes = std::uint64_t{200} << 20;
  EXPECT_EQ(main_of_run(run), 1u);
}

TEST(RunTree, ResidentMemoryHasAColumnWhereItIsKnown) {
  auto run = compiler();
  run.programs[1].rss_bytes = 7'000'000;
  EXPECT_EQ(run_tree_text(run, 0, {}), "  g++        1  10 events  peak 100 bytes               exit 0\n"
                                       "    cc1plus  2  10 events  peak   5.00 kB  rss 7.00 MB  exit 0  <-\n"
                                       "    as       3  10 events  peak 700 bytes               exit 0\n");
}

TEST(MainOfRun, IsTheLargestOfThoseThatBecameNoOther) {
  auto run = compiler();
  EXPECT_EQ(main_of_run(run), 1u);
  EXPECT_EQ(main_of_run(run, "as"), 2u);
  EXPECT_EQ(main_of_run(run, "none"), 1u);
  run.programs[1].became = 2;
  EXPECT_EQ(main_of_run(run), 2u);
}

TEST(FindInRun, ByNameAndByProcessId) {
  EXPECT_EQ(find_in_run(compiler(), "as").value(), 2u);
  EXPECT_EQ(find_in_run(compiler(), "2").value(), 1u);
  EXPECT_EQ(find_in_run(compiler(), "ld").error().sentence,
            "no process 'ld' in run; it has as, cc1plus, g++; 'heaptape info run' lists them");
}

TEST(RunLine, NonsenseIsNoLine) {
  const auto line = parse_run_line(R"({"end":12,"pid":34,"name":"x"})");
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->is_end);
  EXPECT_EQ(line->collector, 12);
  EXPECT_EQ(line->pid, 34);
  for (const char* text :
       {"", "{", R"({"start":x,"pid":1})", R"({"start":1,"pid":-1})", R"({"start":99999999999,"pid":1})"})
    EXPECT_FALSE(parse_run_line(text)) << text;
}

} // namespace
} // namespace heaptape
