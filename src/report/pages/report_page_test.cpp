// On a golden tape, whose figures never change.
#include "report/pages/report_page.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "report/pages/report_text.h"

namespace heaptape {
namespace {

class ReportPages : public testing::Test {
protected:
  // A copy, for opening a tape puts an index onto it.
  void SetUp() override {
    path_ = testing::TempDir() + "report_page." + std::to_string(::getpid()) + ".tape";
    std::filesystem::copy_file(HEAPTAPE_GOLDEN_TAPES "/version-1.3.tape", path_,
                               std::filesystem::copy_options::overwrite_existing);
    Result<TapeView> opened = TapeView::open(path_);
    ASSERT_TRUE(opened.ok()) << opened.error().sentence;
    view_.emplace(std::move(opened).value());
  }
  void TearDown() override { std::filesystem::remove(path_); }

  ReportPage page(ReportRequest request = {}) {
    Result<ReportPage> made = make_report(*view_, std::move(request));
    EXPECT_TRUE(made.ok()) << made.error().sentence;
    return made.ok() ? std::move(made).value() : ReportPage{};
  }
  std::string text(ReportRequest request = {}) { return report_text(*view_, page(std::move(request)), {}); }
  std::string json(ReportRequest request = {}) { return report_json(*view_, page(std::move(request))); }
  std::string sentence(ReportRequest request) {
    const Result<ReportPage> made = make_report(*view_, std::move(request));
    return made.ok() ? "no error" : made.error().sentence;
  }

