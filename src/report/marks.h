// Moments that the program named itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tape/reader.h"

namespace heaptape {

struct Mark {
  std::string name;
  std::uint64_t event = 0; // the last one before it; 0: none
  std::uint64_t time_us = 0;
};

// In the order they were made.
std::vector<Mark> marks_of(const TapeReader& tape);

} // namespace heaptape
