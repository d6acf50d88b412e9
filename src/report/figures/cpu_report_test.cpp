#include "report/figures/cpu_report.h"

#include <gtest/gtest.h>

#include "report/figures/tree_text.h"
#include "report/names/recorder_code.h"
#include "report/names/stacks_for_test.h"

namespace heaptape {
namespace {

using test::Stacks;

TEST(CpuTimeText, HasNoMoreDigitsThanSamplesTell) {
  EXPECT_EQ(cpu_time_text(0), "0 us");
  EXPECT_EQ(cpu_time_text(200), "200 us");
  EXPECT_EQ(cpu_time_text(4'000), "4.0 ms");
  EXPECT_EQ(cpu_time_text(350'000), "350 ms");
  EXPECT_EQ(cpu_time_text(12'345'678), "12.35 s");
}

TEST(CpuTree, ShowsTimeInPlaceOfBytesAndBlocks) {
  Stacks program;
  const std::vector<StackTime> times{{program.stack({"main", "two"}), ThreadId(1), {2'000'000, 200, 200}},
                                     {program.stack({"main", "one"}), ThreadId(1), {1'000'000, 100, 90}}};
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  TreeTextOptions options{.tree = {.direction = TreeDirection::TopDown}, .unit = TreeUnit::CpuTime};
  EXPECT_EQ(tree_text(names, {}, make_call_tree(names, cpu_costs(times), options.tree), options),
            "-> 100.00% (3.00 s): main [program]\n"
            "  -> 66.67% (2.00 s): two [program]\n"
            "  -> 33.33% (1.00 s): one [program]\n");
  JsonWriter json;
  write_tree_json(json, names, {}, make_call_tree(names, cpu_costs(times), options.tree), TreeUnit::CpuTime);
  EXPECT_TRUE(json.text().starts_with(R"({"kind":"root","us":3000000,"periods":300,)")) << json.text();
}

TEST(RecorderCode, IsToldByTheFileAndAStackByWhereItEnds) {
  Stacks program;
  const StackId outside = program.stack({"main"});
  program.add_module("/usr/lib/x86_64-linux-gnu/heaptape/libheaptape.so");
  program.add_function("malloc");
  const StackId hook = program.stack({"main", "malloc"});
  program.add_module("/lib/x86_64-linux-gnu/libc.so.6");
  program.add_function("_int_malloc");
  const StackId inside = program.stack({"main", "malloc", "_int_malloc"});
  const RecorderCode recorder(program.modules, program.stacks);
  EXPECT_FALSE(recorder.holds_innermost(outside));
  EXPECT_TRUE(recorder.holds_innermost(hook));
  EXPECT_FALSE(recorder.holds_innermost(inside)); // the allocator's own time, though a hook called it
  EXPECT_FALSE(recorder.holds_innermost(StackId(99)));
}

} // namespace
} // namespace heaptape
