// How full each place of the heap was, over a stretch of the run: one pass over its events, in bounded memory, although
// neither the places nor how many there are is known before its end.
//
// The picture is kept as differences in both directions, so that a block costs the same however large it is and however
// long it lives: four rows change where it begins and ends, in the two columns around the moment. Rows are made for the
// addresses that occur; when there are too many, neighbours are joined and cells get twice as large. All sums are whole
// numbers and exact.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "analysis/heap/block_map.h"
#include "analysis/index/index.h"
#include "tape/reader.h"

namespace heaptape {

// Addresses that were equally full all the time: a cell, or several that large blocks covered whole.
struct TimedStrip {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::vector<std::uint64_t>
      mean_bytes; // per column: live bytes per cell, on average over the column's time; rounded up
};

struct HeapOverTime {
  std::uint64_t cell_bytes = 0; // a power of two
  std::size_t columns = 0;
  std::vector<TimedStrip> strips; // by address; what was never used is not there
  bool whole = true;              // false: it was stopped before the end of the stretch
};

// Collects one. One thread at a time.
class OverTimeBuilder {
public:
  struct Size {
    std::size_t columns = 1024;
    std::size_t most_rows = 6144;        // each takes columns * 8 bytes
    std::uint64_t least_cell_bytes = 64; // a power of two
  };
  // `span` is how long the stretch is, in microseconds or events; moments are counted from its beginning.
  OverTimeBuilder(std::uint64_t span, const Size& size);

  // Changes from now on happen at this moment.
  void set_moment(std::uint64_t moment);
  void begins(const Block& block) { change(block, 1); }
  void ends(const Block& block) { change(block, ~std::uint64_t{0}); }

  HeapOverTime finish();

private:
  static constexpr unsigned kFractionBits = 8; // of a column
  // Differences from column to column; one column more than is shown. Negative ones wrap: a damaged tape may sum up to
  // anything.
  using Row = std::unique_ptr<std::uint64_t[]>;
  struct Known {
    std::uint64_t key = ~std::uint64_t{0};
    std::uint64_t* row = nullptr;
  };

  void change(const Block& block, std::uint64_t sign);
  void add(std::uint64_t key, std::uint64_t bytes);
  std::uint64_t* row(std::uint64_t key);
  void join_rows();

  std::uint64_t span_;
  Size size_;
  unsigned shift_; // cell = address >> shift_
  double parts_per_moment_;
  std::size_t column_ = 0;                      // of now
  std::uint64_t in_column_ = 0, in_next_ = 0;   // parts of a column that a change of now counts for
  std::unordered_map<std::uint64_t, Row> rows_; // by cell; differences from cell to cell
  std::array<Known, 1024> known_{};             // rows asked for lately
};

enum class TimeAxis : std::uint8_t { Time, Events };

struct AskOverTime {
  std::uint64_t after = 0;              // event; the stretch begins right after it
  std::uint64_t until = 0;              // its last event
  std::uint64_t from_us = 0, to_us = 0; // the same as times
  TimeAxis axis = TimeAxis::Time;
  OverTimeBuilder::Size size{};
  std::function<bool()> should_stop{};
  Progress progress{}; // of the events of the stretch
};
HeapOverTime heap_over_time(const TapeReader& tape, const Index& index, const AskOverTime& ask);

} // namespace heaptape
