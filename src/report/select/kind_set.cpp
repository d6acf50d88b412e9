#include "report/select/kind_set.h"

#include <string_view>
#include <vector>

#include "base/near_word.h"
#include "base/number_text.h"

namespace heaptape {
namespace {

constexpr auto kKinds = static_cast<unsigned>(EventKind::TapeKinds);

std::uint64_t bits_where(auto predicate) {
  std::uint64_t bits = 0;
  for (unsigned kind = 1; kind < kKinds; ++kind) {
    if (predicate(static_cast<EventKind>(kind))) bits |= std::uint64_t{1} << kind;
  }
  return bits;
}

std::uint64_t bits_of(std::string_view name) {
  if (name == "alloc") return bits_where([](EventKind k) { return is_allocation(k) || is_reallocation(k); });
  if (name == "release") return bits_where([](EventKind k) { return is_release(k) || is_reallocation(k); });
  if (name == "realloc") return bits_where(is_reallocation);
  if (name == "map") return bits_where(is_mapping);
  if (name == "pool") return bits_where(is_pool);
  return bits_where([&](EventKind kind) {
    constexpr std::string_view kOperator = "operator ";
    std::string_view whole = kind_name(kind);
    if (whole == name) return true;
    return whole.starts_with(kOperator) && whole.substr(kOperator.size()) == name;
  });
}

Error not_a_kind(std::string_view name) {
  std::vector<std::string> kinds;
  for (unsigned kind = 1; kind < kKinds; ++kind) kinds.emplace_back(kind_name(static_cast<EventKind>(kind)));
  std::string known = "; known are";
  for (const std::string& kind : kinds) known += " " + kind + ",";
  for (const char* group : {"alloc", "release", "realloc", "map", "pool"}) kinds.emplace_back(group);
  const std::string meant = did_you_mean(name, kinds);
  return {ErrorCode::Usage,
          "'" + printable(name) + "' is not a kind of event" +
              (meant.empty() ? known + " and the groups alloc, release, realloc, map and pool" : meant)};
}

} // namespace

Result<KindSet> KindSet::parse(const std::string& names) {
  KindSet set;
  set.bits_ = 0;
  std::string_view rest = names;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    const std::uint64_t bits = bits_of(name);
    if (bits == 0) return not_a_kind(name);
    set.bits_ |= bits;
    if (comma == rest.npos) return set;
    rest.remove_prefix(comma + 1);
  }
}

} // namespace heaptape
