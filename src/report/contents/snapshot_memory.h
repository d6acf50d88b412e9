// The memory of a program at one snapshot of its tape, opened to be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/memory/memory_image.h"
#include "analysis/memory/tape_pages.h"
#include "base/result.h"
#include "report/names/module_map.h"
#include "symbols/finder.h"
#include "tape/reader.h"

namespace heaptape {

// The last snapshot with memory up to and including this event, as a number in tape.snapshots(); or the one that was named, by its own
// number, when it is not 0: several may follow one event. The Error says what there is instead.
Result<std::size_t> find_snapshot(const TapeReader& tape, std::uint64_t event, std::uint64_t named = 0);

// Pages of files are read from the files on this machine, if they are the ones that were mapped. The tape must outlive it. One thread at a
// time, but any number of cursors may read image().
class SnapshotMemory {
public:
  SnapshotMemory(const TapeReader& tape, std::size_t snapshot, SymbolOptions options);
  SnapshotMemory(const SnapshotMemory&) = delete;
  SnapshotMemory& operator=(const SnapshotMemory&) = delete;

  const MemorySnapshot& facts() const { return facts_; }
  const MemoryImage& image() const { return image_; }
  MemoryCursor& cursor() { return cursor_; }
  // The mapping that holds an address; null: none.
  const MappedRange* region_at(std::uint64_t address) const;
  const std::string& name_of(const MappedRange& region) const { return names_[region.name]; }
  std::span<const std::string> region_names() const { return names_.texts(); }
  const ModuleMap& modules() const { return modules_; }
  const SymbolOptions& options() const { return options_; }
  // The program runs CPython, or has it inside.
  bool has_cpython() const { return has_cpython_; }

private:
  bool read_file_page(std::uint64_t address, std::span<std::byte> page);

  const MemorySnapshot& facts_;
  const MapNames& names_;
  ModuleMap modules_;
  SymbolOptions options_;
  bool has_cpython_ = false;
  TapePages pages_;
  std::mutex mutex_; // of files_
  std::map<std::pair<std::string, std::vector<std::uint8_t>>, std::optional<MappedFile>> files_;
  MemoryImage image_;
  MemoryCursor cursor_;
};

} // namespace heaptape
