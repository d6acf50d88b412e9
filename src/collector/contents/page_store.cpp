#include "collector/contents/page_store.h"

#include <cstring>
#include <utility>

namespace heaptape {

namespace {

constexpr std::size_t kFirstKnown = 1024;

// The word that the whole page repeats.
bool is_one_word(std::span<const std::byte> page, std::uint64_t& word) {
  std::memcpy(&word, page.data(), sizeof word);
  return std::memcmp(page.data(), page.data() + sizeof word, page.size() - sizeof word) == 0;
}

} // namespace

PageStore::Known& PageStore::find(std::uint64_t low, std::uint64_t high) {
  const std::size_t mask = known_.size() - 1;
  std::size_t at = low & mask;
  while (known_[at].number != 0 && (known_[at].low != low || known_[at].high != high)) at = (at + 1) & mask;
  return known_[at];
}

void PageStore::grow() {
  std::vector<Known> smaller(known_.empty() ? kFirstKnown : known_.size() * 2);
  smaller.swap(known_);
  for (const Known& known : smaller) {
    if (known.number != 0) find(known.low, known.high) = known;
  }
}

PageStore::Stored PageStore::add(std::span<const std::byte> page) {
  std::uint64_t word = 0;
  if (is_one_word(page, word)) return {word == 0 ? PageState::Zero : PageState::Fill, word};
  if (known_count_ * 2 >= known_.size()) grow();
  const PageHash hash = page_hash(page);
  Known& known = find(hash.low, hash.high);
  if (known.number != 0) return {PageState::Stored, known.number};
  known = {hash.low, hash.high, next_++};
  ++known_count_;
  waiting_.insert(waiting_.end(), page.begin(), page.end());
  const std::uint64_t number = known.number;
  if (waiting_.size() == kPagesPerChunk * kPageBytes) flush();
  return {PageState::Stored, number};
}

void PageStore::flush() {
  if (waiting_.empty()) return;
  const std::uint64_t first = next_ - waiting_.size() / kPageBytes;
  std::vector<std::byte> payload;
  put_pages(first, waiting_, packer_, payload);
  waiting_.clear();
  if (!failed_ && !write_(std::move(payload))) failed_ = true;
}

void PageStore::forget() {
  known_.clear();
  known_count_ = 0;
  waiting_.clear();
  failed_ = false;
}

} // namespace heaptape
