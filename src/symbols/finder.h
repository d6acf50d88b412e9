// Finds and opens files: the only part of symbols that does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "symbols/elf_image.h"
#include "symbols/symbol_options.h"

namespace heaptape {

// A file in memory, or bytes that are there already. It is mapped: truncating it meanwhile would end the process, but
// linkers and package managers replace files instead.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  static Result<MappedFile> open(const std::string& path);
  static Result<MappedFile> from_fd(int fd, std::string name); // the descriptor stays the caller's
  static MappedFile in_place(ByteSpan bytes, std::string name);

  ByteSpan bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

private:
  ByteSpan bytes_;
  bool mapped_ = false;
  std::string path_;
};

class Finder {
public:
  // The options must outlive it.
  explicit Finder(const SymbolOptions& options) : options_(options) {}

  // The module's own file. Fails when it is not there, cannot be read or is another one by now (its build-id differs).
  Result<MappedFile> module(const ModuleFile& wanted) const;

  // The separate debug file of a module. nullopt: there is none. Files that exist but do not belong to it are reported
  // in `problems`.
  std::optional<MappedFile> debug_file(const std::string& module_path, std::span<const std::uint8_t> build_id,
                                       const std::optional<DebugLink>& link, std::vector<std::string>& problems) const;

  // The file that dwz moved common parts to; `from` is the path of the file that names it.
  std::optional<MappedFile> alt_file(const std::string& from, const AltLink& link) const;

  // A .dwo file as the debug information names it, or the .dwp package beside `module_path`.
  std::optional<MappedFile> split_file(const std::string& module_path, const std::string& directory,
                                       const std::string& name) const;
  std::optional<MappedFile> split_package(const std::string& module_path) const;

private:
  std::string under_sysroot(const std::string& path) const;
  std::optional<MappedFile> linked_file(const std::string& module_path, std::span<const std::uint8_t> build_id,
                                        const DebugLink& link, std::vector<std::string>& problems) const;

  const SymbolOptions& options_;
};

} // namespace heaptape
