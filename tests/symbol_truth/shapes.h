// Shared by two units, so that inlined and out-of-line copies of one function come from either.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace shapes {

template <class T>
struct Cache {
  std::vector<T> items;

  inline void insert(const T& item) {
    if (items.size() > limit()) items.clear();
    items.push_back(item);
  }
  static std::size_t limit() { return 100; }
  bool operator<(const Cache& other) const { return items.size() < other.items.size(); }
};

struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
};

std::unique_ptr<Shape> make_square(double side);
int total(const std::vector<int>& numbers);

} // namespace shapes
