#include "report/contents/module_tables.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/byte_cursor.h"

namespace heaptape {

namespace {

constexpr std::size_t kMostHeaders = 256;                     // of a module's segments
constexpr std::uint64_t kMostTable = std::uint64_t{16} << 20; // bytes; larger ones are those of files
constexpr std::uint8_t kRelativeInt32 = 0x1b;                 // how .eh_frame_hdr says where .eh_frame lies

template <class Value>
std::optional<Value> read_value(MemoryCursor& cursor, std::uint64_t address) {
  Value value;
  if (cursor.read(address, std::as_writable_bytes(std::span(&value, 1))) != sizeof value) return std::nullopt;
  return value;
}

} // namespace

ModuleTables::ModuleTables(const TapeReader& tape, SnapshotMemory& memory)
    : tape_(tape), memory_(memory), symbolizer_(memory.options()) {}

const Module* ModuleTables::module_at(std::uint64_t address) const {
  return memory_.modules().find_at_time(address, memory_.facts().time_us);
}

ModuleSymbols& ModuleTables::symbols_of(const Module& module) {
  const auto found = opened_.find({module.path, module.build_id});
  if (found != opened_.end()) return found->second;
  return opened_
      .emplace(std::pair(module.path, module.build_id),
               symbolizer_.open({.path = module.path, .build_id = module.build_id}))
      .first->second;
}

const UnwindTable& ModuleTables::unwind_table(const Module& module) {
  const UnwindTable& of_file = symbols_of(module).unwind_table();
  if (!of_file.empty()) return of_file;
  const auto [found, is_new] = in_memory_.try_emplace(&module);
  if (is_new) read_memory(module, found->second);
  return found->second.table;
}

// The program headers say where .eh_frame_hdr lies, and that where .eh_frame begins.
void ModuleTables::read_memory(const Module& module, InMemory& into) {
  MemoryCursor& cursor = memory_.cursor();
  const auto head = read_value<Elf64_Ehdr>(cursor, module.start);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_phentsize != sizeof(Elf64_Phdr)) return;
  for (std::size_t i = 0; i < std::min<std::size_t>(head->e_phnum, kMostHeaders); ++i) {
    const auto segment = read_value<Elf64_Phdr>(cursor, module.start + head->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return;
    if (segment->p_type != PT_GNU_EH_FRAME) continue;
    const std::uint64_t header = module.load_bias + segment->p_vaddr;
    const auto kinds = read_value<std::uint32_t>(cursor, header); // version, then how three numbers are written
    const auto distance = read_value<std::int32_t>(cursor, header + 4);
    if (!kinds || !distance || (*kinds & 0xff) != 1 || (*kinds >> 8 & 0xff) != kRelativeInt32) return;
    const std::uint64_t begin = header + 4 + static_cast<std::uint64_t>(std::int64_t{*distance});
    if (begin < module.start || begin >= module.end) return;
    into.bytes.resize(static_cast<std::size_t>(std::min(module.end - begin, kMostTable)));
    into.bytes.resize(cursor.read(begin, into.bytes));
    into.table.add(UnwindTable::Kind::EhFrame, into.bytes, begin - module.load_bias);
    return;
  }
}

std::vector<SourcePlaces> ModuleTables::places(const Module& module, std::span<const std::uint64_t> addresses) {
  std::vector<std::uint64_t> in_file(addresses.begin(), addresses.end());
  for (std::uint64_t& address : in_file) address -= module.load_bias;
  std::vector<SourcePlaces> found = symbols_of(module).find(in_file);
  // A tape that came from another machine may know some all the same.
  const std::optional<Symbols::File> on_tape = tape_.symbols().file_of(module);
  for (std::size_t i = 0; on_tape && i < found.size(); ++i) {
    if (!found[i].empty()) continue;
    for (const SymbolPlace& place : tape_.symbols().find(*on_tape, in_file[i]))
      found[i].push_back({std::string(place.function), std::string(place.file), place.line, place.column});
  }
  return found;
}

} // namespace heaptape
