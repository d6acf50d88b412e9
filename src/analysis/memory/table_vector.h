// Vectors of many small values that are used at random: their memory comes in huge pages, which halves the time of everything here.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/heap/table_memory.h"

namespace heaptape {

template <class T>
struct TablePages {
  static_assert(alignof(T) <= 64);
  using value_type = T;
  TablePages() = default;
  template <class U>
  TablePages(const TablePages<U>&) {}

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_zeroed(bytes(count), kLine)); }
  void deallocate(T* values, std::size_t count) { release_table(values, bytes(count)); }
  // Fresh memory is zero already: a table that is made in its final size is not written twice.
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) != 0 || !std::is_trivially_default_constructible_v<U>)
      std::construct_at(place, std::forward<Arguments>(arguments)...);
  }
  friend bool operator==(const TablePages&, const TablePages&) { return true; }

private:
  static constexpr std::size_t kLine = 64;
  static std::size_t bytes(std::size_t count) { return (count * sizeof(T) + kLine - 1) / kLine * kLine; }
};

// resize() to more than was ever there gives zeros; to what was there before, old values.
template <class T>
using TableVector = std::vector<T, TablePages<T>>;

template <class T>
std::size_t bytes_of(const TableVector<T>& table) {
  return table.size() * sizeof(T);
}

} // namespace heaptape
