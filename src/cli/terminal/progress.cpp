#include "cli/terminal/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/number_text.h"

namespace heaptape::cli {

namespace {

constexpr std::uint64_t kFirstAfter = 300'000'000, kEvery = 100'000'000; // nanoseconds
constexpr std::size_t kWidth = 78;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

void put(std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

bool is_capable_terminal() {
  const char* const name = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && name != nullptr && std::string_view(name) != "dumb";
}

} // namespace

ProgressLine::ProgressLine(std::string task)
    : task_(std::move(task)), terminal_(is_capable_terminal()), next_ns_(now_ns() + kFirstAfter) {}

ProgressLine::~ProgressLine() {
  if (drawn_) put("\r\033[K");
}

void ProgressLine::show(std::uint64_t done, std::uint64_t all, std::string_view what) {
  if (!terminal_ || all == 0) return;
  const std::uint64_t now = now_ns();
  if (now < next_ns_) return;
  next_ns_ = now + kEvery;
  std::string line = fmt::format("heaptape: {}  {} %", task_, std::min(done, all) * 100 / all);
  if (!what.empty()) line += "  " + printable(what);
  put("\r" + line.substr(0, kWidth) + "\033[K");
  drawn_ = true;
}

} // namespace heaptape::cli
