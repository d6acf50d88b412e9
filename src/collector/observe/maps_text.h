// Reads the text of /proc/PID/maps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tape/maps.h"

namespace heaptape {

// Takes the text in any pieces. Names are kept as the kernel writes them, with " (deleted)" and "\012" for a newline.
// Lines that make no sense, or are not above the line before, are left out. Takes hostile text: a name may hold
// anything but a newline.
class MapsText {
public:
  // Adds to what came before.
  void add(std::string_view text, MapNames& names);
  // All whole lines so far, by address; then starts over.
  std::vector<MappedRange> take();

private:
  void add_line(std::string_view line, MapNames& names);

  std::vector<MappedRange> ranges_;
  std::string begun_; // a line without its end
};

} // namespace heaptape
