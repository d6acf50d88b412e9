#include "symbols/split_units.h"

#include <utility>

namespace heaptape {

namespace {

// The unit with this id; a file may hold type units beside it.
const dwarf::UnitHeader* unit_with_id(dwarf::DebugFile& file, std::uint64_t dwo_id) {
  for (const dwarf::UnitHeader& header : file.units()) {
    if (header.type == dwarf::kUnitType || header.type == dwarf::kUnitSplitType) continue;
    if (dwarf::Unit(file, header).root().dwo_id == dwo_id) return &header;
  }
  return nullptr;
}

} // namespace

dwarf::SplitUnit SplitUnits::open(const dwarf::Unit& skeleton) {
  const std::uint64_t dwo_id = skeleton.root().dwo_id;
  if (open_from_package(dwo_id) || open_from_file(skeleton)) {
    if (const dwarf::UnitHeader* header = unit_with_id(*file_, dwo_id); header != nullptr) return {file_.get(), header};
  }
  if (missing_++ == 0) first_missing_ = std::string(skeleton.root().dwo_name);
  return {};
}

bool SplitUnits::open_from_package(std::uint64_t dwo_id) {
  if (!std::exchange(looked_for_package_, true)) {
    if (auto found = finder_.split_package(module_path_)) {
      package_ = std::make_unique<DebugImage>(std::move(*found));
      index_.emplace(package_->section(".debug_cu_index"));
    }
  }
  if (!index_) return false;
  const auto sections = index_->sections_of(dwo_id, package_->dwarf_sections(".dwo"));
  if (!sections) return false;
  file_ = std::make_unique<dwarf::DebugFile>(*sections);
  return true;
}

bool SplitUnits::open_from_file(const dwarf::Unit& skeleton) {
  auto found =
      finder_.split_file(module_path_, std::string(skeleton.root().directory), std::string(skeleton.root().dwo_name));
  if (!found) return false;
  file_.reset();
  image_ = std::make_unique<DebugImage>(std::move(*found));
  file_ = std::make_unique<dwarf::DebugFile>(image_->dwarf_sections(".dwo"));
  return true;
}

} // namespace heaptape
