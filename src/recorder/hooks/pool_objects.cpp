#include "recorder/hooks/pool_objects.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstring>

#include "recorder/core/machine.h"
#include "recorder/core/readable.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint16_t kHiddenVersion = 0x8000;

// The loader adds the bias to the addresses in most dynamic sections, but not in all.
std::uint64_t in_memory(const LoadedObject& object, std::uint64_t address) noexcept {
  return address < object.begin ? address + object.bias : address;
}

// Whether symbol `index` is a function defined here under this name.
bool defines(const LoadedObject& object, std::uint32_t index, const char* name) noexcept {
  const Elf64_Sym& symbol = object.symbols[index];
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 || (type != STT_FUNC && type != STT_GNU_IFUNC)) return false;
  if (std::strcmp(object.strings + symbol.st_name, name) != 0) return false;
  return object.versions == nullptr || (object.versions[index] & kHiddenVersion) == 0;
}

std::uint32_t find_by_gnu_hash(const LoadedObject& object, const char* name) noexcept {
  std::uint32_t hash = 5381;
  for (const char* at = name; *at != '\0'; ++at) hash = hash * 33 + static_cast<unsigned char>(*at);
  const std::uint32_t* head = object.gnu_hash;
  const std::uint32_t buckets = head[0], first = head[1], blooms = head[2];
  if (buckets == 0) return 0;
  const std::uint32_t* bucket = head + 4 + 2 * std::size_t{blooms};
  const std::uint32_t* chain = bucket + buckets;
  std::uint32_t index = bucket[hash % buckets];
  if (index < first) return 0;
  for (;; ++index) {
    const std::uint32_t stored = chain[index - first];
    if ((stored | 1) == (hash | 1)) {
      if (defines(object, index, name)) return index;
    }
    if ((stored & 1) != 0) return 0;
  }
}

std::uint32_t find_by_hash(const LoadedObject& object, const char* name) noexcept {
  for (std::uint32_t index = 1, count = object.hash[1]; index < count; ++index) {
    if (defines(object, index, name)) return index;
  }
  return 0;
}

const Elf64_Dyn* read_segments(const dl_phdr_info& info, LoadedObject& object) noexcept {
  const Elf64_Dyn* dynamic = nullptr;
  object.bias = info.dlpi_addr;
  object.begin = ~std::uint64_t{0};
  for (std::size_t i = 0; i < info.dlpi_phnum; ++i) {
    const Elf64_Phdr& segment = info.dlpi_phdr[i];
    const std::uint64_t begin = info.dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
    if (segment.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const Elf64_Dyn*>(begin);
    if (segment.p_type == PT_LOAD) {
      object.begin = begin < object.begin ? begin : object.begin;
      object.end = end > object.end ? end : object.end;
    }
    if (segment.p_type == PT_GNU_RELRO) {
      object.relro_begin = begin & ~(kPage - 1);
      object.relro_end = end & ~(kPage - 1); // the loader protects whole pages only
    }
  }
  return dynamic;
}

} // namespace

bool read_object(const dl_phdr_info& info, LoadedObject& object) noexcept {
  const Elf64_Dyn* dynamic = read_segments(info, object);
  if (dynamic == nullptr) return false;
  std::uint64_t plt_bytes = 0, rela_bytes = 0;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const std::uint64_t value = dynamic->d_un.d_val;
    const std::uint64_t address = in_memory(object, value);
    switch (dynamic->d_tag) {
    case DT_SYMTAB: object.symbols = reinterpret_cast<const Elf64_Sym*>(address); break;
    case DT_STRTAB: object.strings = reinterpret_cast<const char*>(address); break;
    case DT_VERSYM: object.versions = reinterpret_cast<const std::uint16_t*>(address); break;
    case DT_GNU_HASH: object.gnu_hash = reinterpret_cast<const std::uint32_t*>(address); break;
    case DT_HASH: object.hash = reinterpret_cast<const std::uint32_t*>(address); break;
    case DT_JMPREL: object.tables[0].entries = reinterpret_cast<const Elf64_Rela*>(address); break;
    case DT_RELA: object.tables[1].entries = reinterpret_cast<const Elf64_Rela*>(address); break;
    case DT_PLTRELSZ: plt_bytes = value; break;
    case DT_RELASZ: rela_bytes = value; break;
    case DT_PLTREL:
      if (value != DT_RELA) return false;
      break;
    default: break;
    }
  }
  if (object.tables[0].entries != nullptr) object.tables[0].count = plt_bytes / sizeof(Elf64_Rela);
  if (object.tables[1].entries != nullptr) object.tables[1].count = rela_bytes / sizeof(Elf64_Rela);
  return object.symbols != nullptr && object.strings != nullptr;
}

std::uint32_t find_symbol(const LoadedObject& object, const char* name) noexcept {
  if (object.gnu_hash != nullptr) return find_by_gnu_hash(object, name);
  return object.hash != nullptr ? find_by_hash(object, name) : 0;
}

std::uint64_t find_definition(const LoadedObject& object, const char* name) noexcept {
  const std::uint32_t index = find_symbol(object, name);
  if (index == 0) return 0;
  const Elf64_Sym& symbol = object.symbols[index];
  const std::uint64_t address = object.bias + symbol.st_value;
  // An indirect function is asked which one it means; that is the loader's own way.
  const bool is_indirect = ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC;
  return is_indirect ? reinterpret_cast<std::uint64_t (*)()>(address)() : address;
}

bool store_slot(const LoadedObject& object, std::uint64_t* slot, std::uint64_t value) noexcept {
  const auto place = reinterpret_cast<std::uint64_t>(slot);
  const std::uint64_t page = place & ~(kPage - 1);
  const bool is_protected = place >= object.relro_begin && place < object.relro_end;
  if (is_protected &&
      (in_sandbox() || system_call(SYS_mprotect, static_cast<long>(page), kPage, PROT_READ | PROT_WRITE) != 0)) {
    return false;
  }
  std::atomic_ref<std::uint64_t>(*slot).store(value,
                                              std::memory_order_release); // other threads may be jumping through it
  if (is_protected) (void)system_call(SYS_mprotect, static_cast<long>(page), kPage, PROT_READ);
  return true;
}

} // namespace heaptape::recorder
