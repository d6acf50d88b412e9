// An array that grows in place where it can and never needs twice its memory: pages are moved, not copied. For values without
// destructors, new ones all zero. One thread at a time.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace heaptape {

template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> && alignof(T) <= 4096);

public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept { swap(other); }
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GrowingArray() { resize_room(0); }

  [[gnu::always_inline]] T& operator[](std::size_t index) { return values_[index]; }
  [[gnu::always_inline]] const T& operator[](std::size_t index) const { return values_[index]; }
  std::size_t size() const { return size_; }
  const T* begin() const { return values_; }
  const T* end() const { return values_ + size_; }

  // A new value at the end.
  T& add() {
    if (size_ == room()) resize_room(bytes_ + bytes_ / 4 + kStep);
    return values_[size_++];
  }

  // Takes the last one away; its memory goes back in large pieces.
  T take_last() {
    const T value = values_[--size_];
    values_[size_] = T{};
    if (bytes_ - size_ * sizeof(T) > kGiveBack) resize_room(size_ * sizeof(T));
    return value;
  }

private:
  static constexpr std::size_t kStep = std::size_t{64} << 10, kGiveBack = std::size_t{2} << 20, kPage = 4096;

  std::size_t room() const { return bytes_ / sizeof(T); }
  void resize_room(std::size_t bytes) {
    bytes = (bytes + kPage - 1) & ~(kPage - 1);
    void* memory = nullptr;
    if (bytes == 0) {
      if (bytes_ != 0) ::munmap(values_, bytes_);
    } else {
      memory = bytes_ == 0 ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                           : ::mremap(values_, bytes_, bytes, MREMAP_MAYMOVE);
      HT_CHECK(memory != MAP_FAILED);
    }
    values_ = static_cast<T*>(memory);
    bytes_ = bytes;
  }
  void swap(GrowingArray& other) noexcept {
    std::swap(values_, other.values_);
    std::swap(size_, other.size_);
    std::swap(bytes_, other.bytes_);
  }

  T* values_ = nullptr;
  std::size_t size_ = 0;
  std::size_t bytes_ = 0; // mapped
};

} // namespace heaptape
