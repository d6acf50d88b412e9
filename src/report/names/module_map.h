// Which module's code lay at an address, also when several took turns there (dlclose, then dlopen of something else).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tape/contents.h"

namespace heaptape {

// A return address may lie behind the last byte of its function, even of its module, when the call does not return; the
// byte in front of it is always the call's.
inline std::uint64_t inside_the_call(std::uint64_t return_address) {
  return return_address != 0 ? return_address - 1 : 0;
}

// Looks into a list that must outlive it and is in the order the modules were loaded. Const calls may come from any
// thread.
class ModuleMap {
public:
  explicit ModuleMap(const std::vector<Module>& modules);

  // The module that was there at `time_us`. A module is noticed a moment after it is loaded, so one that was first seen
  // later is second choice, not impossible.
  const Module* find_at_time(std::uint64_t address, std::uint64_t time_us) const;
  // The module that was there in an epoch (see docs/tape-format.md, "Stacks"); nullopt: not known which, and then an
  // address that more than one module used has none.
  const Module* find_in_epoch(std::uint64_t address, std::optional<std::uint64_t> epoch) const;

  // Whether more than one module was ever at the address.
  bool is_shared(std::uint64_t address) const {
    std::size_t modules = 0;
    each_at(address, [&](const Module&) { ++modules; });
    return modules > 1;
  }
  // Whether other code was ever loaded at an address used before.
  bool has_turns() const { return !turns_.empty(); }
  std::size_t turns() const { return turns_.size(); }

  // Calls visit(const Module&) for every module that was ever at the address.
  template <class Visit>
  void each_at(std::uint64_t address, Visit visit) const {
    if (address != ~std::uint64_t{0}) each_between(address, address + 1, visit);
  }

private:
  struct Range {
    std::uint64_t start, end;
    std::uint64_t highest_end; // of this and all ranges before it
    const Module* module;
  };

  // Every module that was ever somewhere in [start, end).
  template <class Visit>
  void each_between(std::uint64_t start, std::uint64_t end, Visit visit) const {
    auto after = std::lower_bound(ranges_.begin(), ranges_.end(), end,
                                  [](const Range& range, std::uint64_t wanted) { return range.start < wanted; });
    while (after != ranges_.begin()) {
      --after;
      if (after->highest_end <= start) return;
      if (start < after->end) visit(*after->module);
    }
  }

  std::vector<Range> ranges_;        // by start
  std::vector<const Module*> turns_; // the module that began epoch 1, 2, ...
};

} // namespace heaptape
