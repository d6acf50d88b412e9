#include "report/export/call_graph.h"

#include <gtest/gtest.h>

#include "report/names/stacks_for_test.h"

namespace heaptape {
namespace {

std::string drawn(test::Stacks& program, const std::vector<StackCost>& costs, const CallGraphOptions& options = {}) {
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  std::string text;
  Sink sink([&](std::string_view bytes) -> Result<> {
    text += bytes;
    return Unit{};
  });
  export_call_graph(names, costs, options, sink);
  EXPECT_TRUE(sink.finish().ok());
  return text;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(CallGraph, HasABoxPerFunctionAndAnArrowPerCall) {
  test::Stacks program;
  const std::string text = drawn(program, {{.stack = program.stack({"main", "one"}), .cost = {1'000'000, 100}},
                                           {.stack = program.stack({"main", "two"}), .cost = {2'000'000, 200}}});
  EXPECT_EQ(count(text, "[label=\""), 5u) << text; // three boxes, two arrows
  EXPECT_EQ(count(text, " -> "), 2u);
  EXPECT_NE(text.find(R"x("two\nprogram\n2.00 s (66.7 %)")x"), std::string::npos) << text;
  EXPECT_NE(text.find(R"x("main\nprogram\n0 us (0.0 %)\nof 3.00 s (100.0 %)")x"), std::string::npos) << text;
}

TEST(CallGraph, ARecursionCountsOnceAndWhatIsSmallIsLeftOut) {
  test::Stacks program;
  const std::string text = drawn(program, {{.stack = program.stack({"main", "f", "f", "f"}), .cost = {1'000'000, 100}},
                                           {.stack = program.stack({"main", "rare"}), .cost = {10, 1}}});
  EXPECT_NE(text.find(R"x("f\nprogram\n1.00 s (100.0 %)")x"), std::string::npos) << text;
  EXPECT_EQ(text.find("rare"), std::string::npos);
}

TEST(CallGraph, NamesCannotLeaveTheirQuotes) {
  test::Stacks program;
  const std::string text =
      drawn(program, {{.stack = program.stack({"a\"b\\|\nc"}), .cost = {10, 1}}}, {.title = "\"]; x"});
  EXPECT_NE(text.find(R"x(label="\"]; x")x"), std::string::npos) << text;
  EXPECT_NE(text.find(R"x(label="a\"b\\??c)x"), std::string::npos) << text;
}

} // namespace
} // namespace heaptape
