#include "report/names/stack_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/path_text.h"

namespace heaptape {

namespace {

constexpr std::size_t kWidestName = 60; // columns that names are padded to
constexpr std::size_t kLeastName = 20;  // that a name keeps on a narrow terminal

} // namespace

std::string frame_location(const StackNames& names, FrameId frame) {
  const NamedFrame& named = names[frame];
  if (named.file.value != 0) {
    const std::string file = printable(base_name(names.text(named.file)));
    return named.line != 0 ? file + ":" + std::to_string(named.line) : file;
  }
  // An unknown function is named by its module already.
  return named.linkage_name.empty() ? std::string() : printable(names.text(named.module_name));
}

std::string in_brackets(const std::string& location) {
  if (location.empty()) return location;
  return location.starts_with('[') ? " " + location : " [" + location + "]";
}

std::string StackText::site(StackId stack) { return chain(stack, 0); }

std::string StackText::chain(StackId stack, std::size_t callers) {
  const std::vector<FrameId> frames = names_.frames_of(stack);
  if (frames.empty()) return "(no stack)";
  const std::size_t at = charged_frame(plumbing_, frames);
  std::string text = printable(names_.function(frames[at]));
  if (const std::string place = frame_location(names_, frames[at]); !place.empty()) text += " " + place;
  for (std::size_t i = at + 1, inside = at; i < frames.size() && callers > 0; ++i) {
    if (starts_thread(names_, frames[i])) break;
    if (plumbing_.between(frames[inside], frames[i])) continue;
    inside = i;
    text += " <- " + printable(names_.function(frames[i]));
    --callers;
  }
  return text;
}

std::string StackText::frames(StackId stack, std::string_view indent, const TextStyle& style) {
  struct Row {
    std::string head, name, tail; // "#3  ", the function, "  file.cpp:7  (inlined)"
  };
  std::vector<FrameId> frames;
  const StackEnd end = names_.each_frame(stack, [&](FrameId frame) { frames.push_back(frame); });
  const std::size_t digits = std::to_string(frames.empty() ? 0 : frames.size() - 1).size();
  std::vector<Row> rows;
  std::size_t name = 0, others = 0; // columns of the widest
  for (const FrameId id : frames) {
    const NamedFrame& frame = names_[id];
    std::string place = frame_location(names_, id);
    if (frame.line != 0 && frame.column != 0) place += ":" + std::to_string(frame.column);
    Row& row = rows.emplace_back();
    row.head = std::string(indent) + padded_left("#" + std::to_string(rows.size() - 1), digits + 1) + "  ";
    row.name = printable(names_.function(id));
    row.tail = (place.empty() ? "" : "  " + place) + (frame.inlined ? "  (inlined)" : "");
    name = std::max(name, columns_of(row.name));
    others = std::max(others, columns_of(row.head) + columns_of(row.tail));
  }
  const auto room = [&](std::size_t taken) {
    return std::max(style.width > taken ? style.width - taken : 0, kLeastName);
  };
  name = std::min(name, style.width == 0 ? kWidestName : room(others));
  std::string out;
  for (const Row& row : rows) {
    std::string shown = row.tail.empty() ? row.name : padded_left(row.name, name);
    if (style.width != 0 && !row.tail.empty())
      shown = shortened(shown, room(columns_of(row.head) + columns_of(row.tail)));
    out += row.head + shown + style.dim(row.tail) + "\n";
  }
  return out + end_text(end, frames.empty(), indent);
}

std::string StackText::end_text(StackEnd end, bool empty, std::string_view indent) {
  std::string out;
  if (empty && end == StackEnd::Whole) out += std::string(indent) + "(no stack)\n";
  if (end == StackEnd::Cut) out += std::string(indent) + "(the stack could not be followed further)\n";
  if (end == StackEnd::TooDeep) out += std::string(indent) + "(more frames than were recorded: see --max-depth)\n";
  return out;
}

std::string StackText::backtrace(StackId stack, const TextStyle& style) {
  std::vector<FrameId> frames;
  const StackEnd end = names_.each_frame(stack, [&](FrameId frame) { frames.push_back(frame); });
  std::string out;
  std::size_t number = 0;
  bool inside = false; // the frame before lies in this one's code
  for (const FrameId id : frames) {
    const NamedFrame& frame = names_[id];
    out += (inside ? std::string(6, ' ') : fmt::format("{:>4}: ", number++)) + printable(names_.function(id)) + "\n";
    inside = frame.inlined;
    std::string place;
    if (const std::string_view file = names_.text(frame.file); !file.empty()) {
      place = "at " + printable(file);
      if (frame.line != 0) place += fmt::format(":{}", frame.line);
      if (frame.line != 0 && frame.column != 0) place += fmt::format(":{}", frame.column);
    } else if (frame.module != nullptr && !frame.linkage_name.empty()) {
      place = fmt::format("in {}+{:#x}", printable(frame.module->path), frame.offset);
    }
    if (!place.empty()) out += std::string(13, ' ') + style.dim(place) + "\n";
  }
  return out + end_text(end, frames.empty(), "      ");
}

void StackText::write_json(JsonWriter& json, StackId stack) {
  json.begin_array();
  for (const FrameId id : names_.frames_of(stack)) {
    const NamedFrame& frame = names_[id];
    json.begin_object().field("function", names_.text(frame.function));
    if (!names_.text(frame.file).empty()) {
      json.field("file", names_.text(frame.file)).field("line", frame.line).field("column", frame.column);
    }
    json.field("module", names_.text(frame.module_name))
        .field("offset", std::string_view(fmt::format("{:#x}", frame.offset)));
    json.field("inlined", frame.inlined).end_object();
  }
  json.end_array();
}

} // namespace heaptape
