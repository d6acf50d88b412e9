// How much memory the program has, seen from outside while it runs: samples of its size, its mappings, and which pages
// of them are resident. Each at its own pace, and onto the tape. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collector/events/tape_sink.h"
#include "collector/observe/maps_follower.h"
#include "collector/observe/proc_files.h"
#include "collector/observe/resident_pages.h"
#include "collector/observe/run_time_watch.h"
#include "collector/rings/tick_clock.h"
#include "tape/contents.h"

namespace heaptape {

class FootprintFollower {
public:
  // All must outlive it. `run_time` is shown the names of what is mapped.
  FootprintFollower(const ProcFiles& proc, const TickClock& clock, TapeSink& sink, RunTimeWatch& run_time,
                    const wire::Header& header);

  // Takes a sample if it is time for one. True: it was, and the program has run since the last.
  bool sample_when_due(std::uint64_t now_ns);
  // When the program last used more than a hundredth of a core, as far as samples show.
  std::uint64_t last_busy_ns() const { return last_busy_ns_; }
  void sample();
  // Reads on in the mappings or the pages if it is time for that, and for a short time only; shorter still when `busy`.
  void look(std::uint64_t now_ns, bool busy);
  // The mappings as they are now, all of them, and the pages, if more are resident than ever before.
  void look_at_all();
  void write_samples();
  void write_residency();

private:
  bool failed() const { return sink_.error().has_value(); }
  void read_maps(std::uint64_t now_ns, std::uint64_t most_ns);
  void look_at_pages(std::uint64_t most_ns);
  void finish_looking();
  void note_cpu_time(const Sample& sample);

  const ProcFiles& proc_;
  const TickClock& clock_;
  TapeSink& sink_;
  RunTimeWatch& run_time_;

  MapsFollower maps_;
  MapsPace maps_pace_;
  // A look at the pages follows a reading of the mappings, so that all it finds is in one of them.
  ResidentPages pages_;
  ResidencyPace pages_pace_;
  bool pages_wanted_ = false;
  Residency begun_look_;
  std::optional<Residency> look_; // done, and not yet on the tape
  bool had_look_ = false;
  std::uint64_t rss_bytes_ = 0; // of the last sample
  std::uint64_t peak_rss_bytes_ = 0, peak_rss_written_ = 0;
  std::uint64_t virtual_bytes_ = 0; // of the last sample
  std::uint64_t cpu_us_ = 0;        // likewise
  std::uint64_t sampled_ns_ = 0;    // when that was
  std::uint64_t last_busy_ns_ = 0;
  bool ran_ = true;            // it has run between the last sample and the one before
  bool ran_since_maps_ = true; // and since its mappings were read

  std::vector<Sample> samples_;
  std::uint64_t samples_taken_ = 0;
  std::uint64_t next_sample_ns_ = 0;
  std::uint64_t sample_every_ns_;
};

} // namespace heaptape
