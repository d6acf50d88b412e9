// HT_CHECK: our own mistakes, also in release builds. Never for input, never in the recorder.
#pragma once

namespace heaptape {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

#define HT_CHECK(condition)                                                                                            \
  do {                                                                                                                 \
    if (!(condition)) [[unlikely]]                                                                                     \
      ::heaptape::check_failed(#condition, __FILE__, __LINE__);                                                        \
  } while (false)
