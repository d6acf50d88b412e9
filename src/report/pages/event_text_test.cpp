#include "report/pages/event_text.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

Event malloc_event() {
  Event event;
  event.number = 42;
  event.time_us = 1'000'250;
  event.address = 0x55d0c8a012a0;
  event.size = 72'704;
  event.stack = StackId(2);
  event.thread = ThreadId(3);
  event.kind = EventKind::Malloc;
  return event;
}

std::string line(const Event& event, const ColumnWidths& widths = {}) {
  fmt::memory_buffer out;
  append_event(out, event, widths);
  return fmt::to_string(out);
}

std::string json(const Event& event, FrameTexts* frames = nullptr) {
  fmt::memory_buffer out;
  append_event_json(out, event, 1234, frames);
  return fmt::to_string(out);
}

TEST(EventText, AllocationHasAddressAndSize) {
  EXPECT_EQ(line(malloc_event()), "    42  1.000250  T3      malloc             0x55d0c8a012a0        72704\n");
}

TEST(EventText, ReleaseHasNoSize) {
  Event event = malloc_event();
  event.kind = EventKind::Free;
  event.size = 0;
  EXPECT_EQ(line(event), "    42  1.000250  T3      free               0x55d0c8a012a0\n");
}

TEST(EventText, ReallocSaysWhatItReplaces) {
  Event event = malloc_event();
  event.kind = EventKind::Realloc;
  event.old_address = 0x1000;
  EXPECT_EQ(line(event),
            "    42  1.000250  T3      realloc            0x55d0c8a012a0        72704  from 0x000000001000\n");
  event.old_released = true;
  EXPECT_NE(line(event).find(" (released before)\n"), std::string::npos);
  event.old_address = 0;
  event.old_released = false;
  EXPECT_EQ(line(event).find("from"), std::string::npos) << "realloc(NULL, n)";
}

TEST(EventText, ColumnsAreAsWideAsTheLastEventNeeds) {
  const ColumnWidths widths = ColumnWidths::of(123'456'789, 3'600'000'000, 1'200);
  EXPECT_EQ(line(malloc_event(), widths),
            "       42     1.000250  T3      malloc             0x55d0c8a012a0        72704\n");
  fmt::memory_buffer titles;
  append_titles(titles, widths);
  EXPECT_EQ(fmt::to_string(titles), "#   event      seconds  thread  kind               address                size\n");
}

TEST(EventText, TimesKeepTheirZeros) {
  Event event = malloc_event();
  event.time_us = 10'000'005;
  EXPECT_NE(line(event).find("10.000005"), std::string::npos);
  event.time_us = 0;
  EXPECT_NE(line(event).find(" 0.000000"), std::string::npos);
}

TEST(EventText, StackIsOneIndentedLinePerFrame) {
  std::vector<Module> modules(1);
  modules[0].path = "/bin/app";
  modules[0].load_bias = 0x10000;
  modules[0].start = 0x10000;
  modules[0].end = 0x11000;
  const std::vector<StackNode> stacks{{}, {StackId(0), 0x10010}, {StackId(1), 0x10020}};
  FrameTexts texts(modules, stacks, FrameForm::Text);
  fmt::memory_buffer out;
  append_stack(out, malloc_event(), texts);
  EXPECT_EQ(fmt::to_string(out), "        0x000000010020  app+0x20\n        0x000000010010  app+0x10\n");
  FrameTexts frames(modules, stacks, FrameForm::Json);
  EXPECT_EQ(json(malloc_event(), &frames),
            R"({"event":42,"time_us":1000250,"thread":3,"tid":1234,"kind":"malloc","address":"0x55d0c8a012a0",)"
            R"("size":72704,"stack":2,"frames":[{"pc":"0x10020","module":"app","offset":"0x20"},)"
            R"({"pc":"0x10010","module":"app","offset":"0x10"}]})"
            "\n");
}

TEST(EventText, JsonOfAMovedMappingHasBothRanges) {
  Event event = malloc_event();
  event.kind = EventKind::Mremap;
  event.old_address = 0x2000;
  event.old_size = 4096;
  EXPECT_EQ(json(event),
            R"({"event":42,"time_us":1000250,"thread":3,"tid":1234,"kind":"mremap","address":"0x55d0c8a012a0",)"
            R"("size":72704,"old_address":"0x2000","old_size":4096,"stack":2})"
            "\n");
  EXPECT_NE(line(event).find("from 0x000000002000 size 4096"), std::string::npos);
}

} // namespace
} // namespace heaptape
