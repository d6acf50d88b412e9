#include "report/export/flame_svg.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/number_text.h"
#include "report/export/page_texts.h"
#include "report/figures/cpu_report.h"
#include "report/text/xml_text.h"

namespace heaptape {
namespace {

constexpr double kWidth = 1200;
constexpr double kMargin = 10;
constexpr double kRow = 18;
constexpr double kTop = 62;
constexpr double kLetter = 6.65; // of the text in a box, in pixels
constexpr double kNarrowest = 0.2;
constexpr std::size_t kMostNameBytes = 300;

struct Place {
  std::string_view text{}; // the function, or what stands for it
  std::string_view module{};
  std::uint64_t value = 0; // with all that is below
  std::map<std::string_view, std::size_t> below{};
};

class Graph {
public:
  explicit Graph(StackNames& names) : names_(names), places_(1) {}

  void add(StackId stack, std::uint64_t value) {
    if (value == 0) return;
    frames_.clear();
    const StackEnd end = names_.each_frame(stack, [&](FrameId frame) { frames_.push_back(frame); });
    std::size_t at = 0;
    places_[0].value += value;
    if (const auto text = stand_in(end, !frames_.empty()); !text.empty()) at = go(at, text, {}, value);
    for (std::size_t i = frames_.size(); i-- > 0;)
      at = go(at, names_.function(frames_[i]), names_.text(names_[frames_[i]].module_name), value);
  }
  const Place& operator[](std::size_t place) const { return places_[place]; }

  // The largest first, so that what matters stands on the left.
  std::vector<std::size_t> children(std::size_t place) const {
    std::vector<std::size_t> list;
    for (const auto& [name, child] : places_[place].below) list.push_back(child);
    std::stable_sort(list.begin(), list.end(),
                     [&](std::size_t a, std::size_t b) { return places_[a].value > places_[b].value; });
    return list;
  }

private:
  std::size_t go(std::size_t from, std::string_view text, std::string_view module, std::uint64_t value) {
    const auto [found, added] = places_[from].below.try_emplace(text, places_.size());
    const std::size_t to = found->second;
    if (added) places_.push_back({.text = text, .module = module});
    places_[to].value += value;
    return to;
  }

