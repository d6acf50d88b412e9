#include "live/top_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/number_text.h"

namespace heaptape {
namespace {

constexpr std::size_t kHistory = 600;
constexpr std::size_t kHeadLines = 5;
constexpr std::uint64_t kWindowUs = 60'000'000, kBetweenLooksUs = 5'000'000;

const char* order_name(TopOrder order) {
  switch (order) {
  case TopOrder::Live: return "live";
  case TopOrder::Growth: return "growth";
  case TopOrder::Allocated: return "allocated";
  case TopOrder::Rate: return "rate";
  case TopOrder::Blocks: return "blocks";
  }
  return "";
}

std::string clock_text(std::uint64_t us) {
  const std::uint64_t seconds = us / 1'000'000;
  return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

// Two texts at the two ends of a line.
std::string spread(const std::string& left, const std::string& right, unsigned width) {
  const std::size_t taken = columns_of(right);
  if (taken + 2 >= width) return shortened(left, width);
  return padded_left(shortened(left, width - taken - 1), width - taken) + right;
}

std::string per_second(double number, double seconds) {
  return seconds > 0 ? short_bytes(static_cast<std::uint64_t>(number / seconds)) + "/s" : "-";
}

} // namespace

std::string signed_bytes(std::int64_t bytes) {
  if (bytes == 0) return "0";
  return (bytes < 0 ? "-" : "+") + short_bytes(static_cast<std::uint64_t>(bytes < 0 ? -bytes : bytes));
}

TopScreen::Look TopScreen::look() const {
  Look look{.clock_us = clock_us_, .total = moment_.live().bytes};
  for (const StackTally& tally : view_.heap().tallies()) look.live.push_back(tally.live().bytes);
  return look;
}

void TopScreen::set_base() {
  mark_ = look();
  marked_ = true;
  for (Row& row : rows_) row.growth = 0;
}

void TopScreen::refresh(const TopMoment& moment, std::uint64_t clock_us) {
  if (paused_) return;
  message_.clear();
  clock_us_ = clock_us;
  // The tape grows in steps: rates are over the time between the last two.
  const bool moved = moment.time_us > moment_.time_us;
  if (moved) {
    before_ = moment_;
    seconds_ = static_cast<double>(moment.time_us - before_.time_us) / 1e6;
  }
  moment_ = moment;
  history_.push_back(moment.live().bytes);
  if (history_.size() > kHistory) history_.erase(history_.begin());
  const std::vector<StackTally>& tallies = view_.heap().tallies();
  if (looks_.empty() || clock_us - looks_.back().clock_us >= kBetweenLooksUs) looks_.push_back(look());
  while (looks_.size() > 1 && clock_us - looks_[1].clock_us >= kWindowUs) looks_.pop_front();
  const Look& from = base();
  allocated_before_.resize(tallies.size());
  rates_.resize(tallies.size());
  rows_.resize(tallies.size());
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    if (moved) {
      rates_[i] =
          static_cast<std::uint64_t>(static_cast<double>(tallies[i].allocated.bytes - allocated_before_[i]) / seconds_);
      allocated_before_[i] = tallies[i].allocated.bytes;
    }
    const std::uint64_t before = i < from.live.size() ? from.live[i] : 0;
    const auto growth = static_cast<std::int64_t>(tallies[i].live().bytes - before);
    rows_[i] = {tallies[i], growth, rates_[i]};
  }
  sort_rows();
}

void TopScreen::sort_rows() {
  const auto figure = [&](const Row& row) -> std::int64_t {
    switch (order_) {
    case TopOrder::Live: return static_cast<std::int64_t>(row.tally.live().bytes);
    case TopOrder::Growth: return row.growth;
    case TopOrder::Allocated: return static_cast<std::int64_t>(row.tally.allocated.bytes);
    case TopOrder::Rate: return static_cast<std::int64_t>(row.rate);
    case TopOrder::Blocks: return static_cast<std::int64_t>(row.tally.live().blocks);
    }
    return 0;
  };
  std::sort(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) {
    const std::int64_t left = figure(a), right = figure(b);
    return left != right ? left > right : a.tally.stack < b.tally.stack;
  });
  // The eye stays on the stack, not on the line; but on the first line it wants the first.
  if (selected_ == 0) {
    move(0);
    return;
  }
  const auto found =
      std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.tally.stack == chosen_; });
  if (found != rows_.end()) selected_ = static_cast<std::size_t>(found - rows_.begin());
  move(0);
}

