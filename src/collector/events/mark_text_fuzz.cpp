// The text of a mark comes from the program as it is.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "collector/events/mark_collector.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heaptape::Mark mark;
  heaptape::parse_mark_text({reinterpret_cast<const char*>(data), size}, mark);
  HT_CHECK(mark.name.size() + mark.detail.size() <= size);
  return 0;
}
