#include "report/map/map_picture.h"

#include <gtest/gtest.h>
#include <png.h>

#include "report/map/png_canvas.h"
#include "report/map/stroke_font.h"
#include "report/map/svg_canvas.h"

namespace heaptape {
namespace {

struct Decoded {
  std::size_t width = 0, height = 0;
  std::vector<Rgb> pixels;
  Rgb at(std::size_t x, std::size_t y) const { return pixels[y * width + x]; }
  std::size_t count(Rgb color) const {
    return static_cast<std::size_t>(std::count(pixels.begin(), pixels.end(), color));
  }
};

Decoded decode(const std::string& file) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  Decoded decoded;
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0) return decoded;
  image.format = PNG_FORMAT_RGB;
  decoded.width = image.width;
  decoded.height = image.height;
  decoded.pixels.resize(decoded.width * decoded.height);
  if (png_image_finish_read(&image, nullptr, decoded.pixels.data(), 0, nullptr) == 0) return {};
  return decoded;
}

// Four cells: full, half full, free but used before, never used.
HeapMap four_cells() {
  HeapMap map;
  map.columns = kPictureColumns;
  MapPart part;
  part.label = "main heap";
  part.range.kind = RangeKind::MainHeap;
  part.range.begin = part.begin = 0x1000;
  part.range.end = part.end = 0x1040;
  part.range.committed = 0x40;
  part.grid = {0x1000, 16, 4};
  part.cells.resize(4);
  part.cells[0].live_bytes = 16;
  part.cells[1].live_bytes = 8;
  part.used_before = {1, 1, 1, 0};
  map.parts.push_back(part);
  return map;
}

TEST(PngCanvas, DecodesToWhatWasDrawn) {
  PngCanvas canvas(20, 10);
  canvas.rectangle(2, 3, 4, 5, {10, 20, 30});
  canvas.rectangle(-5, -5, 6, 6, {1, 2, 3});       // cut off
  canvas.rectangle(19, 9, 100, 100, {40, 50, 60}); // likewise
  const Decoded decoded = decode(canvas.file().value());
  ASSERT_EQ(decoded.width, 20u);
  ASSERT_EQ(decoded.height, 10u);
  EXPECT_EQ(decoded.at(2, 3), (Rgb{10, 20, 30}));
  EXPECT_EQ(decoded.at(5, 7), (Rgb{10, 20, 30}));
  EXPECT_EQ(decoded.at(6, 7), (Rgb{255, 255, 255}));
  EXPECT_EQ(decoded.count({10, 20, 30}), 20u);
  EXPECT_EQ(decoded.count({1, 2, 3}), 1u);
  EXPECT_EQ(decoded.count({40, 50, 60}), 1u);
}

TEST(PngCanvas, TextLeavesInkWhereItStands) {
  PngCanvas canvas(100, 20);
  canvas.text(90, 15, "0x1f", {.size = 13, .color = {0, 0, 0}, .align = Align::Right});
  std::size_t left = 0, right = 0;
  for (std::size_t y = 0; y < 20; ++y)
    for (std::size_t x = 0; x < 100; ++x)
      if (canvas.pixel(x, y).red < 128) ++(x < 55 ? left : right);
  EXPECT_EQ(left, 0u);
  EXPECT_GT(right, 20u);
}

TEST(StrokeFont, EveryPrintableCharacterButTheBlankHasItsOwnStrokes) {
  const auto flat = [](char c) {
    std::vector<double> numbers;
    for (const Stroke& stroke : strokes_of(c))
      numbers.insert(numbers.end(), {stroke.x1, stroke.y1, stroke.x2, stroke.y2});
    return numbers;
  };
  EXPECT_TRUE(strokes_of(' ').empty());
  for (char a = '!'; a <= '~'; ++a) {
    EXPECT_FALSE(strokes_of(a).empty()) << a;
    for (char b = '!'; b < a; ++b) EXPECT_NE(flat(a), flat(b)) << a << b;
  }
  EXPECT_EQ(flat('\x80'), flat('?'));
}

TEST(SvgCanvas, NamesCannotBreakTheDocument) {
  SvgCanvas canvas(10, 10, "</title><script>");
  canvas.text(1, 1, "a<b>&\"\x01\xff", {});
  const std::string file = canvas.file().value();
  EXPECT_EQ(file.find("<script>"), std::string::npos);
  EXPECT_NE(file.find(">a&lt;b&gt;&amp;&quot;?"
                      "?</text>"),
            std::string::npos)
      << file;
}

TEST(DrawMap, CellsHaveTheColoursOfTheirStates) {
  const HeapMap map = four_cells();
  const MapClasses classes(map, MapBy::Density, nullptr);
  const Result<std::string> file = draw_map(map, classes, "title", PictureFormat::Png);
  ASSERT_TRUE(file.ok());
  const Decoded decoded = decode(file.value());
  ASSERT_GT(decoded.width, 0u);
  // A cell is 4 pixels wide and, in so small a picture, 12 high; each colour stands in the legend too.
  EXPECT_GE(decoded.count(density_color(1)), 48u);
  EXPECT_GE(decoded.count(density_color(0.5)), 48u);
  EXPECT_EQ(decoded.count(kUsedBeforeColor), 48u + 13 * 13);
  EXPECT_EQ(decoded.count(kNeverUsedColor), 48u + 13 * 13);
}

TEST(DrawMap, SvgHasARectanglePerRunOfEqualCells) {
  HeapMap map = four_cells();
  map.parts[0].cells[1].live_bytes = 16;
  const MapClasses classes(map, MapBy::Density, nullptr);
  const std::string file = draw_map(map, classes, "title", PictureFormat::Svg).value();
  EXPECT_NE(file.find("width=\"8\" height=\"12\" fill=\"#7a0c2e\""), std::string::npos) << file;
  EXPECT_NE(file.find(">main heap</text>"), std::string::npos);
  EXPECT_NE(file.find(">0x1000</text>"), std::string::npos);
}

TEST(DrawOverTime, UsedThenFreeIsFirstRedThenGrey) {
  HeapOverTime heap;
  heap.cell_bytes = 64;
  heap.columns = 300;
  TimedStrip strip{0x1000, 0x1040, std::vector<std::uint64_t>(300)};
  std::fill(strip.mean_bytes.begin() + 100, strip.mean_bytes.begin() + 200, 64);
  heap.strips = {strip, strip};
  heap.strips[1].begin = 0x9000'0000;
  heap.strips[1].end = 0x9000'0040;
  const Result<std::string> file = draw_over_time(heap, {"title", TimeAxis::Time, 0, 3000}, PictureFormat::Png);
  ASSERT_TRUE(file.ok());
  const Decoded decoded = decode(file.value());
  const std::size_t left = 24 + 124, y = 24 + 44 + 5; // in the upper range
  EXPECT_EQ(decoded.at(left + 50, y), kNeverUsedColor);
  EXPECT_EQ(decoded.at(left + 150, y), density_color(1));
  EXPECT_EQ(decoded.at(left + 250, y), kUsedBeforeColor);
  EXPECT_EQ(decoded.at(left + 250, y + 360), (Rgb{255, 255, 255})); // what lies between the ranges is cut out
}

TEST(DrawOverTime, NothingLiveIsRefused) {
  EXPECT_FALSE(draw_over_time({.cell_bytes = 64, .columns = 8, .strips = {}}, {}, PictureFormat::Svg).ok());
}

} // namespace
} // namespace heaptape
