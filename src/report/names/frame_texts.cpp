#include "report/names/frame_texts.h"

#include <fmt/format.h>

#include "base/format_into.h"
#include "base/number_text.h"
#include "base/path_text.h"
#include "report/text/json_text.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kMaxKnownLength = 0xffff, kTrampoline = 0x10000;
constexpr unsigned kOffsetShift = 17;
constexpr std::string_view kNextLine = "\n        "; // in text

const Symbols kNoSymbols{};

} // namespace

FrameTexts::FrameTexts(const std::vector<Module>& modules, const std::vector<StackNode>& stacks, FrameForm form,
                       const Symbols* symbols, NameForm names)
    : stacks_(stacks), places_(modules, stacks, symbols != nullptr ? *symbols : kNoSymbols), form_(form),
      names_(names) {}

std::string_view FrameTexts::of(StackId node, std::uint64_t time_us, bool& interrupted) {
  if (node.value >= stacks_.size()) return "?";
  if (where_known_.empty()) where_known_.resize(stacks_.size(), 0);
  if (const std::uint64_t where = where_known_[node.value]; where != 0 && !interrupted) {
    interrupted = (where & kTrampoline) != 0;
    return std::string_view(known_).substr(where >> kOffsetShift, where & kMaxKnownLength);
  }
  const bool usual = !interrupted;
  const Frame frame = places_.frame_at(node, time_us, interrupted);
  latest_.clear();
  write(frame);
  if (usual && latest_.size() <= kMaxKnownLength && !places_.modules().is_shared(inside_the_call(frame.pc))) {
    where_known_[node.value] =
        std::uint64_t{known_.size()} << kOffsetShift | (interrupted ? kTrampoline : 0) | latest_.size();
    known_ += latest_;
  }
  return latest_;
}

void FrameTexts::write(const Frame& frame) {
  if (form_ == FrameForm::Text)
    write_text(frame);
  else
    write_json(frame);
}

void FrameTexts::write_text(const Frame& frame) {
  for (const SymbolPlace& place : frame.places) {
    const bool inlined = &place != &frame.places.back();
    if (place.function.empty()) continue;
    if (inlined)
      latest_ += std::string(16, ' ');
    else
      format_into(latest_, "{:#014x}  ", frame.pc);
    latest_ += printable(demangle(place.function, names_));
    if (!place.file.empty()) {
      format_into(latest_, " [{}", printable(base_name(place.file)));
      if (place.line != 0) format_into(latest_, ":{}", place.line);
      latest_ += ']';
    }
    latest_ += "  ";
    if (inlined) (latest_ += "(inlined)") += kNextLine;
  }
  if (frame.places.empty() || frame.places.back().function.empty()) format_into(latest_, "{:#014x}  ", frame.pc);
  if (frame.module == nullptr)
    latest_ += '?';
  else
    format_into(latest_, "{}+{:#x}", printable(base_name(frame.module->path)), frame.offset);
}

void FrameTexts::write_json(const Frame& frame) {
  format_into(latest_, R"({{"pc":"{:#x}")", frame.pc);
  if (frame.module != nullptr)
    format_into(latest_, R"(,"module":{},"offset":"{:#x}")", json_string(base_name(frame.module->path)), frame.offset);
  const auto put = [&](const SymbolPlace& place) {
    const char* separator = "";
    if (!place.function.empty()) {
      format_into(latest_, R"("function":{})", json_string(demangle(place.function, names_)));
      separator = ",";
    }
    if (place.file.empty()) return;
    format_into(latest_, R"({}"file":{})", separator, json_string(place.file));
    if (place.line != 0) format_into(latest_, R"(,"line":{})", place.line);
  };
  std::size_t written = 0;
  for (const SymbolPlace& place : frame.places) {
    if (place.function.empty() && place.file.empty()) continue;
    latest_ += written == 0 ? "," : written == 1 ? R"(,"inlined_into":[{)" : "},{";
    put(place);
    ++written;
  }
  latest_ += written > 1 ? "}]}" : "}";
}

} // namespace heaptape
