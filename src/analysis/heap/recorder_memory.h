// Which memory of a program is the recorder's, by the names in /proc/PID/maps.
#pragma once

#include <string_view>

#include "base/path_text.h"

namespace heaptape {

inline constexpr std::string_view kRecorderMemory = "/memfd:heaptape"; // how names begin
inline constexpr std::string_view kRecorderTables = "[anon:heaptape]"; // where the kernel keeps names of memory

inline bool is_recorder_memory(std::string_view name) {
  return name.starts_with(kRecorderMemory) || name == kRecorderTables || base_name(name).starts_with("libheaptape.so");
}

} // namespace heaptape
