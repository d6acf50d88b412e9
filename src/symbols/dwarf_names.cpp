#include "symbols/dwarf_names.h"

#include <algorithm>

namespace heaptape::dwarf {

namespace {

// Copy, abstract instance, definition, declaration: more steps are a circle.
constexpr int kMaxSteps = 8;
constexpr std::size_t kMaxUnits = 256;

bool is_named_scope(std::uint16_t tag) {
  switch (tag) {
  case kTagNamespace:
  case kTagModule:
  case kTagClass:
  case kTagStructure:
  case kTagUnion:
  case kTagInterface:
  case kTagEnumeration:
  case kTagSubprogram: return true;
  default: return false;
  }
}

// Types without a name are lambdas, when they are called.
std::string name_in_front(std::string_view scope, std::string_view name) {
  if (!scope.empty()) return std::string(scope);
  return name == "operator()" ? "{lambda}" : "{unnamed}";
}

struct NameParts {
  std::string_view linkage, plain;
  std::optional<EntryRef> next; // the entry that this one completes
};

NameParts read_parts(const Unit& unit, std::uint64_t offset) {
  NameParts parts;
  ByteReader reader = unit.entries_from(offset);
  const Abbreviation* entry = unit.abbreviations().find(reader.varint());
  if (!reader.ok() || entry == nullptr) return parts;
  const AbbreviationTable& table = unit.abbreviations();
  for (const AttributeSpec* spec = table.begin(*entry); spec != table.end(*entry) && reader.ok(); ++spec) {
    const FormValue value = unit.read(reader, *spec);
    if (!reader.ok()) break;
    switch (spec->name) {
    case kAtLinkageName:
    case kAtMipsLinkageName: parts.linkage = unit.text(value); break;
    case kAtName: parts.plain = unit.text(value); break;
    case kAtAbstractOrigin:
    case kAtSpecification: parts.next = unit.reference(value); break;
    default: break;
    }
  }
  return parts;
}

} // namespace

const std::string& FunctionNames::name_of(const EntryRef& function) {
  const auto [place, added] = names_.try_emplace(function);
  if (added) place->second = find_name(function);
  return place->second;
}

void FunctionNames::forget(const DebugFile* file) {
  const auto is_of = [&](const auto& item) { return item.first.file == file; };
  std::erase_if(names_, is_of);
  std::erase_if(scopes_of_unit_, is_of);
  std::erase_if(units_, is_of);
}

std::string FunctionNames::find_name(EntryRef function) {
  std::string_view plain;
  const Unit* unit = nullptr;
  for (int step = 0; step < kMaxSteps; ++step) {
    const Unit* here = unit_of(function);
    if (here == nullptr) break;
    unit = here;
    const NameParts parts = read_parts(*unit, function.offset);
    if (!parts.linkage.empty()) return std::string(parts.linkage);
    if (plain.empty()) plain = parts.plain;
    if (!parts.next) break;
    function = *parts.next;
  }
  if (unit == nullptr || plain.empty()) return {};
  return is_flat_language(unit->root().language) ? std::string(plain) : qualified(*unit, function.offset, plain);
}

const Unit* FunctionNames::unit_of(const EntryRef& entry) {
  if (entry.file == nullptr) return nullptr;
  const UnitHeader* header = entry.file->unit_with(entry.offset);
  if (header == nullptr) return nullptr;
  if (units_.size() > kMaxUnits) {
    units_.clear();
    scopes_of_unit_.clear();
  }
  std::unique_ptr<Unit>& unit = units_[{entry.file, header->offset}];
  if (unit == nullptr) unit = std::make_unique<Unit>(*entry.file, *header);
  return unit.get();
}

std::string FunctionNames::qualified(const Unit& unit, std::uint64_t offset, std::string_view name) {
  const std::vector<NamedScope>& scopes = scopes_of(unit);
  const auto after = std::upper_bound(scopes.begin(), scopes.end(), offset,
                                      [](std::uint64_t wanted, const NamedScope& s) { return wanted <= s.start; });
  std::string text(name);
  for (auto at = static_cast<std::size_t>(after - scopes.begin()); at != 0;) {
    const NamedScope& scope = scopes[at - 1];
    if (offset < scope.end) text.insert(0, name_in_front(scope.name, text) + "::");
    at = scope.outer;
  }
  return text;
}

const std::vector<FunctionNames::NamedScope>& FunctionNames::scopes_of(const Unit& unit) {
  const auto [place, added] = scopes_of_unit_.try_emplace({&unit.file(), unit.header().offset});
  std::vector<NamedScope>& scopes = place->second;
  if (!added) return scopes;
  struct Open {
    std::size_t scope = 0; // index + 1 of the named scope around; 0: none
    bool begins_scope = false;
  };
  std::vector<Open> open;
  const std::uint64_t first = unit.header().root;
  ByteReader reader = unit.entries_from(first);
  const std::uint64_t all = reader.remaining();
  const auto here = [&] { return first + (all - reader.remaining()); };
  while (reader.remaining() != 0) {
    const std::uint64_t offset = here();
    const std::uint64_t code = reader.varint();
    if (code == 0) {
      if (open.empty()) break;
      if (open.back().begins_scope) scopes[open.back().scope - 1].end = here();
      open.pop_back();
      continue;
    }
    const Abbreviation* entry = unit.abbreviations().find(code);
    if (entry == nullptr) break;
    Open inside{open.empty() ? 0 : open.back().scope, false};
    if (is_named_scope(entry->tag) && entry->has_children) {
      NamedScope scope{.start = offset, .end = unit.header().end, .outer = inside.scope, .name = {}};
      for (const AttributeSpec* spec = unit.abbreviations().begin(*entry);
           spec != unit.abbreviations().end(*entry) && reader.ok(); ++spec) {
        const FormValue value = unit.read(reader, *spec);
        if (spec->name == kAtName) scope.name = unit.text(value);
      }
      if (scope.name.empty() && entry->tag == kTagNamespace) scope.name = "(anonymous namespace)";
      // A function that completes another entry has its name there; that would be another scope.
      if (!scope.name.empty() || entry->tag != kTagSubprogram) {
        scopes.push_back(scope);
        inside = {scopes.size(), true};
      }
    } else {
      unit.skip(reader, *entry);
    }
    if (!reader.ok()) break;
    if (entry->has_children) open.push_back(inside);
  }
  return scopes;
}

} // namespace heaptape::dwarf
