#include "symbols/dwarf_lookup.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "symbols/dwarf_functions.h"
#include "symbols/dwarf_lines.h"

namespace heaptape::dwarf {

struct Lookup::Answers {
  std::span<const std::uint64_t> addresses;
  std::vector<SourcePlaces> places;

  bool has_function(std::size_t i) const { return !places[i].empty() && !places[i].back().function.empty(); }
};

Lookup::Lookup(DebugFile& file, std::vector<AddressRange> code, OpenSplitUnit open_split)
    : file_(file), code_(std::move(code)), open_split_(std::move(open_split)) {
  std::vector<AddressRange> own;
  for (std::size_t i = 0; i < file_.units().size(); ++i) {
    const UnitHeader& header = file_.units()[i];
    if (header.type != kUnitCompile && header.type != kUnitSkeleton) continue;
    const Unit unit(file_, header);
    if (unit.root().tag == 0 || unit.root().tag == kTagPartialUnit) continue;
    if (!unit.root().says_where) {
      anywhere_.push_back(i);
      continue;
    }
    own.clear();
    unit.add_own_ranges(own);
    for (const AddressRange& range : own) ranges_.push_back({range.start, range.end, i});
  }
}

std::vector<SourcePlaces> Lookup::find(std::span<const std::uint64_t> addresses,
                                       const std::function<void(std::size_t)>& progress) {
  Answers answers{addresses, std::vector<SourcePlaces>(addresses.size())};
  std::map<std::size_t, std::vector<std::size_t>> wanted_of_unit;
  for (const UnitRange& range : ranges_) {
    auto at = std::lower_bound(addresses.begin(), addresses.end(), range.start);
    for (; at != addresses.end() && *at < range.end; ++at)
      wanted_of_unit[range.unit].push_back(static_cast<std::size_t>(at - addresses.begin()));
  }
  std::size_t done = 0;
  for (auto& [unit, wanted] : wanted_of_unit) {
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    look_into(unit, wanted, answers);
    done = std::min(done + wanted.size(), addresses.size());
    if (progress) progress(done);
  }
  for (const std::size_t unit : anywhere_) {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < addresses.size(); ++i)
      if (!answers.has_function(i)) left.push_back(i);
    if (left.empty()) break;
    look_into(unit, left, answers);
  }
  return std::move(answers.places);
}

void Lookup::look_into(std::size_t unit_index, std::span<const std::size_t> wanted, Answers& answers) {
  const Unit unit(file_, file_.units()[unit_index]);
  if (!unit.root().dwo_name.empty() && open_split_) {
    if (const SplitUnit split = open_split_(unit); split.file != nullptr) {
      const Unit entries(*split.file, *split.header, &unit);
      look_into(unit, entries, wanted, answers);
      names_.forget(split.file);
      return;
    }
  }
  look_into(unit, unit, wanted, answers);
}

// `unit` has the line table, `entries` the functions: two halves of a split unit, else the same.
void Lookup::look_into(const Unit& unit, const Unit& entries, std::span<const std::size_t> wanted, Answers& answers) {
  std::vector<std::uint64_t> addresses;
  addresses.reserve(wanted.size());
  for (const std::size_t i : wanted) addresses.push_back(answers.addresses[i]);
  const FoundScopes found = find_scopes(entries, addresses, code_);
  const LineTable lines(unit);
  const auto rows = lines.find(addresses, code_);
  std::map<std::uint64_t, std::string> paths;
  const auto path = [&](std::uint64_t file) -> const std::string& {
    const auto [place, added] = paths.try_emplace(file);
    if (added) place->second = lines.path(file);
    return place->second;
  };
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (answers.has_function(wanted[i])) continue;
    std::uint32_t scope = found.innermost[i];
    const bool has_line = rows[i] && rows[i]->line != 0;
    if (scope == CodeScope::kNone && (!has_line || !answers.places[wanted[i]].empty())) continue;
    SourcePlace place;
    if (rows[i]) place = {.file = path(rows[i]->file), .line = rows[i]->line, .column = rows[i]->column};
    SourcePlaces places;
    while (scope != CodeScope::kNone) {
      const CodeScope& here = found.scopes[scope];
      place.function = names_.name_of(here.entry);
      places.push_back(std::move(place));
      place = {.file = path(here.call_file), .line = here.call_line, .column = here.call_column};
      scope = here.outer;
    }
    if (places.empty()) places.push_back(std::move(place));
    answers.places[wanted[i]] = std::move(places);
  }
}

} // namespace heaptape::dwarf
