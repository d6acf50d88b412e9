// Opens the .dwo files and the .dwp package of one module.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "symbols/debug_image.h"
#include "symbols/dwarf_lookup.h"
#include "symbols/finder.h"
#include "symbols/split_index.h"

namespace heaptape {

class SplitUnits {
public:
  SplitUnits(const Finder& finder, std::string module_path) : finder_(finder), module_path_(std::move(module_path)) {}

  // The other half of a skeleton, when it is found and its id is right; valid until the next call.
  dwarf::SplitUnit open(const dwarf::Unit& skeleton);

  // How many were not found, and the first of them.
  std::size_t missing() const { return missing_; }
  const std::string& first_missing() const { return first_missing_; }

private:
  bool open_from_package(std::uint64_t dwo_id);
  bool open_from_file(const dwarf::Unit& skeleton);

  const Finder& finder_;
  std::string module_path_;
  bool looked_for_package_ = false;
  std::unique_ptr<DebugImage> package_;
  std::optional<dwarf::SplitIndex> index_;
  std::unique_ptr<DebugImage> image_;
  std::unique_ptr<dwarf::DebugFile> file_;
  std::size_t missing_ = 0;
  std::string first_missing_;
};

} // namespace heaptape
