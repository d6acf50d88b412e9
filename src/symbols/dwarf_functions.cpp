#include "symbols/dwarf_functions.h"

#include <algorithm>

#include "symbols/dwarf_lines.h"

namespace heaptape::dwarf {

namespace {

class ScopeFinder {
public:
  ScopeFinder(const Unit& unit, std::span<const std::uint64_t> addresses, std::span<const AddressRange> code)
      : unit_(unit), addresses_(addresses), code_(code) {
    found_.innermost.assign(addresses.size(), CodeScope::kNone);
  }

  FoundScopes run() {
    const std::uint64_t first = unit_.header().root;
    ByteReader reader = unit_.entries_from(first);
    const std::uint64_t all = reader.remaining();
    while (reader.remaining() != 0) {
      const std::uint64_t offset = first + (all - reader.remaining());
      const std::uint64_t code = reader.varint();
      if (code == 0) {
        if (!open_.empty()) open_.pop_back();
        if (open_.empty()) break; // the root's children end; what follows is padding
        continue;
      }
      const Abbreviation* entry = unit_.abbreviations().find(code);
      if (entry == nullptr) break;
      Open inside = open_.empty() ? Open{} : open_.back();
      if (entry->tag == kTagSubprogram) inside = {};
      // Inside a function that holds no address, no inlined call does.
      if (entry->has_code &&
          (entry->tag == kTagSubprogram || (entry->tag == kTagInlinedSubroutine && inside.scope != CodeScope::kNone)))
        inside = enter(reader, *entry, offset, inside);
      else
        unit_.skip(reader, *entry);
      if (!reader.ok()) break;
      if (entry->has_children)
        open_.push_back(inside);
      else if (open_.empty())
        break; // a root without children
    }
    return std::move(found_);
  }

private:
  // An entry whose children are being read, and the innermost scope with a wanted address around them.
  struct Open {
    std::uint32_t scope = CodeScope::kNone;
  };

  // Reads a function or an inlined call; a new scope when it holds an address.
  Open enter(ByteReader& reader, const Abbreviation& entry, std::uint64_t offset, Open outer) {
    CodeScope scope{.outer = outer.scope, .entry = {&unit_.file(), offset}};
    FormValue low, high, ranges;
    const AbbreviationTable& table = unit_.abbreviations();
    for (const AttributeSpec* spec = table.begin(entry); spec != table.end(entry) && reader.ok(); ++spec) {
      const FormValue value = unit_.read(reader, *spec);
      switch (spec->name) {
      case kAtLowPc: low = value; break;
      case kAtHighPc: high = value; break;
      case kAtRanges: ranges = value; break;
      case kAtCallFile: scope.call_file = value.number; break;
      case kAtCallLine: scope.call_line = static_cast<std::uint32_t>(value.number); break;
      case kAtCallColumn: scope.call_column = static_cast<std::uint32_t>(value.number); break;
      default: break;
      }
    }
    if (!reader.ok()) return outer;
    ranges_.clear();
    if (ranges)
      unit_.add_ranges(ranges, ranges_);
    else if (const auto start = unit_.address(low))
      unit_.add_range(*start, high, ranges_);
    const auto index = static_cast<std::uint32_t>(found_.scopes.size());
    bool holds_one = false;
    for (const AddressRange& range : ranges_) holds_one |= claim(range, index, scope.outer);
    if (!holds_one) return {};
    found_.scopes.push_back(scope);
    return {index};
  }

  // Gives the addresses of a range to scope `index`, where they belong to the scope around it or to none yet. Of two
  // functions that share their code the first one keeps it.
  bool claim(const AddressRange& range, std::uint32_t index, std::uint32_t outer) {
    auto at = std::lower_bound(addresses_.begin(), addresses_.end(), range.start);
    if (at == addresses_.end() || *at >= range.end || !is_inside(code_, range.start)) return false;
    bool claimed = false;
    for (; at != addresses_.end() && *at < range.end; ++at) {
      std::uint32_t& innermost = found_.innermost[static_cast<std::size_t>(at - addresses_.begin())];
      if (innermost != outer && innermost != index) continue;
      innermost = index;
      claimed = true;
    }
    return claimed;
  }

  const Unit& unit_;
  std::span<const std::uint64_t> addresses_;
  std::span<const AddressRange> code_;
  FoundScopes found_;
  std::vector<Open> open_;
  std::vector<AddressRange> ranges_;
};

} // namespace

FoundScopes find_scopes(const Unit& unit, std::span<const std::uint64_t> addresses,
                        std::span<const AddressRange> code) {
  return ScopeFinder(unit, addresses, code).run();
}

} // namespace heaptape::dwarf
