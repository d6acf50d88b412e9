// Asks the kernel now and then what the program's address space looks like, and says what is new. The program only
// notices that a page of text at a time is made from its list of mappings while nobody may change that list: some 20
// us. One thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "collector/observe/maps_text.h"
#include "tape/maps.h"
#include "wire/layout.h"

namespace heaptape {

// When to ask: soon at first, then at growing distances, so that a run of any length has some hundred moments; earlier
// when the size of the address space has changed a lot; never so often that asking takes more than a fiftieth of the
// time.
class MapsPace {
public:
  bool due(std::uint64_t now_ns, std::uint64_t virtual_bytes) const;
  // It was asked, which took so long; `changed`: and there was something new.
  void asked(std::uint64_t now_ns, std::uint64_t cost_ns, std::uint64_t virtual_bytes, bool changed);

private:
  static constexpr std::uint64_t kMs = 1'000'000;
  std::uint64_t distance_ns_ = 10 * kMs;
  std::uint64_t next_ns_ = 0;
  std::uint64_t next_early_ns_ = 0; // when the size has changed
  std::uint64_t virtual_bytes_ = 0;
  std::uint64_t moments_ = 0;
};

class MapsFollower {
public:
  // `header`, if given, says which mappings are the recorder's; it must outlive this.
  explicit MapsFollower(pid_t pid, const wire::Header* header = nullptr);

  // Begins to read; `time_us` is now. Not while it is reading.
  void begin(std::uint64_t time_us);
  bool reading() const { return reading_; }
  // Reads on for about so long. At the end of the list, says what is new since the last time; nothing when all is as it
  // was, or the kernel does not say (the program is gone, or we may not ask).
  std::optional<MapsChange> go_on(std::uint64_t most_ns);
  // How long the last list took to read.
  std::uint64_t cost_ns() const { return cost_ns_; }

  const MapNames& names() const { return names_; }
  // As they were the last time, by address.
  const std::vector<MappedRange>& ranges() const { return ranges_; }
  // How many changes go_on() has given; the number of the next one.
  std::uint64_t moments() const { return moments_; }

private:
  std::optional<MapsChange> compare(std::vector<MappedRange> now);

  const wire::Header* header_;
  UniqueFd file_;
  bool reading_ = false;
  std::uint64_t time_us_ = 0;
  std::uint64_t cost_ns_ = 0;
  std::size_t bytes_ = 0; // of the list so far
  MapsText text_;
  std::string buffer_;
  MapNames names_;
  std::vector<MappedRange> ranges_;
  bool had_stack_ = false;
  std::uint64_t moments_ = 0;
};

} // namespace heaptape
