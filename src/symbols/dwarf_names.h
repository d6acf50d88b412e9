// Names of functions, followed from an inlined or out-of-line copy to its declaration, also into other units and files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/dwarf_unit.h"

namespace heaptape::dwarf {

// Remembers what it has found. One thread at a time; the files must outlive it.
class FunctionNames {
public:
  // The linkage name of a function; without one its plain name, in languages that have scopes with these in front:
  // "(anonymous namespace)::Cache::insert". Empty: it has none. Valid until forget().
  const std::string& name_of(const EntryRef& function);

  // Drops everything known of a file that is about to go.
  void forget(const DebugFile* file);

private:
  // A namespace, class or function, from its entry to the end of its children.
  struct NamedScope {
    std::uint64_t start = 0, end = 0;
    std::size_t outer = 0; // index + 1; 0: none
    std::string_view name;
  };

  std::string find_name(EntryRef function);
  const Unit* unit_of(const EntryRef& entry);
  std::string qualified(const Unit& unit, std::uint64_t offset, std::string_view name);
  const std::vector<NamedScope>& scopes_of(const Unit& unit);

  std::map<EntryRef, std::string> names_;
  std::map<EntryRef, std::unique_ptr<Unit>> units_;            // by the unit's offset
  std::map<EntryRef, std::vector<NamedScope>> scopes_of_unit_; // by the unit's offset
};

} // namespace heaptape::dwarf
