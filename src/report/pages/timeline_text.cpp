#include "report/pages/timeline_text.h"

#include <algorithm>
#include <array>

#include "base/number_text.h"
#include "report/text/mark_text.h"

namespace heaptape {
namespace {

constexpr std::array kEighths = std::to_array<std::string_view>({" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"});
constexpr std::array kCoarse = std::to_array<std::string_view>({" ", " ", ".", ".", ":", ":", "|", "|", "#"});
constexpr std::size_t kSteps = 8; // per row

class Picture {
public:
  Picture(const Findings& findings, const std::vector<Mark>& marks, const TimelinePicture& size, const TextStyle& style)
      : findings_(findings), marks_(marks), style_(style), height_(std::max<std::size_t>(size.height, 2)),
        whole_width_(size.width) {
    // A run without a sample has no second line.
    const std::uint64_t rss = largest_rss();
    top_ = std::max<std::uint64_t>(std::max(findings.totals.peak_bytes, rss), 1);
    axis_ = std::max(columns_of(bytes_text(top_)), columns_of(bytes_text(top_ / 2))) + 1;
    const std::size_t width = size.width > axis_ + 12 ? size.width - axis_ - 3 : 10;
    columns_ = timeline_columns(findings.timeline, findings.end_us, width);
  }

  std::string draw() {
    std::string out = title();
    for (std::size_t row = height_; row-- > 0;) out += line(row) + "\n";
    return out + foot() + mark_lines();
  }

private:
  std::uint64_t largest_rss() const {
    std::uint64_t most = 0;
    for (const TimeBucket& bucket : findings_.timeline.levels.front().buckets) most = std::max(most, bucket.rss_bytes);
    return most;
  }

  // Height of an amount in eighths of a row; something is never nothing.
  std::size_t steps(std::uint64_t bytes) const {
    const double share = static_cast<double>(bytes) / static_cast<double>(top_);
    const auto high = static_cast<std::size_t>(share * static_cast<double>(height_ * kSteps) + 0.5);
    return bytes != 0 ? std::max<std::size_t>(high, 1) : 0;
  }

  std::string title() const {
    const HeapTotals& totals = findings_.totals;
    const std::string peak = bytes_text(totals.peak_bytes) + " at " + duration_text(totals.peak_us);
    std::string text =
        std::string(style_.utf8 ? "█" : "#") + " live heap, peak " + peak + (style_.utf8 ? " (▲)" : " (^)");
    if (const auto& total = findings_.total_peak; total && total->mapping_bytes() != 0) {
      const std::string with = "with own mappings " + bytes_text(total->bytes) + " at " + duration_text(total->time_us);
      text += (columns_of(text) + 2 + columns_of(with) > whole_width_ ? "\n  " : ", ") + with;
    }
    if (const std::uint64_t rss = largest_rss(); rss != 0) {
      const std::string second = std::string(style_.utf8 ? "─" : "-") + " resident memory, at most " + bytes_text(rss);
      text += (columns_of(text) + 3 + columns_of(second) > whole_width_ ? "\n" : "   ") + second;
    }
    return text + "\n";
  }

  std::string line(std::size_t row) const {
    std::string label;
    if (row + 1 == height_) label = bytes_text(top_);
    if (row == 0 && height_ > 1) label = "0";
    if (row + 1 == height_ / 2 && row != 0) label = bytes_text(top_ * (row + 1) / height_);
    std::string text = padded_right(label, axis_) + (style_.utf8 ? " ┤" : " |");
    for (const TimelineColumn& column : columns_) text += cell(column, row);
    while (text.ends_with(' ')) text.pop_back();
    return text;
  }

  std::string cell(const TimelineColumn& column, std::size_t row) const {
    const auto& blocks = style_.utf8 ? kEighths : kCoarse;
    const std::size_t heap = steps(column.max_bytes), low = row * kSteps;
    const std::size_t filled = heap > low ? std::min(heap - low, kSteps) : 0;
    const std::size_t rss = steps(column.rss_bytes);
    const bool rss_here = rss != 0 && (rss - 1) / kSteps == row;
    if (rss_here && filled < kSteps / 2) return style_.dim(style_.utf8 ? "─" : "-");
    return std::string(blocks[filled]);
  }

  std::size_t column_of(std::uint64_t time_us) const {
    if (findings_.end_us == 0) return 0;
    const double share = static_cast<double>(time_us) / static_cast<double>(findings_.end_us);
    return std::min(static_cast<std::size_t>(share * static_cast<double>(columns_.size())), columns_.size() - 1);
  }

