// The program's address space as the kernel showed it, at moments of the run: plain values on their way onto a tape,
// and all of a tape's moments as read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heaptape {

// Bits of MappedRange::permissions. The numbers are part of the tape format.
inline constexpr std::uint8_t kMapRead = 1;
inline constexpr std::uint8_t kMapWrite = 2;
inline constexpr std::uint8_t kMapExecute = 4;
inline constexpr std::uint8_t kMapShared = 8;   // else private
inline constexpr std::uint64_t kMapUnit = 4096; // addresses and offsets are multiples of it

// One line of /proc/PID/maps.
struct MappedRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0; // in the file
  std::uint32_t name = 0;   // number of a name in a MapNames; 0: none
  std::uint8_t permissions = 0;
  friend bool operator==(const MappedRange&, const MappedRange&) = default;
};

// Names with dense numbers, from 1; 0 is the empty one. Numbers and texts stay as they are for good.
class MapNames {
public:
  std::uint32_t number_of(std::string_view name);
  const std::string& operator[](std::uint32_t number) const { return texts_[number]; }
  std::size_t size() const { return texts_.size(); } // with the empty one
  const std::vector<std::string>& texts() const { return texts_; }

private:
  std::vector<std::string> texts_{std::string()};
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

// What was different at a moment: ranges that are gone, by where they began, and ranges that are new. Both by address.
// A range that changed is both.
struct MapsChange {
  std::uint64_t time_us = 0;
  bool whole = false; // compared with nothing: `added` is all there is
  std::vector<std::uint64_t> removed{};
  std::vector<MappedRange> added{};
  friend bool operator==(const MapsChange&, const MapsChange&) = default;
};
// From one list of ranges to another, both by address; their names are of the same MapNames.
MapsChange maps_change(const std::vector<MappedRange>& before, const std::vector<MappedRange>& now,
                       std::uint64_t time_us);

// The moments of a tape, in order. Const calls may come from any thread.
class Maps {
public:
  std::size_t size() const { return changes_.size(); }
  bool empty() const { return changes_.empty(); }
  std::uint64_t time_us(std::size_t moment) const { return changes_[moment].time_us; }
  // The last moment up to and including this time.
  std::optional<std::size_t> last_until(std::uint64_t time_us) const;

  // All ranges at a moment, by address; they never overlap and none is empty, whatever the tape says.
  std::vector<MappedRange> ranges(std::size_t moment) const;
  const MapNames& names() const { return names_; }

  MapNames& names() { return names_; }
  // The next moment. One that is not later than the last is left out, and so is one that rests on moments which are
  // missing. `number` counts the moments of the recording, from 0.
  void add(std::uint64_t number, MapsChange change);

private:
  MapNames names_;
  std::vector<MapsChange> changes_; // the first is whole
  std::uint64_t last_number_ = 0;
};

} // namespace heaptape
