// Any text as /proc/PID/maps: ranges come out in order, and two lists can be told apart and put together again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "collector/observe/maps_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heaptape;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Maps maps;
  MapsText lines;
  lines.add(text.substr(0, size / 2), maps.names());
  const std::vector<MappedRange> before = lines.take();
  lines.add(text.substr(size / 2, size / 4), maps.names());
  lines.add(text.substr(size / 2 + size / 4), maps.names());
  const std::vector<MappedRange> now = lines.take();
  for (const auto& ranges : {before, now}) {
    std::uint64_t end = 0;
    for (const MappedRange& range : ranges) {
      HT_CHECK(range.begin >= end && range.begin < range.end && range.name < maps.names().size());
      end = range.end;
    }
  }
  MapsChange first = maps_change({}, before, 1);
  first.whole = true;
  maps.add(0, first);
  maps.add(1, maps_change(before, now, 2));
  HT_CHECK(maps.ranges(0) == before && maps.ranges(1) == now);
  return 0;
}
