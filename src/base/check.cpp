#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace heaptape {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "heaptape: internal error: %s does not hold (%s:%d); please report it\n", condition, file, line);
  std::abort();
}

} // namespace heaptape
