// What one pass over a tape tells. docs/definitions.md says exactly what each figure means; the tests hold it to that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/heap/cost.h"
#include "analysis/heap/heap_totals.h"
#include "analysis/heap/owner.h"
#include "analysis/index/log_buckets.h"
#include "base/ids.h"

namespace heaptape {

// Of a set of blocks: those made at one stack, by one thread, or both.
struct Figures {
  Cost allocated;   // ever
  Cost freed;       // released, replaced by a realloc, or given up because their address was allocated again
  Cost at_peak;     // live at the moment of the peak
  Cost temporary;   // released by the thread that made them, as its very next event
  Cost short_lived; // freed within a millisecond
  Cost regrown;     // given up for a larger block that their own stack made just before: a vector that grew
  std::uint64_t lifetime_us = 0; // sum over the freed ones
  std::uint64_t largest = 0;     // bytes of the largest block

  // At the end.
  Cost live() const { return allocated - freed; }

  Figures& operator+=(const Figures& other);
  friend bool operator==(const Figures&, const Figures&) = default;
};

struct OwnerFigures : Figures {
  Owner owner;
  friend bool operator==(const OwnerFigures&, const OwnerFigures&) = default;
};
struct StackFigures : Figures {
  StackId stack;
  friend bool operator==(const StackFigures&, const StackFigures&) = default;
};
struct ThreadFigures : Figures {
  ThreadId thread;
  Cost freed_here;            // blocks of whatever thread that this one freed
  std::uint64_t events = 0;   // of every kind
  std::uint64_t first_us = 0; // its first event
  std::uint64_t last_us = 0;  // its last
  friend bool operator==(const ThreadFigures&, const ThreadFigures&) = default;
};

// Index: log_bucket(size in bytes).
struct SizeBucket {
  Cost allocated;
  Cost live; // at the end
  Cost at_peak;
  friend bool operator==(const SizeBucket&, const SizeBucket&) = default;
};
using SizeHistogram = std::array<SizeBucket, kLogBuckets>;

// Index: log_bucket(lifetime in microseconds).
struct LifetimeBucket {
  Cost freed;
  Cost live; // at the end; by their age then
  friend bool operator==(const LifetimeBucket&, const LifetimeBucket&) = default;
};
using LifetimeHistogram = std::array<LifetimeBucket, kLogBuckets>;

// The program's own mappings: bytes are whole pages, "blocks" are pieces (a munmap in the middle makes two of one).
struct MappingFigures {
  Cost mapped;                  // ever
  Cost open;                    // at the end
  std::uint64_t most_bytes = 0; // open at once
  friend bool operator==(const MappingFigures&, const MappingFigures&) = default;
};
struct StackMappings : MappingFigures {
  StackId stack;
  friend bool operator==(const StackMappings&, const StackMappings&) = default;
};
struct MappingFindings {
  MappingFigures anonymous;
  MappingFigures file;
  std::uint64_t anonymous_at_peak_bytes = 0; // open at the moment of the heap's peak
  std::uint64_t unknown_unmaps = 0;          // munmap and mremap of what is not a mapping of this tape
  std::vector<StackMappings> by_stack;       // by id; both sorts of mappings
  friend bool operator==(const MappingFindings&, const MappingFindings&) = default;
};

struct OwnerShare {
  Owner owner;
  Cost cost;
  friend bool operator==(const OwnerShare&, const OwnerShare&) = default;
};
struct StackShare {
  StackId stack;
  Cost cost;
  friend bool operator==(const StackShare&, const StackShare&) = default;
};
// When heap and own mappings together were largest (total_peak.h says which mappings count).
struct TotalPeak {
  std::uint64_t bytes = 0;
  std::uint64_t heap_bytes = 0; // of them; the rest is mappings
  std::uint64_t event = 0;      // the first after which it was reached
  std::uint64_t time_us = 0;
  std::vector<OwnerShare> blocks;   // live then; by owner
  std::vector<StackShare> mappings; // open then; by stack, in pieces

  std::uint64_t mapping_bytes() const { return bytes - heap_bytes; }
  friend bool operator==(const TotalPeak&, const TotalPeak&) = default;
};

// A stretch of the run. The heap at its very beginning counts for min and max, so an empty stretch has one value.
struct TimeBucket {
  std::uint64_t min_bytes = 0; // live
  std::uint64_t max_bytes = 0;
  std::uint64_t last_bytes = 0;
  std::uint64_t min_blocks = 0;
  std::uint64_t max_blocks = 0;
  std::uint64_t last_blocks = 0;
  std::uint64_t allocated_bytes = 0; // in it
  std::uint64_t events = 0;          // in it
  std::uint64_t rss_bytes = 0;       // largest sample of the kernel's in it, else the last one before; 0: none yet
  std::uint64_t anonymous_bytes = 0; // likewise
  friend bool operator==(const TimeBucket&, const TimeBucket&) = default;
};
struct TimelineLevel {
  std::uint64_t bucket_us = 1; // bucket i begins at i * bucket_us
  std::vector<TimeBucket> buckets;
  friend bool operator==(const TimelineLevel&, const TimelineLevel&) = default;
};
// The same run at several resolutions, coarsest first: at most 64, 1024 and 16384 buckets. Short runs have fewer levels; there
// is always one. Sixteen buckets of a level are one of the level before it.
struct Timeline {
  std::vector<TimelineLevel> levels;
  friend bool operator==(const Timeline&, const Timeline&) = default;
};

// What was live at evenly spaced moments, the last of them the end of the run.
inline constexpr std::size_t kGrowthMoments = 16;
struct StackGrowth {
  StackId stack;
  std::array<Cost, kGrowthMoments> live{};
  friend bool operator==(const StackGrowth&, const StackGrowth&) = default;
};
struct Growth {
  std::array<std::uint64_t, kGrowthMoments> moments_us{}; // after all events up to this time
  std::vector<StackGrowth> stacks;                        // by id; those with anything live at one of the moments
  friend bool operator==(const Growth&, const Growth&) = default;
};

struct Findings {
  HeapTotals totals;                    // equal to the tape's summary to the byte
  std::uint64_t end_us = 0;             // end of the run: of the recording, or the last event, sample or mark
  std::uint64_t unread_events = 0;      // on the tape, but damaged: they are in none of the figures
  std::uint64_t unknown_stacks = 0;     // events whose stack is damaged and reads as "no stack"
  std::vector<OwnerFigures> by_owner;   // by stack, then thread; those that made a block
  std::vector<StackFigures> by_stack;   // by id; the same summed over threads
  std::vector<ThreadFigures> by_thread; // by id; threads with events
  SizeHistogram sizes{};
  LifetimeHistogram lifetimes{};
  MappingFindings mappings;
  std::optional<TotalPeak> total_peak; // nullopt: no mapping ever counted, so it is the heap's peak
  Timeline timeline;
  Growth growth;

  // nullptr: it made no block (thread: had no event).
  const StackFigures* find(StackId stack) const;
  const ThreadFigures* find(ThreadId thread) const;

  friend bool operator==(const Findings&, const Findings&) = default;
};

// Fills by_stack, and the figures of by_thread that are sums, from by_owner. False: an owner's thread is not in by_thread.
bool sum_owners(Findings& findings);

} // namespace heaptape
