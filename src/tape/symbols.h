// Names of code addresses, stored on the tape so that it reads the same on another machine.
//
// An address belongs to a file, identified by path and build-id, and is counted as that file counts it. So a library
// that was loaded twice has its names once, and names stay right when another part of the tape is damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/source_place.h"
#include "tape/contents.h"

namespace heaptape {

// A SourcePlace whose text belongs to Symbols.
struct SymbolPlace {
  std::string_view function; // linkage name where there is one; empty: not known
  std::string_view file;     // empty: not known
  std::uint32_t line = 0;    // 0: not known
  std::uint32_t column = 0;  // 0: not known
  friend bool operator==(const SymbolPlace&, const SymbolPlace&) = default;
};

// A function that the program made at run time, and the frames on the tape that were in it.
struct RunTimeCode {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  std::string function{};
  std::string file{};        // empty: not known
  std::uint32_t line = 0;    // where the function begins; 0: not known
  std::uint64_t from_us = 0; // when it came to lie there, as far as known
  std::uint64_t to_us = 0;   // when something else did; 0: not known to have ended
  struct Frame {
    StackId node{};
    std::uint32_t line = 0; // 0: not known
    friend bool operator==(const Frame&, const Frame&) = default;
  };
  std::vector<Frame> frames{}; // by node
  friend bool operator==(const RunTimeCode&, const RunTimeCode&) = default;
};

// Const calls may come from any thread.
class Symbols {
public:
  // A file that symbols are known for: an index, valid for the Symbols that gave it.
  enum class File : std::uint32_t {};

  Symbols() = default;
  Symbols(Symbols&&) noexcept = default;
  Symbols& operator=(Symbols&&) noexcept = default;
  // The places point into the object.
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // nullopt: no symbol of this module is known. Ask once per module, not once per address.
  std::optional<File> file_of(const Module& module) const { return file_of(module.path, module.build_id); }
  std::optional<File> file_of(std::string_view path, std::span<const std::uint8_t> build_id) const;

  // What is known of an address, innermost first (see SourcePlaces); empty: nothing. Valid as long as this object is.
  std::span<const SymbolPlace> find(File file, std::uint64_t address) const;
  // Whether a signal trampoline is there: the frame outside it was interrupted, its pc is not a return address.
  bool is_signal_trampoline(File file, std::uint64_t address) const;

  // Code made at run time, in the order it was added. A later one names a frame instead of an earlier one.
  const std::vector<RunTimeCode>& run_time_code() const { return run_time_; }
  void add_run_time(RunTimeCode code);
  // What is known of a frame in such code, at most one place. Valid as long as this object is.
  std::span<const SymbolPlace> run_time_places(StackId node) const;

  // Addresses with something known; all files together, and frames in code made at run time.
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Adds a file, or gives the one that is there.
  File add_file(std::string_view path, std::span<const std::uint8_t> build_id);
  // Replaces what was known of the address; does nothing without places. These may be of either kind.
  void set(File file, std::uint64_t address, std::span<const SourcePlace> places, bool signal_trampoline = false);
  void set(File file, std::uint64_t address, std::span<const SymbolPlace> places, bool signal_trampoline = false);

  // Calls visit(path, build_id, addresses in order, File) for every file, in the order they were added.
  template <class Visit>
  void each_file(Visit visit) const {
    for (std::size_t i = 0; i < files_.size(); ++i)
      visit(files_[i].path, files_[i].build_id, sorted_addresses(files_[i]), static_cast<File>(i));
  }

private:
  struct Entry {
    std::uint32_t first = 0; // in places_
    std::uint32_t count = 0;
    bool signal_trampoline = false;
  };
  struct SourceFile {
    std::string path;
    std::vector<std::uint8_t> build_id;
    std::unordered_map<std::uint64_t, Entry> entries;
  };

  static std::vector<std::uint64_t> sorted_addresses(const SourceFile& file);
  std::string_view keep(std::string_view text);
  const Entry* entry(File file, std::uint64_t address) const;
  template <class Place>
  void set_places(File file, std::uint64_t address, std::span<const Place> places, bool signal_trampoline);

  std::vector<SourceFile> files_;
  std::map<std::pair<std::string, std::vector<std::uint8_t>>, std::uint32_t> file_index_;
  std::vector<SymbolPlace> places_;
  std::unordered_set<std::string> texts_; // never rehomed: its nodes stay where they are
  std::vector<RunTimeCode> run_time_;
  std::unordered_map<std::uint32_t, SymbolPlace> run_time_frames_; // by node
  std::size_t size_ = 0;
};

} // namespace heaptape
