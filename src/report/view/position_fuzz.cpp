// Any text may be typed where a position is asked for.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analysis/index/story_for_test.h"
#include "analysis/index/tape_for_test.h"
#include "base/check.h"
#include "report/view/position.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heaptape;
  static const test::SmallTape file(test::Story().make(0x1000, 8).make(0x2000, 8).end(0x1000).events(), 5, 2);
  static const TapeReader tape = file.open();
  static const std::vector<Mark> marks{{.name = "a", .event = 1, .time_us = 10},
                                       {.name = "b+1", .event = 2, .time_us = 20}};
  const PositionPoints points{.tape = tape, .marks = marks, .peak = {2, 20}, .end = {3, 30}, .cursor = Moment{1, 10}};
  const Result<Moment> moment = find_position({reinterpret_cast<const char*>(data), size}, points);
  if (moment) HT_CHECK(moment.value().event <= 3 && moment.value().time_us <= 30);
  return 0;
}
