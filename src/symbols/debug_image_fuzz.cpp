// Any bytes as a file with symbols and debug information: all parsers together, as the symbolizer uses them but without
// the files around it. No crash, no hang, nothing outside of the bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "symbols/debug_image.h"
#include "symbols/dwarf_lookup.h"
#include "symbols/split_index.h"
#include "symbols/symbol_table.h"
#include "symbols/unpack.h"

namespace {

using namespace heaptape;

// Ends and middles of the code, and every step between them: few enough for a fuzzer, many enough to meet something.
std::vector<std::uint64_t> addresses_in(const std::vector<AddressRange>& code) {
  std::vector<std::uint64_t> addresses;
  for (const AddressRange& range : code) {
    const std::uint64_t step = std::max<std::uint64_t>((range.end - range.start) / 64, 1);
    for (std::uint64_t i = 0; i < 64 && range.start + i * step < range.end; ++i)
      addresses.push_back(range.start + i * step);
    if (addresses.size() > 512) break;
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  DebugImage image(MappedFile::in_place(std::as_bytes(std::span(data, size)), "fuzz"));
  (void)image.elf().build_id();
  (void)image.elf().debug_link();
  (void)image.elf().alt_link();
  const std::vector<AddressRange> code = image.elf().code_ranges();
  const std::vector<std::uint64_t> addresses = addresses_in(code);

  SymbolTable table;
  table.add(image.section(".symtab"), image.section(".strtab"));
  table.add(image.section(".dynsym"), image.section(".dynstr"));
  table.finish(code);
  for (const std::uint64_t address : addresses) {
    const Symbol* symbol = table.find(address);
    HT_CHECK(symbol == nullptr || symbol->start <= address);
    (void)image.elf().loaded_at(address, 9);
  }

  dwarf::DebugFile alt(image.dwarf_sections());
  dwarf::DebugFile split(image.dwarf_sections(".dwo"));
  const dwarf::SplitIndex index(image.section(".debug_cu_index"));
  dwarf::DebugFile file(image.dwarf_sections(), &alt);
  dwarf::Lookup lookup(file, code, [&](const dwarf::Unit& skeleton) -> dwarf::SplitUnit {
    (void)index.sections_of(skeleton.root().dwo_id, image.dwarf_sections(".dwo"));
    if (split.units().empty()) return {};
    return {&split, &split.units().front()};
  });
  HT_CHECK(lookup.find(addresses, {}).size() == addresses.size());

  const std::vector<std::byte> mini = unpack_xz(image.section(".gnu_debugdata"));
  if (mini.size() < (std::size_t{1} << 20)) (void)ElfImage::parse(mini).ok();
  return 0;
}
