// Any bytes may be in a file that somebody executes. Scripts are left out: they would name files of this machine.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "recorder/hooks/program_file.h"

using namespace heaptape::recorder;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = memfd_create("program", 0);
  if (size != 0 && data[0] == '#') return -1;
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  (void)fit_of_descriptor(file);
  return 0;
}
