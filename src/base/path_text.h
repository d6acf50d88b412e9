// Parts of paths.
#pragma once

#include <string_view>

namespace heaptape {

// "cache.cpp" of "/src/cache.cpp"; the whole when there is no slash; "?" when nothing is left.
constexpr std::string_view base_name(std::string_view path) {
  const std::string_view base = path.substr(path.rfind('/') + 1);
  return base.empty() ? std::string_view("?") : base;
}

} // namespace heaptape
