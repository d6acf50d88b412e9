#include "report/names/module_map.h"

namespace heaptape {

ModuleMap::ModuleMap(const std::vector<Module>& modules) {
  for (const Module& module : modules) ranges_.push_back({module.start, module.end, 0, &module});
  std::stable_sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
  std::uint64_t highest = 0;
  for (Range& range : ranges_) range.highest_end = highest = std::max(highest, range.end);

  for (const Module& module : modules) {
    // As the recorder counts: other code than before, or the same elsewhere, over what is gone.
    bool takes_turn = false;
    each_between(module.start, module.end, [&](const Module& other) {
      takes_turn |= &other < &module &&
                    (other.start != module.start || other.path != module.path || other.build_id != module.build_id);
    });
    if (takes_turn) turns_.push_back(&module);
  }
}

const Module* ModuleMap::find_at_time(std::uint64_t address, std::uint64_t time_us) const {
  const Module* best = nullptr;
  each_at(address, [&](const Module& module) {
    if (best == nullptr) {
      best = &module;
      return;
    }
    const bool module_seen = module.first_seen_us <= time_us;
    const bool best_seen = best->first_seen_us <= time_us;
    if (module_seen != best_seen ? module_seen : module_seen == (module.first_seen_us > best->first_seen_us)) {
      best = &module;
    }
  });
  return best;
}

const Module* ModuleMap::find_in_epoch(std::uint64_t address, std::optional<std::uint64_t> epoch) const {
  // Modules are in the order they were loaded, so the first one that is too late ends the epoch.
  const Module* too_late = epoch && *epoch < turns_.size() ? turns_[*epoch] : nullptr;
  const Module *best = nullptr, *only = nullptr;
  std::size_t candidates = 0;
  each_at(address, [&](const Module& module) {
    ++candidates;
    only = &module;
    if (too_late != nullptr && &module >= too_late) return;
    if (best == nullptr || &module > best) best = &module;
  });
  if (candidates <= 1) return only;
  return epoch ? best : nullptr;
}

} // namespace heaptape
