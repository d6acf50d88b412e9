#include "collector/observe/maps_follower.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "collector/observe/recorder_memory.h"
#include "collector/rings/tick_clock.h"

namespace heaptape {

namespace {

// This much text always fits into one block of a tape; the kernel's usual limit of 65,530 mappings takes half of it.
constexpr std::size_t kMostText = std::size_t{12} << 20;
constexpr std::size_t kMostNames = std::size_t{1} << 18;
constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
constexpr std::uint64_t kEarly = 8; // when the size has changed, this part of the usual distance
constexpr std::uint64_t kMomentsPerSpacing = 64;
constexpr std::uint64_t kShare = 50;
// Every N-th list is written whole, so that damage affects only a part of the tape.
constexpr std::uint64_t kWholeEvery = 64;

} // namespace

bool MapsPace::due(std::uint64_t now_ns, std::uint64_t virtual_bytes) const {
  if (now_ns >= next_ns_) return true;
  const std::uint64_t change =
      virtual_bytes > virtual_bytes_ ? virtual_bytes - virtual_bytes_ : virtual_bytes_ - virtual_bytes;
  return now_ns >= next_early_ns_ && change > virtual_bytes_ / 16;
}

void MapsPace::asked(std::uint64_t now_ns, std::uint64_t cost_ns, std::uint64_t virtual_bytes, bool changed) {
  virtual_bytes_ = virtual_bytes;
  const std::uint64_t dear = cost_ns * kShare;
  next_early_ns_ = now_ns + std::max(distance_ns_ / kEarly, dear);
  next_ns_ = now_ns + std::max(distance_ns_, dear);
  if (changed && ++moments_ % kMomentsPerSpacing == 0) distance_ns_ *= 2;
  if (distance_ns_ < 100 * kMs) distance_ns_ += distance_ns_ / 4;
}

MapsFollower::MapsFollower(pid_t pid, const wire::Header* header)
    : header_(header), file_(::open(("/proc/" + std::to_string(pid) + "/maps").c_str(), O_RDONLY | O_CLOEXEC)) {}

void MapsFollower::begin(std::uint64_t time_us) {
  cost_ns_ = bytes_ = 0;
  if (!file_ || ::lseek(file_.get(), 0, SEEK_SET) != 0) return;
  time_us_ = time_us;
  reading_ = true;
}

std::optional<MapsChange> MapsFollower::go_on(std::uint64_t most_ns) {
  if (!reading_) return std::nullopt;
  buffer_.resize(kBufferBytes);
  const std::uint64_t begin_ns = monotonic_ns();
  ssize_t size = 0;
  do {
    // Gives a page at a time, however large the buffer.
    size = ::read(file_.get(), buffer_.data(), buffer_.size());
    if (size <= 0) break;
    text_.add(std::string_view(buffer_).substr(0, static_cast<std::size_t>(size)), names_);
    bytes_ += static_cast<std::size_t>(size);
    if (bytes_ > kMostText || names_.size() > kMostNames) file_.reset(); // it would only grow
  } while (file_ && monotonic_ns() - begin_ns < most_ns);
  std::optional<MapsChange> change;
  if (size <= 0 || !file_) {
    reading_ = false;
    std::vector<MappedRange> now = text_.take();
    if (header_ != nullptr) name_recorder_memory(now, names_, *header_);
    if (size == 0 && file_) change = compare(std::move(now));
  }
  cost_ns_ += monotonic_ns() - begin_ns;
  return change;
}

std::optional<MapsChange> MapsFollower::compare(std::vector<MappedRange> now) {
  // Of a program that is being torn down the list may end early; the stack is at its end, and always there.
  const bool has_stack = std::any_of(now.begin(), now.end(), [&](const MappedRange& range) {
    return range.name != 0 && names_[range.name].starts_with("[stack");
  });
  if (now.empty() || (had_stack_ && !has_stack) || now == ranges_) return std::nullopt;
  had_stack_ = has_stack;
  const bool whole = moments_ % kWholeEvery == 0;
  MapsChange change = maps_change(whole ? std::vector<MappedRange>() : ranges_, now, time_us_);
  change.whole = whole;
  ranges_ = std::move(now);
  ++moments_;
  return change;
}

} // namespace heaptape
