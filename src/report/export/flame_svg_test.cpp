#include "report/export/flame_svg.h"

#include <gtest/gtest.h>

#include "report/export/exported_for_test.h"
#include "report/text/xml_text.h"

namespace heaptape {
namespace {

using test::ExportedTape;
using test::Stacks;
using test::Story;

std::string drawn(ExportedTape& tape, const FlameSvgOptions& options = {}) {
  return tape.text([&](const ExportInput& input, Sink& sink) { export_flame_svg(input, options, sink); });
}

// Where the box of a function begins and how wide it is, as the file says.
std::string box_of(const std::string& svg, const std::string& title) {
  const std::size_t at = svg.find("<title>" + title);
  if (at == svg.npos) return "none";
  const std::size_t x = svg.find("x=\"", at), height = svg.find(" height", at);
  return svg.substr(x, height - x);
}

TEST(FlameSvg, AFunctionIsAsWideAsItsShareAndTheLargestIsLeft) {
  Stacks stacks;
  const std::uint32_t small = stacks.stack({"main", "small"}).value;
  const std::uint32_t large = stacks.stack({"main", "large"}).value;
  ExportedTape tape(Story().by(1, small).make(16, 250).by(1, large).make(512, 750), stacks);
  const std::string svg = drawn(tape);
  EXPECT_EQ(box_of(svg, "main"), R"(x="10.00" y="80" width="1179.60")") << svg;
  EXPECT_EQ(box_of(svg, "large"), R"(x="10.00" y="98" width="884.60")");
  EXPECT_EQ(box_of(svg, "small"), R"(x="895.00" y="98" width="294.60")");
  EXPECT_NE(svg.find("750 bytes, 75.0 %</title>"), svg.npos);
  EXPECT_NE(svg.find("live when the heap was largest: 1.00 kB (1,000 bytes)"), svg.npos);
  EXPECT_EQ(box_of(drawn(tape, {.blocks = true}), "large"), R"(x="10.00" y="98" width="589.60")");
}

TEST(FlameSvg, WhatWouldBeTooNarrowToSeeIsLeftOut) {
  Stacks stacks;
  const std::uint32_t tiny = stacks.stack({"main", "tiny"}).value;
  const std::uint32_t large = stacks.stack({"main", "large"}).value;
  ExportedTape tape(Story().by(1, tiny).make(16, 1).by(1, large).make(512, 1'000'000), stacks);
  const std::string svg = drawn(tape);
  EXPECT_EQ(box_of(svg, "tiny"), "none");
  EXPECT_NE(box_of(svg, "large"), "none");
}

TEST(FlameSvg, ATapeWithoutThatQuantityIsAnEmptyGraph) {
  Stacks stacks;
  ExportedTape tape(Story().by(1, stacks.stack({"main"}).value).make(16, 100), stacks);
  EXPECT_EQ(box_of(drawn(tape, {.quantity = Quantity::Temporary}), "main"), "none");
}

TEST(FlameSvg, NamesCannotBreakTheDocument) {
  Stacks stacks;
  ExportedTape tape(Story().by(1, stacks.stack({"f<T&>]]>\x01\xff"}).value).make(16, 100), stacks);
  const std::string svg = drawn(tape);
  EXPECT_NE(svg.find("<title>f&lt;T&amp;&gt;]]&gt;??"), svg.npos) << svg;
  EXPECT_NE(svg.find("a&lt;/script&gt; b"), svg.npos); // the command
}

TEST(XmlText, KeepsWellFormedCharactersAndNothingElse) {
  EXPECT_EQ(xml_escaped("a<b>&\"c"), "a&lt;b&gt;&amp;&quot;c");
  EXPECT_EQ(xml_escaped("größe \xe2\x82\xac \xf0\x9f\x8d\x95"), "größe \xe2\x82\xac \xf0\x9f\x8d\x95");
  EXPECT_EQ(xml_escaped("\x1b\x7f\n"), "???");
  EXPECT_EQ(xml_escaped("\xc2\x9b"), "??");           // a control character of eight bits
  EXPECT_EQ(xml_escaped("\xed\xa0\x80"), "???");      // half a surrogate
  EXPECT_EQ(xml_escaped("\xef\xbf\xbf"), "???");      // not a character
  EXPECT_EQ(xml_escaped("\xc0\xaf\xe2\x82"), "????"); // too long, cut off
}

} // namespace
} // namespace heaptape