void TopScreen::move(std::ptrdiff_t by) {
  if (rows_.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(rows_.size() - 1);
  selected_ =
      static_cast<std::size_t>(std::clamp(static_cast<std::ptrdiff_t>(selected_) + by, std::ptrdiff_t{0}, last));
  chosen_ = rows_[selected_].tally.stack;
}

TopAction TopScreen::key(TopKey key) {
  if (page_ == Page::Help) {
    page_ = Page::List;
    return TopAction::None;
  }
  const auto page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(page_rows_, 1));
  if (page_ == Page::Stack) {
    switch (key) {
    case TopKey::Up: stack_first_ -= std::min<std::size_t>(stack_first_, 1); break;
    case TopKey::Down: ++stack_first_; break;
    case TopKey::PageUp: stack_first_ -= std::min(stack_first_, page_rows_); break;
    case TopKey::PageDown: stack_first_ += page_rows_; break;
    case TopKey::Home: stack_first_ = 0; break;
    case TopKey::Enter:
    case TopKey::Back: page_ = Page::List; break;
    default: break;
    }
    return TopAction::None;
  }
  switch (key) {
  case TopKey::Up: move(-1); break;
  case TopKey::Down: move(1); break;
  case TopKey::PageUp: move(-page); break;
  case TopKey::PageDown: move(page); break;
  case TopKey::Home: move(-static_cast<std::ptrdiff_t>(rows_.size())); break;
  case TopKey::End: move(static_cast<std::ptrdiff_t>(rows_.size())); break;
  case TopKey::Enter:
    if (!rows_.empty()) page_ = Page::Stack, stack_first_ = 0;
    break;
  case TopKey::Back:
  case TopKey::None: break;
  }
  return TopAction::None;
}

TopAction TopScreen::key(char letter) {
  const auto order = [&](TopOrder wanted) {
    order_ = wanted;
    page_ = Page::List;
    selected_ = first_ = 0;
    sort_rows();
    return TopAction::None;
  };
  if (page_ == Page::Help) {
    page_ = Page::List;
    return TopAction::None;
  }
  switch (letter) {
  case 'q':
    if (page_ == Page::List) return TopAction::Quit;
    page_ = Page::List;
    return TopAction::None;
  case 'h':
  case '?': page_ = Page::Help; return TopAction::None;
  case 'l': return order(TopOrder::Live);
  case 'g': return order(TopOrder::Growth);
  case 'a': return order(TopOrder::Allocated);
  case 'r': return order(TopOrder::Rate);
  case 'b': return order(TopOrder::Blocks);
  case 's': return order(static_cast<TopOrder>((static_cast<unsigned>(order_) + 1) % 5));
  case 'j': return key(TopKey::Down);
  case 'k': return key(TopKey::Up);
  case 'm': set_base(); return TopAction::Mark;
  case 'w': count_growth_lately(); return TopAction::Refresh;
  case ' ':
  case 'p': paused_ = !paused_; return paused_ ? TopAction::None : TopAction::Refresh;
  default: return TopAction::None;
  }
}

