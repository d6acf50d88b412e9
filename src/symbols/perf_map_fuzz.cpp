// Any bytes as a perf map: no crash, and every line that is given out is what the header promises.
#include "base/check.h"
#include "symbols/perf_map.h"
#include "symbols/run_time_name.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heaptape;
  std::size_t before = 0;
  bool first = true;
  each_perf_map_line({reinterpret_cast<const char*>(data), size}, [&](const PerfMapLine& line) {
    HT_CHECK(line.size != 0 && line.start + line.size >= line.start && !line.name.empty());
    HT_CHECK(first || line.offset > before);
    before = line.offset;
    first = false;
    const SourcePlace place = run_time_name(line.name);
    HT_CHECK(!place.function.empty());
  });
  return 0;
}
