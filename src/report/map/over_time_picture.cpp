#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/number_text.h"
#include "report/map/map_picture.h"
#include "report/map/picture_parts.h"

namespace heaptape {
namespace {

constexpr double kMargin = 24, kLabelWidth = 124, kTitleHeight = 44, kAxisHeight = 34, kLegendHeight = 44;
constexpr std::size_t kHeight = 720; // of the ranges together, without the gaps between them
constexpr std::size_t kGap = 18, kLeastHeight = 10;
constexpr std::size_t kMostRanges = 24;

// Strips side by side, or nearly so.
struct Band {
  std::uint64_t begin = 0, end = 0;
  std::size_t first = 0, last = 0; // strips
  double weight = 0;               // bytes times columns
  std::size_t height = 0;          // pixels
};

class OverTimeDrawing {
public:
  explicit OverTimeDrawing(const HeapOverTime& heap) : heap_(heap) {
    find_bands();
    leave_out_small_bands();
    double bytes = 0;
    for (const Band& band : bands_) bytes += static_cast<double>(band.end - band.begin);
    for (Band& band : bands_) {
      const double share = static_cast<double>(band.end - band.begin) / bytes;
      band.height = std::max(kLeastHeight, static_cast<std::size_t>(std::lround(share * static_cast<double>(kHeight))));
    }
  }

  double width() const { return 2 * kMargin + kLabelWidth + static_cast<double>(heap_.columns); }
  double height() const {
    return kMargin + kTitleHeight + static_cast<double>(bands_height()) + kAxisHeight + kLegendHeight + kMargin;
  }

  void draw(Canvas& canvas, const OverTimeLabels& labels) const {
    canvas.text(kMargin, kMargin + 16, fitted(canvas, labels.title, kTitle, width() - 2 * kMargin), kTitle);
    double y = kMargin + kTitleHeight;
    const double left = kMargin + kLabelWidth;
    for (std::size_t i = bands_.size(); i-- > 0;) { // the highest addresses on top
      const Band& band = bands_[i];
      canvas.image(left, y, heap_.columns, band.height, pixels_of(band));
      const bool both = band.height >= 30;
      canvas.text(left - 8, y + (both ? 10 : static_cast<double>(band.height) / 2 + 4),
                  address_text(both ? band.end : band.begin), kFaintRight);
      y += static_cast<double>(band.height);
      if (both) canvas.text(left - 8, y, address_text(band.begin), kFaintRight);
      if (i == 0) continue;
      draw_gap(canvas, left, y, band.begin - bands_[i - 1].end);
      y += kGap;
    }
    draw_axis(canvas, left, y + 2, labels);
    draw_legend(canvas, y + kAxisHeight + 26);
  }

private:
  std::size_t bands_height() const {
    std::size_t sum = bands_.empty() ? 0 : (bands_.size() - 1) * kGap;
    for (const Band& band : bands_) sum += band.height;
    return sum;
  }

  void find_bands() {
    std::uint64_t used = 0;
    for (const TimedStrip& strip : heap_.strips) used += strip.end - strip.begin;
    // A hole of less than a pixel or two is not a reason to cut.
    const std::uint64_t near = std::max<std::uint64_t>(used / 256, 16 * 1024);
    for (std::size_t i = 0; i < heap_.strips.size(); ++i) {
      const TimedStrip& strip = heap_.strips[i];
      if (bands_.empty() || strip.begin - bands_.back().end > near)
        bands_.push_back({strip.begin, strip.end, i, i, 0, 0});
      Band& band = bands_.back();
      band.end = strip.end;
      band.last = i + 1;
      const double cells = static_cast<double>((strip.end - strip.begin) / heap_.cell_bytes);
      for (const std::uint64_t mean : strip.mean_bytes) band.weight += static_cast<double>(mean) * cells;
    }
  }

  void leave_out_small_bands() {
    if (bands_.size() <= kMostRanges) return;
    std::stable_sort(bands_.begin(), bands_.end(), [](const Band& a, const Band& b) { return a.weight > b.weight; });
    double all = 0;
    for (const Band& band : bands_) all += band.weight;
    for (std::size_t i = kMostRanges; i < bands_.size(); ++i) left_out_share_ += bands_[i].weight / all;
    left_out_ = bands_.size() - kMostRanges;
    bands_.resize(kMostRanges);
    std::sort(bands_.begin(), bands_.end(), [](const Band& a, const Band& b) { return a.begin < b.begin; });
  }

