// The full-screen view of a running program: what it shows and how keys change that. Knows no terminal: draw() gives
// lines, key() takes keys. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "live/live_view.h"
#include "live/top_text.h"
#include "report/text/text_style.h"

namespace heaptape {

enum class TopKey : std::uint8_t { None, Up, Down, PageUp, PageDown, Home, End, Enter, Back };

// What a key asks the caller of the view to do.
enum class TopAction : std::uint8_t { None, Quit, Mark, Refresh };

enum class TopOrder : std::uint8_t { Live, Growth, Allocated, Rate, Blocks };

class TopScreen {
public:
  // The view must outlive it.
  TopScreen(LiveView& view, TopOrder order) : view_(view), order_(order) {}

  // The view knows more: makes rates and growth, and puts the rows into order. Not while paused. `clock_us` goes on
  // also while nothing happens in the program.
  void refresh(const TopMoment& moment, std::uint64_t clock_us);
  // What was read so far was the past: growth is counted from the next refresh() on.
  void forget_growth() { looks_.clear(); }
  // A letter, or one of the keys without.
  TopAction key(char letter);
  TopAction key(TopKey key);
  // Growth is counted from here, until count_growth_lately().
  void set_base();
  // Growth is that of the last minute.
  void count_growth_lately() { marked_ = false; }

  // Lines of at most `width` columns, at most `height` of them. Looks up the names of what is shown; with `quick`, only
  // those at hand.
  std::vector<std::string> draw(unsigned width, unsigned height, const TextStyle& style, bool quick = false);

  bool paused() const { return paused_; }
  // One sentence for the last but one line; stays until the next refresh().
  void say(std::string sentence) { message_ = std::move(sentence); }

private:
  struct Row {
    StackTally tally{};
    std::int64_t growth = 0; // live bytes since the base
    std::uint64_t rate = 0;  // bytes allocated per second, lately
  };
  enum class Page : std::uint8_t { List, Stack, Help };
  // What was live at a moment, to compare with.
  struct Look {
    std::uint64_t clock_us = 0;
    std::uint64_t total = 0;
    std::vector<std::uint64_t> live{}; // by place in LiveHeap::tallies()
  };

  Look look() const;
  // What growth is counted from.
  const Look& base() const { return marked_ ? mark_ : looks_.front(); }

  void sort_rows();
  void move(std::ptrdiff_t by);
  void draw_head(std::vector<std::string>& lines, unsigned width, const TextStyle& style) const;
  void draw_list(std::vector<std::string>& lines, unsigned width, unsigned height, const TextStyle& style, bool quick);
  void draw_stack(std::vector<std::string>& lines, unsigned width, unsigned height, const TextStyle& style, bool quick);
  static void draw_help(std::vector<std::string>& lines);
  std::string row_text(const Row& row, bool selected, unsigned width, const TextStyle& style) const;
  std::string history_text(std::size_t columns, const TextStyle& style) const;

  LiveView& view_;
  TopOrder order_;
  Page page_ = Page::List;
  bool paused_ = false;
  TopMoment moment_, before_;
  double seconds_ = 0; // between the two
  std::vector<Row> rows_;
  std::vector<std::uint64_t> allocated_before_; // by place in LiveHeap::tallies()
  std::vector<std::uint64_t> rates_;            // likewise
  std::uint64_t clock_us_ = 0;                  // of the last refresh
  std::deque<Look> looks_;                      // of the last minute, a few seconds apart
  Look mark_;
  bool marked_ = false;
  std::vector<std::uint64_t> history_;   // live bytes at the last refreshes
  std::size_t selected_ = 0, first_ = 0; // rows
  StackId chosen_{};                     // the selected row's stack, which keeps selected when the order changes
  std::size_t stack_first_ = 0;          // first line shown on the page of a stack
  std::size_t page_rows_ = 10;
  std::string message_;
};

// "+1.2 MB", "-300 B", "0".
std::string signed_bytes(std::int64_t bytes);

} // namespace heaptape
