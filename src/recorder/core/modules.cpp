#include "recorder/core/modules.h"

#include <elf.h>
#include <link.h>

#include <cstring>

#include "recorder/core/capture.h"
#include "recorder/core/machine.h"
#include "recorder/core/recorder.h"
#include "recorder/core/ring.h"

namespace heaptape::recorder {

namespace {

// What is remembered of an object in the log. Written once by the thread that claims the place; `start` is shown last.
struct Known {
  std::atomic<std::uint64_t> start;
  std::atomic<std::uint64_t> end;
  std::atomic<std::uint64_t> identity; // hash of path and build-id
  std::atomic<const void*> link_map;   // null: unloaded
};
constexpr std::size_t kMostKnown = 2048;
constinit Known g_known[kMostKnown];
constinit std::atomic<std::size_t> g_known_count{0};

std::size_t known_count() noexcept {
  const std::size_t count = g_known_count.load(std::memory_order_acquire);
  return count < kMostKnown ? count : kMostKnown;
}

std::uint64_t mix(std::uint64_t hash, const void* bytes, std::size_t size) noexcept {
  const auto* at = static_cast<const std::uint8_t*>(bytes);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ at[i]) * 0x100'0000'01b3u;
  return hash;
}

// Copies the NT_GNU_BUILD_ID of a note segment, if it is there.
void copy_build_id(const std::uint8_t* notes, std::uint64_t size, wire::ModuleEntry& entry) noexcept {
  const std::uint8_t* end = notes + size;
  while (end - notes >= static_cast<std::ptrdiff_t>(sizeof(Elf64_Nhdr))) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes, sizeof note);
    const std::uint64_t name_size = (std::uint64_t{note.n_namesz} + 3) & ~std::uint64_t{3};
    const std::uint64_t value_size = (std::uint64_t{note.n_descsz} + 3) & ~std::uint64_t{3};
    const std::uint8_t* value = notes + sizeof note + name_size;
    if (name_size + value_size > static_cast<std::uint64_t>(end - notes) - sizeof note) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + sizeof note, "GNU", 4) == 0) {
      entry.build_id_size =
          note.n_descsz < sizeof entry.build_id ? note.n_descsz : std::uint32_t{sizeof entry.build_id};
      std::memcpy(entry.build_id, value, entry.build_id_size);
      return;
    }
    notes = value + value_size;
  }
}

// Segments and build-id, from the ELF header that every object has mapped at its start.
void describe(const CodeObject& object, std::uint64_t load_bias, wire::ModuleEntry& entry) noexcept {
  const auto* base = reinterpret_cast<const std::uint8_t*>(object.start);
  Elf64_Ehdr header;
  std::memcpy(&header, base, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(Elf64_Phdr)) return;
  if (header.e_phoff > 4096 || header.e_phoff + std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr) > 4096) return;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, base + header.e_phoff + i * sizeof segment, sizeof segment);
    const std::uint64_t address = load_bias + segment.p_vaddr;
    if (address < object.start || address + segment.p_memsz > object.end) continue;
    if (segment.p_type == PT_LOAD && entry.segment_count < wire::kMaxSegments) {
      entry.segments[entry.segment_count++] = {address, segment.p_memsz, segment.p_offset, segment.p_flags};
    } else if (segment.p_type == PT_NOTE && entry.build_id_size == 0) {
      copy_build_id(reinterpret_cast<const std::uint8_t*>(address), segment.p_memsz, entry);
    }
  }
}

// Other code where there was some before: from now on the same address means something else.
bool replaces_other_code(const CodeObject& object, std::uint64_t identity) noexcept {
  for (std::size_t i = 0, count = known_count(); i < count; ++i) {
    const Known& known = g_known[i];
    if (known.link_map.load(std::memory_order_relaxed) != nullptr) continue;
    if (known.end.load(std::memory_order_relaxed) <= object.start ||
        known.start.load(std::memory_order_relaxed) >= object.end)
      continue;
    if (known.identity.load(std::memory_order_relaxed) != identity ||
        known.start.load(std::memory_order_relaxed) != object.start)
      return true;
  }
  return false;
}

void append(const CodeObject& object) noexcept {
  const auto* map = static_cast<const link_map*>(object.link_map);
  wire::Header& header = *g_recorder.header;
  const char* path = map->l_name != nullptr ? map->l_name : "";
  const std::size_t path_size = std::strlen(path);
  const std::uint64_t size = (sizeof(wire::ModuleEntry) + path_size + 7) & ~std::uint64_t{7};
  const std::uint64_t offset = header.module_log_used.fetch_add(size, std::memory_order_relaxed);
  if (size > wire::kModuleLogBytes || offset > wire::kModuleLogBytes - size) {
    count_loss(wire::Loss::ModuleLogFull);
    return;
  }
  auto& entry = *reinterpret_cast<wire::ModuleEntry*>(g_recorder.memory + g_recorder.config.modules + offset);
  entry.path_size = static_cast<std::uint32_t>(path_size);
  entry.ticks = ticks_now();
  entry.load_bias = map->l_addr;
  entry.start = object.start;
  entry.end = object.end;
  entry.segment_count = 0;
  entry.build_id_size = 0;
  describe(object, map->l_addr, entry);
  std::memcpy(reinterpret_cast<char*>(&entry + 1), path, path_size);

  const std::uint64_t identity = mix(mix(0xcbf2'9ce4'8422'2325u, path, path_size), entry.build_id, entry.build_id_size);
  if (replaces_other_code(object, identity)) {
    g_recorder.epoch.fetch_add(1, std::memory_order_relaxed);
    g_code_generation.fetch_add(1, std::memory_order_release);
  }
  const std::size_t place = g_known_count.fetch_add(1, std::memory_order_relaxed);
  if (place < kMostKnown) {
    Known& known = g_known[place];
    known.end.store(object.end, std::memory_order_relaxed);
    known.identity.store(identity, std::memory_order_relaxed);
    known.link_map.store(object.link_map, std::memory_order_relaxed);
    known.start.store(object.start, std::memory_order_release);
  }
  entry.size.store(static_cast<std::uint32_t>(size), std::memory_order_release);
}

} // namespace

void note_module(const CodeObject& object) noexcept {
  if (g_recorder.header == nullptr) return;
  for (std::size_t i = known_count(); i > 0; --i) {
    const Known& known = g_known[i - 1];
    if (known.start.load(std::memory_order_acquire) == object.start &&
        known.link_map.load(std::memory_order_relaxed) == object.link_map) {
      return;
    }
  }
  append(object);
}

void note_unloading() noexcept {
  bool gone = false;
  for (std::size_t i = 0, count = known_count(); i < count; ++i) {
    Known& known = g_known[i];
    const void* map = known.link_map.load(std::memory_order_relaxed);
    const std::uint64_t start = known.start.load(std::memory_order_acquire);
    if (map == nullptr || start == 0) continue;
    const CodeObject now = find_object(start);
    if (now.start == start && now.link_map == map) continue;
    known.link_map.store(nullptr, std::memory_order_relaxed);
    g_recorder.rules.forget(start, known.end.load(std::memory_order_relaxed));
    gone = true;
  }
  if (gone) g_code_generation.fetch_add(1, std::memory_order_release); // pairs with capture_changed()
}

void reset_modules() noexcept {
  for (std::size_t i = 0, count = known_count(); i < count; ++i) g_known[i].start.store(0, std::memory_order_relaxed);
  g_known_count.store(0, std::memory_order_relaxed);
}

} // namespace heaptape::recorder
