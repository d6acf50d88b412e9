#include "cli/frame_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/quantities.h"
#include "report/json_text.h"

namespace heaptape::cli {
namespace {

constexpr std::uint64_t kMaxCachedLength = 0xffff;

template <class Ranges, class Visit>
void each_range_at(const Ranges& ranges, std::uint64_t pc, Visit visit) {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), pc,
                                [](std::uint64_t address, const auto& range) { return address < range.start; });
  while (after != ranges.begin()) {
    --after;
    if (after->highest_end <= pc) return;
    if (pc < after->end) visit(*after);
  }
}

// A call that does not return may be a module's last instruction, its return address just outside.
std::uint64_t inside_the_call(std::uint64_t pc) { return pc != 0 ? pc - 1 : 0; }

} // namespace

std::string_view base_name(std::string_view path) {
  const std::string_view base = path.substr(path.rfind('/') + 1);
  return base.empty() ? "?" : base;
}

FrameNames::FrameNames(const std::vector<Module>& modules, const std::vector<StackNode>& stacks) : stacks_(stacks) {
  for (const Module& module : modules) ranges_.push_back({module.start, module.end, 0, &module});
  std::stable_sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
  std::uint64_t highest = 0;
  for (Range& range : ranges_) range.highest_end = highest = std::max(highest, range.end);
}

FramePlace FrameNames::find(std::uint64_t pc, std::uint64_t time_us) const {
  const Module* best = nullptr;
  each_range_at(ranges_, inside_the_call(pc), [&](const Range& range) {
    const Module* module = range.module;
    if (best == nullptr) {
      best = module;
      return;
    }
    // A module is noticed a moment after it is loaded, so one seen later than `time_us` is second choice, not impossible.
    const bool module_seen = module->first_seen_us <= time_us;
    const bool best_seen = best->first_seen_us <= time_us;
    if (module_seen != best_seen ? module_seen : module_seen == (module->first_seen_us > best->first_seen_us)) {
      best = module;
    }
  });
  if (best == nullptr) return {nullptr, pc};
  return {best, pc - best->load_bias};
}

bool FrameNames::has_one_module_at_most(std::uint64_t pc) const {
  int modules = 0;
  each_range_at(ranges_, inside_the_call(pc), [&](const Range&) { ++modules; });
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

} // namespace heaptape::cli
