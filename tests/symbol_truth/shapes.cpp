// C++: templates, inlined members, lambdas, an unnamed namespace, virtual functions, operators.
#include "shapes.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>

namespace {

struct Hidden {
  int value;
  __attribute__((noinline)) int grow(int by) const { return value + by * 3; }
};

__attribute__((noinline)) int helper(int number) {
  return Hidden{number}.grow(2) + static_cast<int>(std::to_string(number).size());
}

__attribute__((noinline)) static int file_local(const std::string& text) {
  return helper(static_cast<int>(text.size()));
}

} // namespace

template <class Function>
__attribute__((noinline)) int apply(Function function, int number) {
  return function(number) + function(number + 1);
}

struct Local {
  std::map<std::string, int> counts;
  int operator()(const std::string& key) { return ++counts[key]; }
  Local& operator+=(int number) {
    counts["sum"] += number;
    return *this;
  }
};

int main(int count, char** arguments) {
  shapes::Cache<int> numbers;
  shapes::Cache<std::string> names;
  for (int i = 0; i < count + 5; ++i) {
    numbers.insert(i);
    names.insert(std::string(arguments[0]) + std::to_string(i));
  }
  int sum = shapes::total(numbers.items);
  sum += apply([&](int number) { return number + file_local(names.items.front()); }, count);
  std::function<int(int)> later = [sum](int number) { return sum * number; };
  sum += later(count);
  Local local;
  for (const std::string& name : names.items) sum += local(name);
  local += sum;
  std::sort(names.items.begin(), names.items.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  const auto square = shapes::make_square(sum);
  std::printf("%d %g %d\n", sum, square->area(), static_cast<int>(numbers < shapes::Cache<int>{}));
  return 0;
}