  StackNames& names_;
  std::vector<Place> places_; // [0] is the root
  std::vector<FrameId> frames_;
};

struct Box {
  std::size_t place = 0;
  double x = 0, width = 0; // in pixels, unzoomed
  std::size_t depth = 0;
};

// In the order in which they are drawn: callers before those they call.
std::vector<Box> lay_out(const Graph& graph) {
  std::vector<Box> boxes{{0, kMargin, kWidth - 2 * kMargin, 0}};
  const auto all = static_cast<double>(graph[0].value);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Box box = boxes[i];
    double x = box.x;
    for (const std::size_t child : graph.children(box.place)) {
      const double width = static_cast<double>(graph[child].value) / all * boxes.front().width;
      if (width < kNarrowest) break; // so are the ones behind it
      boxes.push_back({child, x, width, box.depth + 1});
      x += width;
    }
  }
  return boxes;
}

// Warm for the program and its libraries, one hue per module; a function has the same shade everywhere.
std::string color_of(const Place& place) {
  const auto hash = [](std::string_view text) {
    std::uint32_t sum = 2166136261;
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 16777619;
    return sum;
  };
  if (place.text.empty() || place.text.front() == '[') return "hsl(40 8% 86%)";
  const std::uint32_t hue = (hash(place.module) % 11 * 33 + 12) % 360;
  return fmt::format("hsl({} 68% {}%)", hue, 74 + hash(place.text) % 10);
}

std::string value_text(const ExportInput& input, bool blocks, std::uint64_t value) {
  if (input.cpu != nullptr) return blocks ? count_of(value, "sample") : cpu_time_text(value);
  return blocks ? count_of(value, "block") : exact_bytes_text(value);
}

std::string what_text(const ExportInput& input, Quantity quantity) {
  if (input.cpu != nullptr) return "CPU time";
  switch (quantity) {
  case Quantity::Peak: return "live when the heap was largest";
  case Quantity::Live: return "still live at the end";
  case Quantity::Allocated: return "ever allocated";
  case Quantity::Temporary: return "temporary: freed by the thread's next event";
  }
  return "";
}

void write_head(Sink& sink, std::string_view title, std::string_view subtitle, double height) {
  sink.print(R"(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="11">
<title>{2}</title>
<style>
g.f {{ cursor: pointer }} g.f:hover rect {{ stroke: #222; stroke-width: 1 }} g.f.hit rect {{ fill: #d61f69 }} g.f.hit text {{ fill: #fff }}
g.f.above rect {{ opacity: .45 }} .button {{ cursor: pointer; fill: #1d5fb4 }} text {{ pointer-events: none }} text.button {{ pointer-events: all }}
</style>
<rect width="100%" height="100%" fill="#fff"/>
<text x="{3}" y="20" font-size="15" font-weight="bold">{2}</text>
<text x="{3}" y="38" fill="#555">{4}</text>
<text class="button" id="reset" x="{3}" y="54" visibility="hidden">reset zoom</text>
<text class="button" id="search" x="{5}" y="20" text-anchor="end" visibility="hidden">search (/)</text>
<text id="found" x="{5}" y="38" text-anchor="end" fill="#d61f69"></text>
<text id="about" x="{5}" y="54" text-anchor="end" fill="#333"></text>
)",
             kWidth, height, title, kMargin, subtitle, kWidth - kMargin);
}

} // namespace

void export_flame_svg(const ExportInput& input, const FlameSvgOptions& options, Sink& sink) {
  Graph graph(input.names);
  if (input.cpu != nullptr) {
    for (const StackTime& entry : *input.cpu)
      graph.add(entry.stack, options.blocks ? entry.time.periods : entry.time.us);
  } else {
    for (const CostOfStack& entry : costs_of(input.findings(), options.quantity))
      graph.add(entry.stack, options.blocks ? entry.cost.blocks : entry.cost.bytes);
  }
  const std::uint64_t all = graph[0].value;
  const std::vector<Box> boxes = lay_out(graph);
  std::size_t depth = 0;
  for (const Box& box : boxes) depth = std::max(depth, box.depth);

  const std::string command = command_of(input.tape);
  constexpr std::size_t kTitleLetters = 100;
  const std::string title = command.size() <= kTitleLetters ? command : command.substr(0, kTitleLetters) + "...";
  const std::string subtitle = what_text(input, options.quantity) + ": " + value_text(input, options.blocks, all);
  write_head(sink, xml_escaped(title), xml_escaped(subtitle), kTop + static_cast<double>(depth + 1) * kRow + kMargin);
  sink.add("<g id=\"boxes\">\n");
  for (const Box& box : boxes) {
    const Place& place = graph[box.place];
    const std::string name = box.depth == 0 ? std::string("all") : xml_escaped(place.text.substr(0, kMostNameBytes));
    const double y = kTop + static_cast<double>(box.depth) * kRow;
    sink.print(
        "<g class=\"f\"><title>{}{}: {}, {}</title><rect x=\"{:.2f}\" y=\"{:g}\" width=\"{:.2f}\" height=\"{:g}\" "
        "rx=\"1\" fill=\"{}\"/>",
        name, place.module.empty() ? std::string() : " (" + xml_escaped(place.module) + ")",
        xml_escaped(value_text(input, options.blocks, place.value)), percent_text(place.value, all), box.x, y,
        std::max(box.width - 0.4, 0.1), kRow - 1, box.depth == 0 ? "hsl(40 8% 92%)" : color_of(place));
    const auto letters = static_cast<std::size_t>(std::max(0.0, (box.width - 6) / kLetter));
    const std::string_view text = box.depth == 0 ? "all" : place.text;
    const std::string shown = text.size() <= letters ? std::string(text)
                              : letters < 4          ? std::string()
                                                     : std::string(text.substr(0, letters - 2)) + "..";
    sink.print("<text x=\"{:.2f}\" y=\"{:g}\">{}</text></g>\n", box.x + 3, y + 12.5, xml_escaped(shown));
  }
  sink.add("</g>\n<script><![CDATA[\n");
  sink.add(kFlameScript);
  sink.add("]]></script>\n</svg>\n");
}

} // namespace heaptape
