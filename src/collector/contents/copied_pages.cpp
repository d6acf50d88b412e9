#include "collector/contents/copied_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace heaptape {

void CopiedPages::Unmap::operator()(std::byte* memory) const { ::munmap(memory, kBlockPages * kPageBytes); }

std::byte* CopiedPages::place(std::uint32_t number) const {
  return blocks_[(number - 1) / kBlockPages].get() + (number - 1) % kBlockPages * kPageBytes;
}

std::uint32_t CopiedPages::new_place() {
  if (!spare_.empty()) {
    const std::uint32_t number = spare_.back();
    spare_.pop_back();
    return number;
  }
  if (places_ >= most_pages_) return 0;
  if (places_ == blocks_.size() * kBlockPages) {
    void* const memory =
        ::mmap(nullptr, kBlockPages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 0;
    (void)::madvise(memory, kBlockPages * kPageBytes,
                    MADV_HUGEPAGE); // else every page is a fault, while the program stands still
    blocks_.emplace_back(static_cast<std::byte*>(memory));
  }
  return static_cast<std::uint32_t>(++places_);
}

CopiedPages::Drawer& CopiedPages::drawer(std::uint64_t begin) {
  if (last_ == nullptr || last_begin_ != begin) {
    last_ = &drawers_[begin];
    last_begin_ = begin;
  }
  return *last_;
}

bool CopiedPages::add(std::uint64_t address, std::span<const std::byte> page) {
  std::uint32_t& number = drawer(address / kDrawerBytes * kDrawerBytes)[address % kDrawerBytes / kPageBytes];
  if (number == 0) number = new_place();
  if (number == 0) return false;
  std::memcpy(place(number), page.data(), kPageBytes);
  return true;
}

void CopiedPages::forget(std::uint64_t begin, std::uint64_t end) {
  last_ = nullptr;
  auto at = drawers_.lower_bound(begin / kDrawerBytes * kDrawerBytes);
  while (at != drawers_.end() && at->first < end) {
    const std::uint64_t from = std::max(begin, at->first), to = std::min(end, at->first + kDrawerBytes);
    for (std::uint64_t page = from; page < to; page += kPageBytes) {
      std::uint32_t& number = at->second[page % kDrawerBytes / kPageBytes];
      if (number != 0) spare_.push_back(std::exchange(number, 0));
    }
    at = to - from == kDrawerBytes ? drawers_.erase(at) : std::next(at);
  }
}

void CopiedPages::clear() {
  last_ = nullptr;
  drawers_.clear();
  blocks_.clear();
  places_ = 0;
  spare_.clear();
}

void CopiedPages::for_each(const Sink& sink) const {
  for (const auto& [begin, drawer] : drawers_) {
    for (std::uint64_t i = 0; i < kPages; ++i) {
      if (drawer[i] != 0) sink(begin + i * kPageBytes, {place(drawer[i]), kPageBytes});
    }
  }
}

} // namespace heaptape
