// A snapshot of any bytes, from its table of pages to retained sizes.
#include <cstddef>
#include <cstdint>

#include "analysis/memory/hostile_snapshot_for_test.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heaptape::HostileSnapshot(std::span(data, size)).go_through();
  return 0;
}
