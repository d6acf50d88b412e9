// A heap of known types: prints "ready" and the address of a Circle, then waits for the end of its input.
//   100 shapes with virtual functions, 50 of them shared; 10 objects that are referred to by their second base
//   an array of 5 objects with virtual functions
//   nodes of a map, a list and an unordered_map, 40 of each; texts of 40 long strings
//   20 plain objects of a vector of unique_ptr; a buffer that hangs on each of them
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct Shape {
  virtual ~Shape() = default;
  double x = 1, y = 2;
};
struct Circle : Shape {
  double radius = 3;
};
struct Left {
  virtual ~Left() = default;
  int l = 1;
};
struct Right {
  virtual ~Right() = default;
  int r = 2;
};
struct Both : Left, Right {
  char text[40] = "both";
};
struct Plain {
  std::uint64_t id = 0;
  void* buffer = nullptr;
};

struct World {
  std::map<std::uint64_t, std::string> words;
  std::unordered_map<std::uint64_t, double> numbers;
  std::list<std::uint64_t> order;
  std::vector<Shape*> shapes;
  std::vector<std::shared_ptr<Shape>> shared;
  std::vector<Right*> rights;
  std::vector<std::unique_ptr<Plain>> plains;
  Circle* circles = nullptr;
};
World g_world;

int main() {
  for (std::uint64_t i = 0; i < 40; ++i) {
    g_world.words[i] = "a long word with the number " + std::to_string(i);
    g_world.numbers[i] = 0.5;
    g_world.order.push_back(i);
  }
  for (int i = 0; i < 50; ++i) {
    g_world.shapes.push_back(new Circle);
    g_world.shared.push_back(std::make_shared<Circle>());
  }
  for (int i = 0; i < 10; ++i) g_world.rights.push_back(new Both);
  g_world.circles = new Circle[5];
  for (int i = 0; i < 20; ++i) {
    g_world.plains.push_back(std::make_unique<Plain>());
    g_world.plains.back()->buffer = std::calloc(1, 200);
  }
  std::printf("ready %p\n", static_cast<void*>(g_world.shapes.front()));
  std::fflush(stdout);
  while (std::getchar() != EOF) {}
  return 0;
}
