#include "collector/contents/page_table.h"

#include <algorithm>

namespace heaptape {

void PageTable::set(std::uint64_t address, PageState state, std::uint64_t value) {
  if (state == PageState::Fill) {
    const auto [word, is_new] = word_numbers_.try_emplace(value, words_.size());
    if (is_new) words_.push_back(value);
    value = word->second;
  }
  Drawer& drawer = drawers_[address / kDrawerBytes * kDrawerBytes];
  drawer[address % kDrawerBytes / kPageBytes] = value << 3 | static_cast<std::uint64_t>(state);
}

void PageTable::clear(std::uint64_t begin, std::uint64_t end) {
  auto at = drawers_.lower_bound(begin / kDrawerBytes * kDrawerBytes);
  while (at != drawers_.end() && at->first < end) {
    const std::uint64_t from = std::max(begin, at->first), to = std::min(end, at->first + kDrawerBytes);
    if (to - from == kDrawerBytes) {
      at = drawers_.erase(at);
      continue;
    }
    for (std::uint64_t page = from; page < to; page += kPageBytes) at->second[page % kDrawerBytes / kPageBytes] = 0;
    ++at;
  }
}

void PageTable::clear() {
  drawers_.clear();
  words_.clear();
  word_numbers_.clear();
}

PageRun PageTable::run_of(std::uint64_t address, std::uint64_t entry) const {
  const auto state = static_cast<PageState>(entry & 7);
  const std::uint64_t value = state == PageState::Fill ? words_[entry >> 3] : entry >> 3;
  return {address, address + kPageBytes, state, value};
}

void PageTable::append_runs(std::uint64_t begin, std::uint64_t end, PageState otherwise,
                            std::vector<PageRun>& runs) const {
  const auto skip_to = [&](std::uint64_t until) {
    if (until > begin && otherwise != PageState::None) append_run(runs, {begin, until, otherwise, 0});
    begin = std::max(begin, until);
  };
  auto at = drawers_.lower_bound(begin / kDrawerBytes * kDrawerBytes);
  for (; at != drawers_.end() && at->first < end; ++at) {
    const std::uint64_t from = std::max(begin, at->first), to = std::min(end, at->first + kDrawerBytes);
    for (std::uint64_t page = from; page < to; page += kPageBytes) {
      const std::uint64_t entry = at->second[page % kDrawerBytes / kPageBytes];
      if (entry == 0) continue;
      skip_to(page);
      append_run(runs, run_of(page, entry));
      begin = page + kPageBytes;
    }
  }
  skip_to(end);
}

} // namespace heaptape
