// The tables of a loaded object through which it calls others: what it defines, and the places where it keeps addresses of functions. Reads the
// object's own memory, inside dl_iterate_phdr, where nothing is unloaded.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

struct LoadedObject {
  std::uint64_t bias = 0;
  std::uint64_t begin = 0, end = 0;             // all its segments
  std::uint64_t relro_begin = 0, relro_end = 0; // read-only since it was relocated
  const Elf64_Sym* symbols = nullptr;
  const char* strings = nullptr;
  const std::uint16_t* versions = nullptr; // null: none
  const std::uint32_t* gnu_hash = nullptr; // one of the two is there
  const std::uint32_t* hash = nullptr;
  struct Table {
    const Elf64_Rela* entries = nullptr;
    std::size_t count = 0;
  } tables[2];
};

// False when there is nothing to look at in it.
[[nodiscard]] bool read_object(const dl_phdr_info& info, LoadedObject& object) noexcept;

// The symbol under which the object defines a function of this name, in its newest version; 0: it does not.
std::uint32_t find_symbol(const LoadedObject& object, const char* name) noexcept;
// Where that function is; 0: it does not.
std::uint64_t find_definition(const LoadedObject& object, const char* name) noexcept;

// Calls visit(name, slot, is_jump) for every place that holds the address of a named symbol; a jump's place may still hold the way to
// the loader's look-up.
template <class Visit>
void each_slot(const LoadedObject& object, Visit&& visit) noexcept {
  for (const LoadedObject::Table& table : object.tables) {
    for (std::size_t i = 0; i < table.count; ++i) {
      const Elf64_Rela& entry = table.entries[i];
      const std::uint64_t type = ELF64_R_TYPE(entry.r_info), symbol = ELF64_R_SYM(entry.r_info);
      if (symbol == 0 || (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64)) continue;
      if (type == R_X86_64_64 && entry.r_addend != 0) continue;
      visit(object.strings + object.symbols[symbol].st_name,
            reinterpret_cast<std::uint64_t*>(object.bias + entry.r_offset), type == R_X86_64_JUMP_SLOT);
    }
  }
}

// Stores a value, lifting the write protection for a moment where there is one. False: it could not be lifted.
[[nodiscard]] bool store_slot(const LoadedObject& object, std::uint64_t* slot, std::uint64_t value) noexcept;

} // namespace heaptape::recorder
