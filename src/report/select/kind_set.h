// Which kinds of events are meant.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "tape/event.h"

namespace heaptape {

// A set of kinds; all of them by default.
class KindSet {
public:
  // Names as kind_name() gives them, "new" and "delete" without the "operator " too, or a group: "alloc" (everything
  // that makes a heap block), "release" (everything that ends one), "realloc" (with reallocarray; in both of these),
  // "map"; separated by commas.
  static Result<KindSet> parse(const std::string& names);

  bool contains(EventKind kind) const { return (bits_ >> static_cast<unsigned>(kind) & 1) != 0; }

private:
  std::uint64_t bits_ = ~std::uint64_t{0};
};

} // namespace heaptape
