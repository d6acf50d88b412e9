#include "analysis/heap/allocator_code.h"

#include "base/path_text.h"
#include <algorithm>

namespace heaptape {

namespace {

constexpr std::string_view kRecorderFile = "libheaptape.so";

} // namespace

std::optional<Allocator> allocator_named(std::string_view path) {
  constexpr std::pair<std::string_view, Allocator> kNames[] = {
      {"libjemalloc", Allocator::Jemalloc}, {"libtcmalloc", Allocator::Tcmalloc}, {"libmimalloc", Allocator::Mimalloc},
      {"libsnmalloc", Allocator::Snmalloc}, {"libhoard", Allocator::Hoard},       {"libtbbmalloc", Allocator::Tbb},
      {"libscudo", Allocator::Scudo},       {"librpmalloc", Allocator::Rpmalloc}, {"ld-musl", Allocator::Musl},
      {"libc.musl", Allocator::Musl}};
  for (const auto& [name, allocator] : kNames) {
    if (base_name(path).starts_with(name)) return allocator;
  }
  return std::nullopt;
}

AllocatorStacks::AllocatorStacks(const std::vector<Module>& modules, const std::vector<StackNode>& stacks)
    : stacks_(stacks) {
  for (const Module& module : modules) {
    if (base_name(module.path).starts_with(kRecorderFile)) recorder_.push_back({module.start, module.end});
    if (allocator_named(module.path)) allocators_.push_back({module.start, module.end});
  }
}

bool AllocatorStacks::holds(const std::vector<Range>& ranges, std::uint64_t pc) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return range.begin <= pc && pc < range.end; });
}

bool AllocatorStacks::operator()(StackId stack) {
  if (stack.value == 0 || stack.value >= stacks_.size()) return false;
  const auto [place, is_new] = known_.try_emplace(stack, false);
  if (!is_new) return place->second;
  // A return address lies behind its call.
  bool inside = holds(allocators_, stacks_[stack.value].pc - 1);
  // A parent's id is smaller than its child's, so this ends.
  for (StackId at = stack; !inside && at.value != 0 && !recorder_.empty(); at = stacks_[at.value].parent)
    inside = holds(recorder_, stacks_[at.value].pc - 1);
  return place->second = inside;
}

} // namespace heaptape