  std::string path_;
  std::optional<TapeView> view_;
};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

std::vector<std::string> names(const ReportPage& page) {
  std::vector<std::string> list;
  for (const ReportTree& tree : page.trees) list.push_back(tree.name);
  return list;
}

TEST_F(ReportPages, TheFirstPageSaysWhatHappenedAndWhatIsNotKnown) {
  const std::string all = text();
  EXPECT_EQ(all.substr(0, all.find("\n\n")),
            R"(heaptape  server --port   pid 4711   1.103 s   3,000 events   3 threads
  peak   74.8 TB at 844.37 ms (event 2,174)
         74.8 TB with own mappings, at 844.37 ms (event 2,174): 74.8 TB heap + 2.11 MB mappings
  live   4.40 TB in 86 blocks at the end
  churn  170.5 TB allocated in 1,616 blocks; 46.7 % of the blocks freed within 1 ms, 14.7 % at once
  RSS    1.05 MB at its peak, at 10 us: 50.0 % files, 50.0 % other
  seen   50.0 % of the resident memory; 7 events lost; all stacks whole
         ring full: 7 events dropped because the program outran the recording (--on-full=drop)
         28 blocks freed that were not live then; 'heaptape verify' tells double frees
  ended  killed by SIGKILL: a note)");
}

TEST_F(ReportPages, BehindTheFirstPageStandTreesOfThePeakAndOfTheLeaks) {
  const std::string all = text();
  EXPECT_TRUE(contains(all, R"(
Peak, by function
  100.0 %    74.8 TB  83x  Cache::insert        cache.cpp:432,885,71,…  <- handle_2 <- Cache::insert <- handle_4
    0.0 %  405 bytes   2x  in 1 other function
)")) << all;
  EXPECT_TRUE(contains(all, R"(
Peak at 0.844368 s, event 2,174: 74.8 TB (74,766,790,734,693 bytes) in 85 blocks
-> 100.00% (74,766,790,734,288B, 83x): Cache::insert [cache.cpp:432,885,71,…]
| -> 94.12% (70,368,744,179,855B, 15x): handle_2 [server.cpp:432,22,692,…]
)")) << all;
  EXPECT_TRUE(contains(all, R"(
Still live at the end: 4.40 TB (4,398,047,048,669 bytes) in 86 blocks
-> 100.00% (4,398,047,048,539B, 85x): Cache::insert [cache.cpp:885,432,731,…]
)")) << all;
}

TEST_F(ReportPages, JsonOfTheFirstPageHasTheSameFigures) {
  const std::string all = json();
  EXPECT_TRUE(all.starts_with(
      R"({"tape":")" + path_ +
      R"(","command":"server --port","pid":4711,"duration_us":1102678,"events":3000,"threads":3,)"
      R"("peak_bytes":74766790734693,"peak_event":2174,"peak_us":844368,"live_bytes":4398047048669,"live_blocks":86,)"))
      << all;
  EXPECT_TRUE(contains(
      all,
      R"x("not_seen":["ring full: 7 events dropped because the program outran the recording (--on-full=drop)",)x"
      R"("28 blocks freed that were not live then; 'heaptape verify' tells double frees"],"odd_calls":[],"worst":{"peak":[)"))
      << all;
  EXPECT_TRUE(contains(
      all, R"("marks":[],"trees":[{"name":"peak","title":"Peak at 0.844368 s, event 2,174","bytes":74766790734693,)"
           R"("blocks":85,"tree":{"kind":"root")"))
      << all;
  EXPECT_TRUE(contains(all, R"({"name":"leaks","title":"Still live at the end","bytes":4398047048669,"blocks":86,)"));
  EXPECT_TRUE(all.ends_with(R"(],"suppressions":[]})"
                            "\n"));
}

TEST_F(ReportPages, ARequestForPartsGivesTheseAlone) {
  const ReportPage parts = page({.sections = {Section::Temporary, Section::Leaks}, .at = "peak"});
  EXPECT_FALSE(parts.overview.has_value());
  EXPECT_EQ(names(parts), (std::vector<std::string>{"leaks", "temporary", "at"}));
}

TEST_F(ReportPages, AWindowShowsWhatIsStillLiveOrEverything) {
  const ReportPage live = page({.to = "peak"});
  const ReportPage all = page({.sections = {Section::Allocations}, .to = "peak"});
  ASSERT_EQ(names(live), std::vector<std::string>{"window"});
  ASSERT_EQ(names(all), std::vector<std::string>{"window"});
  EXPECT_EQ(live.trees[0].total.bytes, 74'766'790'734'693u) << "what was live at the peak";
  EXPECT_GT(all.trees[0].total.bytes, live.trees[0].total.bytes);
}

TEST_F(ReportPages, WithAFilterOnBlocksThereAreTreesAndNoFirstPage) {
  Result<Filter> large = Filter::parse("size>1T", FilterOf::Blocks, *view_);
  ASSERT_TRUE(large.ok());
  ReportRequest request;
  request.where = std::move(large).value();
  const ReportPage trees = page(std::move(request));
  EXPECT_FALSE(trees.overview.has_value());
  EXPECT_EQ(names(trees), (std::vector<std::string>{"peak", "leaks", "allocations"}));
}

TEST_F(ReportPages, SuppressedLeaksAreCountedOnce) {
  ReportRequest request;
  ASSERT_TRUE(request.suppressions.add("leak:handle_4\nleak:nobody", "here").ok());
  const ReportPage suppressed = page(std::move(request));
  ASSERT_EQ(suppressed.suppressions.size(), 1u) << "only those of use";
  EXPECT_EQ(suppressed.suppressions[0].name, "leak:handle_4");
  EXPECT_EQ(suppressed.suppressions[0].used, (Cost{4'398'047'044'375, 62})) << "on the first page and in the tree";
  EXPECT_EQ(suppressed.trees[1].total.blocks, 86u - 62u);
}

TEST_F(ReportPages, OfARunningProgramTheLeaksAreLiveNow) {
  EXPECT_EQ(page({.sections = {Section::Leaks}, .is_running = true}).trees[0].title, "Live now");
}

TEST_F(ReportPages, WhatIsNotOnTheTapeIsSaid) {
  EXPECT_EQ(sentence({.sections = {Section::Cost}}), "this tape has no CPU profile; record with --cpu");
  EXPECT_EQ(sentence({.sections = {Section::Deltas}}), "the program set no marks on this tape");
  EXPECT_EQ(sentence({.from = "end", .to = "start"}), "--from is later than --to");
}

} // namespace
} // namespace heaptape