  std::string foot() const {
    const std::size_t width = columns_.size();
    std::string out = std::string(axis_ + 1, ' ') + (style_.utf8 ? "└" : "+");
    std::vector<std::string> ticks(width, style_.utf8 ? "─" : "-");
    for (const Mark& mark : marks_) ticks[column_of(mark.time_us)] = style_.utf8 ? "┬" : "'";
    if (findings_.totals.peak_event != 0) ticks[column_of(findings_.totals.peak_us)] = style_.utf8 ? "▲" : "^";
    for (const std::string& tick : ticks) out += tick;
    const std::string middle = duration_text(findings_.end_us / 2), end = duration_text(findings_.end_us);
    std::string times = "0";
    const std::size_t middle_at = width / 2 > middle.size() / 2 ? width / 2 - middle.size() / 2 : 0;
    if (middle_at > times.size() + 1 && middle_at + middle.size() + 2 + end.size() < width) {
      times = padded_left(times, middle_at) + middle;
    }
    if (times.size() + end.size() + 1 <= width) times += padded_right(end, width - times.size());
    return out + "\n" + std::string(axis_ + 2, ' ') + times + "\n";
  }

  std::string mark_lines() const {
    constexpr std::size_t kMost = 24;
    // All there are, if they are few; else the moments without the words, if they are; else the first moments.
    const std::vector<Mark> moments = marks_.size() <= kMost ? marks_ : moments_of(marks_);
    const std::size_t shown = std::min(moments.size(), kMost);
    const std::string indent(axis_ + 2, ' ');
    std::string out;
    for (std::size_t i = 0; i < shown; ++i) {
      out += indent + (style_.utf8 ? "┬ " : "' ") + seconds_text(moments[i].time_us) + " s  " +
             shortened(mark_words(moments[i]), whole_width_ > axis_ + 40 ? whole_width_ - axis_ - 18 : 22) + "\n";
    }
    if (shown < marks_.size())
      out += indent + "and " + with_separators(marks_.size() - shown) + " more: 'heaptape marks' lists them\n";
    return out;
  }

  const Findings& findings_;
  const std::vector<Mark>& marks_;
  const TextStyle& style_;
  std::size_t height_;
  std::size_t whole_width_;
  std::uint64_t top_ = 1;
  std::size_t axis_ = 0; // columns of the labels
  std::vector<TimelineColumn> columns_;
};

} // namespace

std::vector<TimelineColumn> timeline_columns(const Timeline& timeline, std::uint64_t end_us, std::size_t columns) {
  const TimelineLevel* level = &timeline.levels.back();
  for (const TimelineLevel& each : timeline.levels) {
    if (each.buckets.size() < columns * 4)
      continue; // finer than the picture, or cells would show steps that are not there
    level = &each;
    break;
  }
  const std::uint64_t length = std::max<std::uint64_t>(end_us + 1, 1);
  std::vector<TimelineColumn> all(std::max<std::size_t>(columns, 1));
  for (std::size_t i = 0; i < all.size(); ++i) {
    TimelineColumn& column = all[i];
    column.from_us = static_cast<std::uint64_t>(static_cast<double>(length) * static_cast<double>(i) /
                                                static_cast<double>(all.size()));
    column.to_us = static_cast<std::uint64_t>(static_cast<double>(length) * static_cast<double>(i + 1) /
                                              static_cast<double>(all.size()));
    const std::uint64_t last = level->buckets.size() - 1;
    const std::uint64_t first_bucket = std::min(column.from_us / level->bucket_us, last);
    const std::uint64_t end_bucket =
        std::max(first_bucket + 1, std::min((column.to_us + level->bucket_us - 1) / level->bucket_us, last + 1));
    column.min_bytes = level->buckets[first_bucket].min_bytes;
    for (std::uint64_t at = first_bucket; at < end_bucket; ++at) {
      const TimeBucket& bucket = level->buckets[at];
      column.min_bytes = std::min(column.min_bytes, bucket.min_bytes);
      column.max_bytes = std::max(column.max_bytes, bucket.max_bytes);
      column.rss_bytes = std::max(column.rss_bytes, bucket.rss_bytes);
    }
  }
  return all;
}

std::string timeline_text(const Findings& findings, const std::vector<Mark>& marks, const TimelinePicture& picture,
                          const TextStyle& style) {
  return Picture(findings, marks, picture, style).draw();
}

} // namespace heaptape
