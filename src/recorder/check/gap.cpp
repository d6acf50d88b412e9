#include "recorder/check/gap.h"

#include "recorder/check/fill.h"
#include "recorder/check/report.h"

namespace heaptape::recorder {

namespace {

// A block beside a gap; without an address there is none. The fill of a released block goes on to the next 16 bytes.
struct Side {
  char* block = nullptr;
  std::uint64_t size = 0;
  char* end = nullptr;
};
Side side_of(char* slot, BlockFacts facts) noexcept {
  const BlockState state = facts.state();
  if (state != BlockState::Live && state != BlockState::Released) return {};
  char* const block = block_in(slot, facts);
  return {block, facts.size(), block + end_of_content(facts)};
}

Side side_of(const Slot& slot) noexcept { return side_of(slot.begin, {slot.facts->load(std::memory_order_relaxed)}); }

Side before(const Slot& slot) noexcept {
  if (slot.index == 0) return {};
  Slot left = slot;
  --left.index;
  --left.facts;
  left.begin -= kClassFacts[slot.size_class].bytes;
  return side_of(left);
}
Side behind(const Slot& slot) noexcept {
  if (slot.index + 1 >= kClassFacts[slot.size_class].slots) return {};
  Slot right = slot;
  ++right.index;
  ++right.facts;
  right.begin = slot.end();
  return side_of(right);
}

// What is written from the end of the left block on was written behind it, what ends at the begin of the right one before that;
// both at once, with whole bytes between them, are two errors. A gap that is written over from end to end was passed by somebody who
// ran on; in the middle of it the nearer one did it.
void report_gap(const Side& left, const Side& right, char* begin, char* end, FoundAt found) noexcept {
  const auto is_whole = [](const char* at) { return static_cast<std::uint8_t>(*at) == kRedzoneByte; };
  char* first = begin;
  while (first < end && is_whole(first)) ++first;
  if (first == end) return;
  char* last = end;
  while (is_whole(last - 1)) --last;
  const bool has_both = left.block != nullptr && right.block != nullptr;
  char* between = first;
  while (between < last && !is_whole(between)) ++between;
  if (has_both && first == begin && last == end && between < last) {
    report_damage(ErrorSort::WriteBehind, found, begin, between, kRedzoneByte, left.block, left.size);
    return report_damage(ErrorSort::WriteBefore, found, between, end, kRedzoneByte, right.block, right.size);
  }
  const bool of_left = right.block == nullptr || (left.block != nullptr && first - begin <= end - last);
  if (of_left)
    report_damage(ErrorSort::WriteBehind, found, begin, end, kRedzoneByte, left.block, left.size);
  else
    report_damage(ErrorSort::WriteBefore, found, begin, end, kRedzoneByte, right.block, right.size);
}

bool is_front_whole(const char* slot, const char* block) noexcept {
  return is_all_zero(difference16(block - kRedzone, pattern_of(kRedzoneByte))) &&
         (block == slot || is_filled(slot, static_cast<std::uint64_t>(block - slot), kRedzoneByte));
}

} // namespace

bool are_redzones_whole(const Slot& slot, BlockFacts facts) noexcept {
  const char* const block = block_in(slot.begin, facts);
  return is_front_whole(slot.begin, block) && is_redzone(block + end_of_content(facts), slot.end());
}

void report_redzones(const Slot& slot, BlockFacts facts, FoundAt found) noexcept {
  const Side own = side_of(slot.begin, facts);
  if (!is_front_whole(slot.begin, own.block)) {
    const Side left = before(slot);
    report_gap(left, own, left.block != nullptr ? left.end : slot.begin - kRedzone, own.block, found);
  }
  if (!is_redzone(own.end, slot.end())) {
    const Side right = behind(slot);
    report_gap(own, right, own.end, right.block != nullptr ? right.block : slot.end(), found);
  }
}

void report_released(char* block, std::uint64_t size, FoundAt found) noexcept {
  const std::uint64_t rounded = (size + 15) & ~std::uint64_t{15};
  if (rounded <= kFilledFront + kFilledBack || g_check.full)
    return report_damage(ErrorSort::WriteFreed, found, block, block + rounded, g_check.released_byte, block, size);
  report_damage(ErrorSort::WriteFreed, found, block, block + kFilledFront, g_check.released_byte, block, size);
  char* const back = block + rounded - kFilledBack;
  report_damage(ErrorSort::WriteFreed, found, back, back + kFilledBack, g_check.released_byte, block, size);
}

} // namespace heaptape::recorder
