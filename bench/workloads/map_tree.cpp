// map_tree ROUNDS: builds and tears down a tree of std::map<std::string, ...>, as a program that keeps a configuration or a
// document does. Keys are longer than the small-string buffer, so a node is two or three allocations.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "keep.h"

namespace {

using bench::Random;

struct Node {
  std::map<std::string, Node> children;
  std::vector<std::uint32_t> values;
};

std::string key(Random& random) {
  std::string text = "configuration/section-";
  text += std::to_string(random.below(100'000));
  return text;
}

void grow(Node& node, Random& random, unsigned levels) {
  for (unsigned i = 0; i < 12; ++i) {
    Node& child = node.children[key(random)];
    child.values.push_back(i);
    if (levels > 1) grow(child, random, levels - 1);
  }
}

std::size_t prune(Node& node, Random& random) {
  std::size_t removed = 0;
  for (auto it = node.children.begin(); it != node.children.end();) {
    if (random.below(4) == 0) {
      it = node.children.erase(it);
      ++removed;
    } else {
      removed += prune(it->second, random);
      ++it;
    }
  }
  return removed;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto rounds = std::strtoul(argv[1], nullptr, 10);
  Random random(4);
  std::size_t removed = 0;
  for (unsigned long round = 0; round < rounds; ++round) {
    Node root;
    grow(root, random, 3);
    removed += prune(root, random);
    grow(root, random, 2);
  }
  std::printf("%zu\n", removed);
  return 0;
}
