// Input for the compiler workloads: many instantiations of standard and of our own templates. Never run.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#if defined VARIANTS
constexpr std::size_t kVariants = VARIANTS;
#elif defined SHORT
constexpr std::size_t kVariants = 1;
#else
constexpr std::size_t kVariants = 2;
#endif

template <std::size_t N>
struct Tag {
  static constexpr std::size_t value = N;
  std::array<char, N % 16 + 1> bytes{};
  friend bool operator<(const Tag& a, const Tag& b) { return a.bytes < b.bytes; }
};

template <class Sequence>
struct MakeTuple;
template <std::size_t... I>
struct MakeTuple<std::index_sequence<I...>> {
  using type = std::tuple<Tag<I>...>;
};
template <std::size_t N>
using Tags = typename MakeTuple<std::make_index_sequence<N>>::type;

template <std::size_t N>
struct Containers {
  std::map<Tag<N>, std::vector<std::pair<Tag<N>, std::string>>> by_tag;
  std::set<std::pair<int, Tag<N>>> ordered;
  std::unordered_map<std::string, std::shared_ptr<Tag<N>>> by_name;

  std::size_t fill(int count) {
    for (int i = 0; i < count; ++i) {
      by_tag[Tag<N>{}].emplace_back(Tag<N>{}, std::to_string(i));
      ordered.emplace(i, Tag<N>{});
      by_name[std::to_string(i)] = std::make_shared<Tag<N>>();
    }
    std::vector<std::size_t> sizes{by_tag.size(), ordered.size(), by_name.size(), N};
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}, [](auto a, auto b) { return a * 3 + b; });
  }
};

template <std::size_t N>
std::size_t visit_all(int which) {
  using Choice = std::variant<Tag<N>, Tag<N + 1>, Tag<N + 2>, std::string>;
  Choice choice = which == 0 ? Choice(Tag<N>{}) : Choice(std::string("text"));
  return std::visit(
      [](const auto& held) -> std::size_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::string>)
          return held.size();
        else
          return std::decay_t<decltype(held)>::value;
      },
      choice);
}

template <std::size_t... I>
std::size_t all(std::index_sequence<I...>, int count) {
  return (std::size_t{0} + ... + (Containers<I>{}.fill(count) + visit_all<I * 3>(count)));
}

template <class Tuple, std::size_t... I>
std::size_t sum(const Tuple& tuple, std::index_sequence<I...>) {
  return (std::size_t{0} + ... + std::get<I>(tuple).bytes.size());
}

int main(int argc, char** argv) {
  const Tags<40> tags;
  std::ostringstream out;
  out << sum(tags, std::make_index_sequence<40>()) << all(std::make_index_sequence<kVariants>(), argc);
  return out.str() == argv[0] ? 0 : 1;
}
