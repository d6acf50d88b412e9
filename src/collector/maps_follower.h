// Asks the kernel now and then what the program's address space looks like, and says what is new. The program only notices that,
// now and then, a page of text is made from its list of mappings while nobody may change that list: some 20 us. One thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "tape/maps.h"

namespace heaptape {

// When to ask: soon at first, then at growing distances, so that a run of any length has some hundred moments; earlier when the size
// of the address space has changed a lot; never so often that asking takes more than a fiftieth of the time.
class MapsPace {
public:
  bool due(std::uint64_t now_ns, std::uint64_t virtual_bytes) const;
  // It was asked from `begin_ns` to `end_ns`; `changed`: and there was something new.
  void asked(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t virtual_bytes, bool changed);

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
  explicit MapsFollower(pid_t pid);

  // What is new since the last time; nothing when all is as it was, or the kernel does not tell (the program is gone, or nobody may
  // ask). The program must run for this to be the whole truth: a list that ends early is not taken.
  std::optional<MapsChange> look(std::uint64_t time_us);

  const MapNames& names() const { return names_; }
  // How many changes look() has given; the number of the next one.
  std::uint64_t moments() const { return moments_; }

private:
  bool read();

  UniqueFd file_;
  std::string text_;      // as read last
  std::string last_text_; // as taken last
  MapNames names_;
  std::vector<MappedRange> ranges_;
  std::uint64_t moments_ = 0;
};

} // namespace heaptape
