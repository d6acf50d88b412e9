#include "report/pages/frame_names.h"

#include <fmt/format.h>

#include <iterator>

#include "base/number_text.h"
#include "base/path_text.h"
#include "report/text/json_text.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kMaxCachedLength = 0xffff;

} // namespace

FrameNames::FrameNames(const std::vector<Module>& modules, const std::vector<StackNode>& stacks)
    : stacks_(stacks), modules_(modules) {}

FramePlace FrameNames::find(std::uint64_t pc, std::uint64_t time_us) const {
  const Module* module = modules_.find_at_time(inside_the_call(pc), time_us);
  if (module == nullptr) return {nullptr, pc};
  return {module, pc - module->load_bias};
}

bool FrameNames::has_one_module_at_most(std::uint64_t pc) const {
  int modules = 0;
  modules_.each_at(inside_the_call(pc), [&](const Module&) { ++modules; });
  return modules <= 1;
}

template <class Write>
std::string_view FrameNames::remembered(Cache& cache, StackId node, std::uint64_t time_us, Write write) {
  if (node.value >= stacks_.size()) return "?";
  if (cache.places.empty()) cache.places.resize(stacks_.size(), 0);
  if (const std::uint64_t place = cache.places[node.value]; place != 0) {
    return std::string_view(cache.texts).substr(place >> 16, place & kMaxCachedLength);
  }
  const std::uint64_t pc = stacks_[node.value].pc;
  latest_.clear();
  write(pc, find(pc, time_us));
  if (latest_.size() <= kMaxCachedLength && has_one_module_at_most(pc)) {
    cache.places[node.value] = std::uint64_t{cache.texts.size()} << 16 | latest_.size();
    cache.texts += latest_;
  }
  return latest_;
}

std::string_view FrameNames::text(StackId node, std::uint64_t time_us) {
  return remembered(text_cache_, node, time_us, [&](std::uint64_t pc, const FramePlace& place) {
    const auto out = std::back_inserter(latest_);
    fmt::format_to(out, "{:#014x}  ", pc);
    if (place.module == nullptr)
      latest_ += '?';
    else
      fmt::format_to(out, "{}+{:#x}", printable(base_name(place.module->path)), place.offset);
  });
}

std::string_view FrameNames::json(StackId node, std::uint64_t time_us) {
  return remembered(json_cache_, node, time_us, [&](std::uint64_t pc, const FramePlace& place) {
    const auto out = std::back_inserter(latest_);
    fmt::format_to(out, R"({{"pc":"{:#x}")", pc);
    if (place.module != nullptr) {
      fmt::format_to(out, R"(,"module":{},"offset":"{:#x}")", json_string(base_name(place.module->path)), place.offset);
    }
    latest_ += '}';
  });
}

} // namespace heaptape
