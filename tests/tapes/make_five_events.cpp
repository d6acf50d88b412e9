// Makes the tape that docs/tape-format.md explains byte by byte: heaptape_make_five_events TAPE. It is what a recording of
//
//   for (int i = 0; i < 3; ++i) p[i] = malloc(24);
//   free(p[1]);
//   p[0] = realloc(p[0], 40); // moves
//
// would write, with the frames of libc, the names and the index left out.
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "tape/writer.h"

namespace {

using namespace heaptape;

constexpr std::uint64_t kStart = 0x401081;                                         // in _start, after its call of main
constexpr std::uint64_t kMalloc = 0x401161, kFree = 0x401184, kRealloc = 0x401195; // in main, after each call

struct Call {
  std::uint64_t time_us;
  EventKind kind;
  StackId stack;
  std::uint64_t address, size, old_address, allocated_at;
};
constexpr Call kCalls[] = {{812, EventKind::Malloc, StackId(2), 0x4052a0, 24, 0, 0},
                           {812, EventKind::Malloc, StackId(2), 0x4052c0, 24, 0, 0},
                           {813, EventKind::Malloc, StackId(2), 0x4052e0, 24, 0, 0},
                           {813, EventKind::Free, StackId(3), 0x4052c0, 0, 0, 2},
                           {830, EventKind::Realloc, StackId(4), 0x405300, 40, 0x4052a0, 1}};

Summary summary() {
  Summary summary;
  summary.events = std::size(kCalls);
  for (const Call& call : kCalls) ++summary.per_kind[static_cast<std::size_t>(call.kind)];
  summary.duration_us = 1200;
  summary.allocated_bytes = 112;
  summary.allocated_blocks = 4;
  summary.live_bytes = 64;
  summary.live_blocks = 2;
  summary.peak_bytes = 72;
  summary.peak_event = 3;
  summary.peak_us = 813;
  summary.ending = Ending::Exited;
  return summary;
}

Result<> write(TapeWriter& tape) {
  const Meta meta{{"command", std::string("./five\0", 7)}, {"program", "/tmp/five"}};
  const Module module{.path = "/tmp/five",
                      .build_id = {0xae, 0xd2, 0x6e, 0xa2},
                      .start = 0x400000,
                      .end = 0x404030,
                      .first_seen_us = 800,
                      .segments = {{.address = 0x401000, .size = 0x1a9, .file_offset = 0x1000, .flags = 5}}};
  const std::vector<StackNode> stacks{
      {StackId(0), kStart}, {StackId(1), kMalloc}, {StackId(1), kFree}, {StackId(1), kRealloc}};
  const Thread thread{.id = ThreadId(1), .tid = 4711, .name = "five", .first_seen_us = 805};
  EventEncoder encoder;
  for (const Call& call : kCalls) {
    Event event;
    event.number = encoder.count() + 1;
    event.time_us = call.time_us;
    event.address = call.address;
    event.old_address = call.old_address;
    event.size = call.size;
    event.stack = call.stack;
    event.thread = thread.id;
    event.kind = call.kind;
    encoder.add(event, call.allocated_at);
  }
  if (auto done = tape.add_meta(meta); !done) return done;
  if (auto done = tape.add_modules({&module, 1}); !done) return done;
  if (auto done = tape.add_stacks(StackId(1), stacks); !done) return done;
  if (auto done = tape.add_threads({&thread, 1}); !done) return done;
  if (auto done = tape.add_events(encoder); !done) return done;
  return tape.add_summary(summary());
}

} // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: heaptape_make_five_events TAPE\n");
    return 2;
  }
  auto tape = TapeWriter::create({.path = arguments[1],
                                  .overwrite = true,
                                  .start_realtime_ns = 1'763'294'400'000'000'000, // 2025-11-16 12:00:00 UTC
                                  .pid = 4711});
  const auto done = tape ? write(tape.value()) : Result<>(tape.error());
  if (!done) std::fprintf(stderr, "%s\n", done.error().sentence.c_str());
  return done ? 0 : 1;
}
