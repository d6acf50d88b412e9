// The second unit of shapes.cpp.
#include "shapes.h"

namespace shapes {

namespace {

class Square final : public Shape {
public:
  explicit Square(double side) : side_(side) {}
  double area() const override { return side_ * side_; }

private:
  double side_;
};

} // namespace

std::unique_ptr<Shape> make_square(double side) { return std::make_unique<Square>(side); }

int total(const std::vector<int>& numbers) {
  Cache<int> copies;
  int sum = 0;
  for (const int number : numbers) {
    copies.insert(number);
    sum += number;
  }
  return sum + static_cast<int>(copies.items.size());
}

} // namespace shapes