std::string TopScreen::history_text(std::size_t columns, const TextStyle& style) const {
  static constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr const char* kPlain[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
  const std::size_t count = std::min(columns, history_.size());
  const auto begin = history_.end() - static_cast<std::ptrdiff_t>(count);
  const std::uint64_t most = count != 0 ? *std::max_element(begin, history_.end()) : 0;
  std::string text;
  for (auto at = begin; at != history_.end(); ++at) {
    const std::size_t level =
        most != 0 ? static_cast<std::size_t>(static_cast<double>(*at) / static_cast<double>(most) * 8) : 0;
    text += (style.utf8 ? kBars : kPlain)[level];
  }
  return text;
}

void TopScreen::draw_head(std::vector<std::string>& lines, unsigned width, const TextStyle& style) const {
  const std::string state = moment_.ended ? "ended" : paused_ ? "PAUSED" : "running";
  lines.push_back(
      style.bold(spread("heaptape top  " + printable(moment_.program),
                        fmt::format("pid {}  {} {}", moment_.pid, state, clock_text(moment_.time_us)), width)));
  const Cost made = moment_.allocated - before_.allocated, gone = moment_.freed - before_.freed;
  std::string growth = "-"; // not known yet
  if (marked_ || !looks_.empty()) {
    const std::uint64_t us = clock_us_ - base().clock_us;
    growth = signed_bytes(static_cast<std::int64_t>(moment_.live().bytes - base().total)) +
             (marked_ ? " since mark, " + clock_text(us) : fmt::format(" in {} s", (us + 500'000) / 1'000'000));
  }
  lines.push_back(
      spread(fmt::format("live {} in {}", short_bytes(moment_.live().bytes), count_of(moment_.live().blocks, "block")),
             fmt::format("peak {}  growth {}", short_bytes(moment_.peak_bytes), growth), width));
  lines.push_back(spread(
      fmt::format("alloc {}  free {}", per_second(static_cast<double>(made.bytes), seconds_),
                  per_second(static_cast<double>(gone.bytes), seconds_)),
      fmt::format("ever {} in {}", short_bytes(moment_.allocated.bytes), count_of(moment_.allocated.blocks, "block")),
      width));
  lines.push_back(style.dim(history_text(width, style)));
}

std::string TopScreen::row_text(const Row& row, bool selected, unsigned width, const TextStyle& style) const {
  const std::string third = order_ == TopOrder::Rate ? short_bytes(row.rate) : short_bytes(row.tally.allocated.bytes);
  std::string line =
      fmt::format("{} {:>7} {:>8} {:>7} {:>9}  ", selected ? ">" : " ", short_bytes(row.tally.live().bytes),
                  signed_bytes(row.growth), third, with_separators(row.tally.live().blocks));
  line += view_.names().text().chain(row.tally.stack);
  line = shortened(line, width);
  if (!selected || !style.color) return line;
  return "\x1b[7m" + padded_left(line, width) + "\x1b[0m";
}

void TopScreen::draw_list(std::vector<std::string>& lines, unsigned width, unsigned height, const TextStyle& style,
                          bool quick) {
  const std::string titles = fmt::format("  {:>7} {:>8} {:>7} {:>9}  where (by {})", "live", "growth",
                                         order_ == TopOrder::Rate ? "alloc/s" : "total", "blocks", order_name(order_));
  lines.push_back(style.dim(shortened(titles, width)));
  page_rows_ = height > kHeadLines + 1 ? height - kHeadLines - 1 : 1;
  if (selected_ < first_) first_ = selected_;
  if (selected_ >= first_ + page_rows_) first_ = selected_ - page_rows_ + 1;
  const std::size_t end = std::min(rows_.size(), first_ + page_rows_);
  std::vector<StackId> shown;
  for (std::size_t i = first_; i < end; ++i) shown.push_back(rows_[i].tally.stack);
  if (!quick) view_.names().prepare(shown);
  for (std::size_t i = first_; i < end; ++i) lines.push_back(row_text(rows_[i], i == selected_, width, style));
}

void TopScreen::draw_stack(std::vector<std::string>& lines, unsigned width, unsigned height, const TextStyle& style,
                           bool quick) {
  const auto found =
      std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.tally.stack == chosen_; });
  if (found == rows_.end()) return;
  const StackTally& tally = found->tally;
  const StackId one[] = {chosen_};
  if (!quick) view_.names().prepare(one);
  lines.push_back(fmt::format("source {:016x}", view_.names().source_hash(chosen_)));
  lines.push_back(
      fmt::format("live  {:>9} in {}", short_bytes(tally.live().bytes), count_of(tally.live().blocks, "block")));
  lines.push_back(
      fmt::format("ever  {:>9} in {}", short_bytes(tally.allocated.bytes), count_of(tally.allocated.blocks, "block")));
  lines.push_back(
      fmt::format("freed {:>9} in {}", short_bytes(tally.freed.bytes), count_of(tally.freed.blocks, "block")));
  lines.push_back("");
  TextStyle plain = style;
  plain.width = width;
  std::string frames = view_.names().text().frames(chosen_, "", plain);
  std::vector<std::string> list;
  for (std::size_t at = 0; at < frames.size();) {
    const std::size_t newline = frames.find('\n', at);
    list.push_back(frames.substr(at, newline - at));
    at = newline + 1;
  }
  page_rows_ = height > lines.size() + 1 ? height - lines.size() - 1 : 1;
  stack_first_ = std::min(stack_first_, list.size() > page_rows_ ? list.size() - page_rows_ : 0);
  for (std::size_t i = stack_first_; i < std::min(list.size(), stack_first_ + page_rows_); ++i)
    lines.push_back(list[i]);
}

void TopScreen::draw_help(std::vector<std::string>& lines) {
  for (const char* line :
       {"", "  l g a r b    order by live, growth, allocated, rate, blocks; s cycles",
        "  up down      choose a stack (also j k, page up, page down, home, end)",
        "  enter        show the whole stack; enter, esc or q goes back", "  p, space     pause and resume",
        "  m            mark: growth is counted from here", "  w            growth of the last minute again",
        "  h, ?         this page", "  q            quit; the program runs on", "",
        "  live    bytes in blocks not freed yet, by the stack that made them",
        "  growth  change of live in the last minute, since the view started, or",
        "          since the mark; the second line says which", "  total   bytes ever allocated there", "",
        "  any key goes back"}) {
    lines.emplace_back(line);
  }
}

std::vector<std::string> TopScreen::draw(unsigned width, unsigned height, const TextStyle& style, bool quick) {
  std::vector<std::string> lines;
  draw_head(lines, width, style);
  switch (page_) {
  case Page::List: draw_list(lines, width, height, style, quick); break;
  case Page::Stack: draw_stack(lines, width, height, style, quick); break;
  case Page::Help: draw_help(lines); break;
  }
  if (height != 0 && lines.size() > height - 1) lines.resize(height - 1);
  while (lines.size() + 1 < height) lines.emplace_back();
  const char* const keys = page_ == Page::Stack ? "enter back  up down scroll  q back"
                                                : "q quit  enter stack  s order  p pause  m mark  h help";
  lines.push_back(style.dim(shortened(message_.empty() ? keys : message_, width)));
  return lines;
}

} // namespace heaptape