  // Row 0 is the top one.
  std::vector<Rgb> pixels_of(const Band& band) const {
    std::vector<Rgb> pixels(band.height * heap_.columns, kNeverUsedColor);
    const double bytes_per_row = static_cast<double>(band.end - band.begin) / static_cast<double>(band.height);
    std::size_t strip = band.first;
    std::vector<double> bytes(heap_.columns);
    for (std::size_t row = 0; row < band.height; ++row) { // counted from the bottom
      const double low = static_cast<double>(row) * bytes_per_row, high = low + bytes_per_row;
      std::fill(bytes.begin(), bytes.end(), 0.0);
      while (strip < band.last && offset(band, heap_.strips[strip].end) <= low) ++strip;
      for (std::size_t at = strip; at < band.last && offset(band, heap_.strips[at].begin) < high; ++at) {
        const TimedStrip& part = heap_.strips[at];
        const double covered = std::min(high, offset(band, part.end)) - std::max(low, offset(band, part.begin));
        const double cells = covered / static_cast<double>(heap_.cell_bytes);
        for (std::size_t c = 0; c < heap_.columns; ++c) bytes[c] += static_cast<double>(part.mean_bytes[c]) * cells;
      }
      Rgb* line = pixels.data() + (band.height - 1 - row) * heap_.columns;
      bool used = false;
      for (std::size_t c = 0; c < heap_.columns; ++c) {
        if (bytes[c] > 0) line[c] = density_color(std::ceil(bytes[c] / bytes_per_row * 32) / 32);
        if (bytes[c] <= 0 && used) line[c] = kUsedBeforeColor;
        used = used || bytes[c] > 0;
      }
    }
    return pixels;
  }
  static double offset(const Band& band, std::uint64_t address) { return static_cast<double>(address - band.begin); }

  void draw_gap(Canvas& canvas, double x, double y, std::uint64_t bytes) const {
    const std::string text = bytes_text(bytes) + " left out";
    for (double at = 0; at < static_cast<double>(heap_.columns); at += 8)
      canvas.rectangle(x + at, y + kGap / 2.0 - 0.5, 4, 1, kLine);
    const double wide = canvas.text_width(text, kFaint) + 16;
    canvas.rectangle(x + 20, y, wide, kGap, {255, 255, 255});
    canvas.text(x + 28, y + 13, text, kFaint);
  }

  // Ticks at round values, about a hundred pixels apart.
  void draw_axis(Canvas& canvas, double x, double y, const OverTimeLabels& labels) const {
    const double wide = static_cast<double>(heap_.columns);
    canvas.rectangle(x, y, wide, 1, kFaintInk);
    canvas.text(x - 8, y + 19, labels.axis == TimeAxis::Time ? "time" : "event", kFaintRight);
    const std::uint64_t span = std::max<std::uint64_t>(labels.to - labels.from, 1);
    const std::uint64_t step = round_step(span, static_cast<std::uint64_t>(wide / 110) + 1);
    for (std::uint64_t value = (labels.from + step - 1) / step * step; value <= labels.to; value += step) {
      const double at = x + wide * static_cast<double>(value - labels.from) / static_cast<double>(span);
      canvas.rectangle(std::min(at, x + wide - 1), y, 1, 5, kFaintInk);
      const std::string text = labels.axis == TimeAxis::Events ? with_separators(value) : time_text(value, step);
      const double half = canvas.text_width(text, kFaint) / 2;
      canvas.text(std::clamp(at - half, x, x + wide - 2 * half), y + 19, text, kFaint);
    }
  }
  // 1, 2 or 5 times a power of ten, so that it goes into the span at most so often.
  static std::uint64_t round_step(std::uint64_t span, std::uint64_t most) {
    std::uint64_t power = 1;
    while (true) {
      for (const std::uint64_t times : {1u, 2u, 5u})
        if (span / (power * times) <= most) return power * times;
      power *= 10;
    }
  }
  // No more digits than the step has.
  static std::string time_text(std::uint64_t us, std::uint64_t step) {
    if (us == 0) return "0";
    if (step < 1000) return with_separators(us) + " us";
    if (step < 1'000'000 && us < 1'000'000) return with_separators(us / 1000) + " ms";
    if (step >= 1'000'000) return with_separators(us / 1'000'000) + " s";
    return decimal_text(static_cast<double>(us) / 1e6, step >= 100'000 ? 1 : step >= 10'000 ? 2 : 3) + " s";
  }

  void draw_legend(Canvas& canvas, double y) const {
    double x = draw_ramp(canvas, kMargin, y);
    x = draw_swatch(canvas, x, y, kUsedBeforeColor, "free again");
    x = draw_swatch(canvas, x, y, kNeverUsedColor, "not used yet");
    std::string note = "a cell is " + binary_size_text(heap_.cell_bytes);
    if (left_out_ != 0)
      note += fmt::format("; {} with {:.1f} % of the bytes not drawn", count_of(left_out_, "smaller range"),
                          left_out_share_ * 100);
    canvas.text(x, y, note, kFaint);
  }

  const HeapOverTime& heap_;
  std::vector<Band> bands_; // by address
  std::size_t left_out_ = 0;
  double left_out_share_ = 0;
};

} // namespace

Result<std::string> draw_over_time(const HeapOverTime& heap, const OverTimeLabels& labels, PictureFormat format) {
  if (heap.strips.empty())
    return Error{ErrorCode::NotFound, "nothing was live in this stretch of the run, so there is nothing to draw"};
  const OverTimeDrawing drawing(heap);
  const auto canvas = make_canvas(format, static_cast<std::size_t>(drawing.width()),
                                  static_cast<std::size_t>(drawing.height()), labels.title);
  drawing.draw(*canvas, labels);
  return canvas->file();
}

} // namespace heaptape
