#include "collector/maps_follower.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "collector/maps_text.h"

namespace heaptape {

namespace {

// So much of the text goes into one block of a tape, whatever it says; the kernel's usual limit of 65,530 mappings takes a third.
constexpr std::size_t kMostText = std::size_t{12} << 20;
constexpr std::uint64_t kFewestEarly = 8;        // an eighth of the usual distance
constexpr std::uint64_t kMomentsPerSpacing = 64; // then twice as far apart: an hour makes 450, a week 900
constexpr std::uint64_t kShare = 50;
// With every so many-th moment the list is put on the tape whole, so that damage has an end.
constexpr std::uint64_t kWholeEvery = 64;

} // namespace

bool MapsPace::due(std::uint64_t now_ns, std::uint64_t virtual_bytes) const {
  if (now_ns >= next_ns_) return true;
  const std::uint64_t change =
      virtual_bytes > virtual_bytes_ ? virtual_bytes - virtual_bytes_ : virtual_bytes_ - virtual_bytes;
  return now_ns >= next_early_ns_ && change > virtual_bytes_ / 16;
}

void MapsPace::asked(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t virtual_bytes, bool changed) {
  virtual_bytes_ = virtual_bytes;
  const std::uint64_t dear = (end_ns - begin_ns) * kShare;
  next_early_ns_ = end_ns + std::max(distance_ns_ / kFewestEarly, dear);
  next_ns_ = end_ns + std::max(distance_ns_, dear);
  if (changed && ++moments_ % kMomentsPerSpacing == 0) distance_ns_ *= 2;
  if (distance_ns_ < 100 * kMs) distance_ns_ += distance_ns_ / 4;
}

MapsFollower::MapsFollower(pid_t pid)
    : file_(::open(("/proc/" + std::to_string(pid) + "/maps").c_str(), O_RDONLY | O_CLOEXEC)) {}

bool MapsFollower::read() {
  if (!file_ || ::lseek(file_.get(), 0, SEEK_SET) != 0) return false;
  text_.resize(std::max<std::size_t>(text_.capacity(), std::size_t{64} << 10));
  std::size_t size = 0;
  while (true) {
    if (size == text_.size()) text_.resize(size * 2);
    const ssize_t got = ::read(file_.get(), text_.data() + size, text_.size() - size);
    if (got < 0) return false;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size > kMostText) {
      file_.reset(); // it would only grow
      return false;
    }
  }
  text_.resize(size);
  return size != 0;
}

std::optional<MapsChange> MapsFollower::look(std::uint64_t time_us) {
  if (!read() || text_ == last_text_) return std::nullopt;
  std::vector<MappedRange> now = parse_maps_text(text_, names_);
  // A program that is being torn down while its list is read shows a part of it; the stack is at its end, and always there.
  const bool whole_list = text_.find("[stack") != std::string::npos || last_text_.find("[stack") == std::string::npos;
  if (now.empty() || !whole_list) return std::nullopt;
  std::swap(text_, last_text_);
  const bool whole = moments_ % kWholeEvery == 0;
  MapsChange change = maps_change(whole ? std::vector<MappedRange>() : ranges_, now, time_us);
  change.whole = whole;
  ranges_ = std::move(now);
  ++moments_;
  return change;
}

} // namespace heaptape
