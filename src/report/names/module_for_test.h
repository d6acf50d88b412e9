// For tests: a module at an address, without a file.
#pragma once

#include <cstdint>

#include "tape/contents.h"

namespace heaptape::test {

inline Module module(const char* path, std::uint64_t start, std::uint64_t end, std::uint64_t first_seen_us = 0) {
  Module made;
  made.path = path;
  made.load_bias = start;
  made.start = start;
  made.end = end;
  made.first_seen_us = first_seen_us;
  return made;
}

} // namespace heaptape::test
