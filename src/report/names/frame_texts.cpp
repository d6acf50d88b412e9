#include "report/names/frame_texts.h"

#include <fmt/format.h>

#include "base/format_into.h"
#include "base/number_text.h"
#include "base/path_text.h"
#include "report/text/json_text.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kMaxKnownLength = 0xffff;

} // namespace

FrameTexts::FrameTexts(const std::vector<Module>& modules, const std::vector<StackNode>& stacks, FrameForm form)
    : stacks_(stacks), places_(modules, stacks), form_(form) {}

std::string_view FrameTexts::of(StackId node, std::uint64_t time_us) {
  if (node.value >= stacks_.size()) return "?";
  if (where_known_.empty()) where_known_.resize(stacks_.size(), 0);
  if (const std::uint64_t where = where_known_[node.value]; where != 0) {
    return std::string_view(known_).substr(where >> 16, where & kMaxKnownLength);
  }
  const Frame frame = places_.frame_at(node, time_us);
  latest_.clear();
  write(frame);
  if (latest_.size() <= kMaxKnownLength && !places_.modules().is_shared(inside_the_call(frame.pc))) {
    where_known_[node.value] = std::uint64_t{known_.size()} << 16 | latest_.size();
    known_ += latest_;
  }
  return latest_;
}

void FrameTexts::write(const Frame& frame) {
  const std::string_view module = frame.module != nullptr ? base_name(frame.module->path) : std::string_view();
  if (form_ == FrameForm::Text) {
    format_into(latest_, "{:#014x}  ", frame.pc);
    if (frame.module == nullptr)
      latest_ += '?';
    else
      format_into(latest_, "{}+{:#x}", printable(module), frame.offset);
    return;
  }
  format_into(latest_, R"({{"pc":"{:#x}")", frame.pc);
  if (frame.module != nullptr)
    format_into(latest_, R"(,"module":{},"offset":"{:#x}")", json_string(module), frame.offset);
  latest_ += '}';
}

} // namespace heaptape
