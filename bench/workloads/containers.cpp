// containers KIND ELEMENTS ROUNDS: what C++ programs do to the heap, in three ways.
//
//   mixed  maps of strings, vectors of strings, hash tables: about 40 MB, and much comparing between allocations
//   dense  map, vector and list filled and emptied, 50 MB, with little work between
//   few    the same, with 5,000 elements alive at a time: the heap fits into a cache, and quarantine and redzones do not
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "keep.h"

namespace {

using bench::Random;

constexpr std::size_t kFew = 5000;

std::string key(Random& random, std::size_t most) {
  char text[64];
  std::snprintf(text, sizeof text, "key-with-some-length-%08u", static_cast<unsigned>(random.below(most)));
  return text;
}

std::string letters(Random& random, std::size_t least, std::size_t more) {
  return std::string(least + random.below(more), 'x');
}

std::size_t mixed(Random& random, std::size_t elements) {
  std::size_t sum = 0;
  std::map<std::string, std::vector<std::size_t>> lists;
  for (std::size_t i = 0; i < elements; ++i) {
    auto& list = lists[key(random, elements / 4)];
    list.push_back(i);
    if (list.size() > 6) list = {};
    if (i % 3 == 0) lists.erase(key(random, elements / 4));
    sum += lists.size();
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < elements; ++i) {
    texts.push_back(letters(random, 10, 60));
    if (texts.size() > 1000 && random.below(2) == 0) {
      std::swap(texts[random.below(texts.size())], texts.back());
      texts.pop_back();
    }
  }
  std::unordered_map<std::size_t, std::string> table;
  for (std::size_t i = 0; i < elements; ++i) {
    table[random.below(elements)] = letters(random, 1, 40);
    if (i % 2 == 1) table.erase(random.below(elements));
  }
  return sum + texts.size() + table.size();
}

std::size_t dense(Random& random, std::size_t elements) {
  std::size_t sum = 0;
  {
    std::map<std::size_t, std::string> map;
    for (std::size_t i = 0; i < elements; ++i) {
      map.emplace_hint(map.end(), i, letters(random, 20, 32));
      if (i % 4 == 3) map.erase(map.begin());
    }
    sum += map.size();
  }
  {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < elements; ++i) texts.push_back(letters(random, 17, 64));
    for (auto& text : texts) text = letters(random, 17, 64);
    sum += texts.size();
  }
  std::list<std::vector<int>> lists;
  for (std::size_t i = 0; i < elements; ++i) {
    lists.emplace_back(4 + random.below(16));
    if (lists.size() > 2000) lists.pop_front();
  }
  return sum + lists.size();
}

std::size_t few(Random& random, std::size_t elements) {
  std::map<std::size_t, std::string> map;
  std::vector<std::string> texts(kFew);
  std::list<std::vector<int>> lists;
  for (std::size_t i = 0; i < elements; ++i) {
    map.emplace_hint(map.end(), i, letters(random, 20, 32));
    if (i >= kFew) map.erase(map.begin());
    texts[random.below(kFew)] = letters(random, 17, 64);
    lists.emplace_back(4 + random.below(16));
    if (lists.size() > kFew) lists.pop_front();
  }
  return map.size() + texts.size() + lists.size();
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string_view kind = argv[1];
  const auto elements = std::strtoul(argv[2], nullptr, 10);
  const auto rounds = std::strtoul(argv[3], nullptr, 10);
  if (elements < 4 || (kind != "mixed" && kind != "dense" && kind != "few")) return 2;
  Random random(1);
  std::size_t sum = 0;
  for (std::size_t round = 0; round < rounds; ++round)
    sum += kind == "mixed"   ? mixed(random, elements)
           : kind == "dense" ? dense(random, elements)
                             : few(random, elements);
  std::printf("%zu\n", sum);
  return 0;
}
