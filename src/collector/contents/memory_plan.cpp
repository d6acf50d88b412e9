#include "collector/contents/memory_plan.h"

#include <algorithm>
#include <charconv>

namespace heaptape {

namespace {

constexpr std::size_t kLongestLine = 16384; // a path and what stands in front of it

bool is_kernels(std::string_view name) { return name.starts_with("[v") && name != "[vdso]"; }

// Reading a device may do anything.
bool is_device(std::string_view name) {
  return name.starts_with("/dev/") && !name.starts_with("/dev/shm/") && !name.starts_with("/dev/zero");
}

// No file to read it from later.
bool has_no_file(std::string_view name) {
  return name.empty() || name[0] != '/' || name.starts_with("/memfd:") || name.starts_with("/dev/zero") ||
         name.starts_with("/SYSV") || name.ends_with(" (deleted)");
}

Treatment treatment_of(const MappedRange& range, std::string_view name, bool left_out) {
  if (is_kernels(name)) return Treatment::Skip;
  if (left_out) return Treatment::LeftOut;
  if ((range.permissions & kMapRead) == 0 || is_device(name)) return Treatment::Refused;
  if ((range.permissions & kMapShared) != 0) return Treatment::Shared;
  return has_no_file(name) ? Treatment::Anonymous : Treatment::File;
}

} // namespace

PageState PlannedRegion::otherwise() const {
  switch (treatment) {
  case Treatment::Skip: return PageState::None;
  case Treatment::Anonymous: return PageState::Zero;
  case Treatment::File: return PageState::OfFile;
  case Treatment::Shared: return PageState::Shared;
  case Treatment::Refused: return PageState::Refused;
  case Treatment::LeftOut: return PageState::LeftOut;
  }
  return PageState::None;
}

std::vector<PlannedRegion> plan_memory(std::span<const MappedRange> ranges, const MapNames& names,
                                       std::span<const PageRange> left_out) {
  std::vector<PlannedRegion> plan;
  plan.reserve(ranges.size());
  for (const MappedRange& range : ranges)
    plan.push_back({range, treatment_of(range, names[range.name], overlaps(left_out, {range.begin, range.end}))});
  return plan;
}

void SmapsText::add(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (begun_.size() < kLongestLine) begun_ += text.substr(0, end);
    if (end == std::string_view::npos) return;
    add_line(begun_);
    begun_.clear();
    text.remove_prefix(end + 1);
  }
}

void SmapsText::add_line(std::string_view line) {
  PageRange range;
  const char* const end = line.data() + line.size();
  const auto first = std::from_chars(line.data(), end, range.begin, 16);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '-') {
    const auto second = std::from_chars(first.ptr + 1, end, range.end, 16);
    if (second.ec == std::errc() && second.ptr != end && *second.ptr == ' ') current_ = range;
    return;
  }
  if (!line.starts_with("VmFlags:") || current_.begin >= current_.end) return;
  const auto has = [&](std::string_view flag) { return line.find(flag) != std::string_view::npos; };
  if (has(" dd")) wishes_.not_dumped.push_back(current_);
  if (has(" dc") || has(" wf")) wishes_.not_forked.push_back(current_);
}

} // namespace heaptape
