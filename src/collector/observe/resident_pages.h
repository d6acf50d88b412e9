// Looks which pages of the program are in memory: now and then, when it uses more than ever before, so that its peak can be explained.
// The kernel walks the page tables for it and keeps other threads from changing the list of mappings meanwhile. It is therefore
// asked for some megabytes at a time, and not again before a hundred times as long has passed. One thread at a time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "tape/maps.h"
#include "tape/residency.h"

namespace heaptape {

// When to look: whenever the program has a twentieth more than at the last look, and once when it has stopped growing. All looks together
// take at most a hundredth of the time, and 20 ms at the start, so that short programs are seen well too.
class ResidencyPace {
public:
  // `rss_bytes` is what is resident now; call it with every sample.
  bool due(std::uint64_t now_ns, std::uint64_t rss_bytes);
  // For somebody who asks: there is more than ever, whatever it costs.
  bool is_news(std::uint64_t rss_bytes) const;
  // It was looked, which took this long; there were `rss_bytes` when it began.
  void looked(std::uint64_t cost_ns, std::uint64_t rss_bytes);

private:
  std::uint64_t start_ns_ = 0;
  std::uint64_t spent_ns_ = 0;
  std::uint64_t last_cost_ns_ = 0;
  std::uint64_t highest_looked_ = 0;
  std::uint64_t last_rss_ = 0;
};

class ResidentPages {
public:
  enum class Means : std::uint8_t {
    Scan, // the ioctl PAGEMAP_SCAN, of Linux 6.7 and later; goes over to Table where the kernel does not know it
    Table // the file /proc/PID/pagemap: eight bytes for every page, there or not
  };
  explicit ResidentPages(pid_t pid, Means means = Means::Scan);

  // Begins a look at these mappings, which are in order. Not while it is looking.
  void begin(const std::vector<MappedRange>& ranges, const MapNames& names);
  bool looking() const { return looking_; }
  // Looks on for about this long, and always a little. At the end gives the runs; nothing when the kernel does not say, or the program is gone.
  struct Look {
    std::vector<ResidentRun> runs;
    bool whole = false;
  };
  std::optional<Look> go_on(std::uint64_t most_ns);
  std::uint64_t cost_ns() const { return cost_ns_; } // CPU time of the last look

private:
  struct Part {
    std::uint64_t begin, end;
  };
  bool step();
  bool scan(Part part, std::uint64_t& until);
  bool read_table(Part part);
  void add(std::uint64_t begin, std::uint64_t end, bool of_file);

  UniqueFd file_;
  Means means_;
  bool looking_ = false;
  std::vector<Part> parts_; // still to look at; the next one is the last
  Look look_;
  std::uint64_t pages_left_ = 0; // that may still be read
  std::uint64_t cost_ns_ = 0;
  std::vector<std::uint64_t> buffer_;
};

} // namespace heaptape
