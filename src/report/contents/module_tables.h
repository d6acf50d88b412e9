// Names and unwind tables of the program's code at a snapshot, by module: from the files on this machine, if they are the ones that were
// mapped, else from what the snapshot's memory holds of them, as of the kernel's own code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "report/contents/snapshot_memory.h"
#include "symbols/symbolizer.h"
#include "tape/reader.h"

namespace heaptape {

// One thread at a time. Tape and memory must outlive it.
class ModuleTables {
public:
  ModuleTables(const TapeReader& tape, SnapshotMemory& memory);

  // The module whose code lies at an address at the snapshot; null: none is known.
  const Module* module_at(std::uint64_t address) const;
  const UnwindTable& unwind_table(const Module& module);
  // What these addresses of the program's memory, all in one module, stand for. Many at once are much cheaper than one by one.
  std::vector<SourcePlaces> places(const Module& module, std::span<const std::uint64_t> addresses);

private:
  // The bytes of the table in memory have to stay.
  struct InMemory {
    std::vector<std::byte> bytes{};
    UnwindTable table{};
  };
  ModuleSymbols& symbols_of(const Module& module);
  void read_memory(const Module& module, InMemory& into);

  const TapeReader& tape_;
  SnapshotMemory& memory_;
  Symbolizer symbolizer_;
  std::map<std::pair<std::string, std::vector<std::uint8_t>>, ModuleSymbols> opened_;
  std::map<const Module*, InMemory> in_memory_;
};

} // namespace heaptape
