// Ways through the innermost frames that the program has come before. Beside its last stack (StackCache), each thread
// remembers for recent calls which frames lay inside a frame of that stack, the *join*: if the words of those frames and
// everything from the join outward hold what they held, so does the whole stack, without unwinding a single frame.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

// Words a path compares: return slots of the frames between the call and the join, and saved RBPs that the way outward
// depends on. Most paths need few.
inline constexpr std::size_t kFewWords = 4, kMostWords = 16;

// All zero means empty.
struct alignas(64) KnownPath {
  std::uint64_t pc;                  // the call, a path's innermost frame: return address,
  std::uint64_t slot;                // where it lies (always on the thread's own stack),
  std::uint64_t rbp;                 // and RBP
  std::uint64_t join_stamp;          // of the frame in the stack cache
  std::uint32_t join;                // its index there
  std::uint32_t id;                  // the whole stack's number
  std::uint32_t generation;          // of the code map
  std::uint16_t needs_rbp;           // the way outward depends on RBP at the call
  std::uint8_t words;                // in use; the others are at offset 0 and hold pc
  std::uint8_t frames;               // of these, the first ones, which are return slots, innermost first
  std::uint32_t offsets[kMostWords]; // from slot; less than the way to the join's return slot
  std::uint64_t values[kMostWords];
};
static_assert(sizeof(KnownPath) == 256);

// Calls from one place at one depth may come on several paths. Two stack words tell them apart; where these lie is learnt
// from paths that got into each other's way.
struct PathHead {
  std::uint64_t pc;
  std::uint64_t slot;
  std::uint32_t near; // offsets of the words from slot; 0: none
  std::uint32_t far;
};

// Whether a thread's paths come again often enough to be worth remembering. If not, it is cheaper to keep the cache at the
// last stack. Tried anew from time to time, ever more rarely. All zero means new.
class Habit {
public:
  // To be asked at each capture whose path was not known; `position` counts the thread's events.
  bool repeats(std::uint64_t position) noexcept {
    if (position < pause_until_) return false;
    if (misses_ == 0) started_ = position;
    if (++misses_ < kTrial) return true;
    misses_ = 0;
    const bool good = position - started_ > 4 * kTrial; // at most every fourth one was new
    if (good) {
      pause_ = 0;
    } else {
      pause_ = pause_ == 0 ? kFirstPause : pause_ < kLongestPause ? 2 * pause_ : pause_;
      pause_until_ = position + pause_;
    }
    return good;
  }

private:
  static constexpr std::uint64_t kTrial = 256, kFirstPause = 4096, kLongestPause = std::uint64_t{1} << 20;
  std::uint64_t misses_;      // in this trial
  std::uint64_t started_;     // where it began
  std::uint64_t pause_until_; // no trial before this
  std::uint64_t pause_;       // the last one's length
};

class KnownPaths {
public:
  // For a new thread: nothing is known of its stack, so nothing of it may be read.
  void start() noexcept {
    for (PathHead& head : heads_) head = {};
  }

  // The one place where this call's path can be; null when nothing is known about the call.
  [[gnu::always_inline]] const KnownPath* find(std::uint64_t pc, std::uint64_t slot) const noexcept {
    const std::uint64_t mixed = mix(pc, slot);
    const PathHead& head = heads_[head_index(mixed)];
    if (head.pc != pc || head.slot != slot) [[unlikely]]
      return nullptr;
    return &paths_[path_index(head, mixed)];
  }

  // Where to put a path of this call. When another path of the same call is there, learns to tell the two apart.
  [[nodiscard]] KnownPath& make_room(std::uint64_t pc, std::uint64_t slot) noexcept;

private:
  static constexpr unsigned kHeadBits = 9, kPathBits = 9;
  static constexpr std::uint64_t kMix = 0x9e37'79b9'7f4a'7c15u;

  static std::uint64_t mix(std::uint64_t pc, std::uint64_t slot) noexcept { return (pc ^ (slot << 7)) * kMix; }
  static std::size_t head_index(std::uint64_t mixed) noexcept { return mixed >> (64 - kHeadBits); }
  static std::uint64_t load(std::uint64_t address) noexcept { return *reinterpret_cast<const std::uint64_t*>(address); }
  static std::size_t path_index(const PathHead& head, std::uint64_t mixed) noexcept {
    if (head.near == 0) return (mixed >> (64 - kHeadBits - kPathBits)) & ((std::size_t{1} << kPathBits) - 1);
    const std::uint64_t words = load(head.slot + head.near) ^ (load(head.slot + head.far) << 5);
    return ((mixed ^ words) * kMix) >> (64 - kPathBits);
  }

  PathHead heads_[std::size_t{1} << kHeadBits];
  KnownPath paths_[std::size_t{1} << kPathBits];
};

} // namespace heaptape::recorder
