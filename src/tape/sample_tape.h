// A small tape with something in every chunk, built again for each test: the same bytes every time.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "tape/contents.h"
#include "tape/event.h"
#include "tape/maps.h"
#include "tape/memory_snapshot_codec.h"
#include "tape/symbols.h"
#include "tape/writer.h"

namespace heaptape {

struct SampleTape {
  Meta meta{{"command", std::string("server\0--port\0", 14)}, {"pid", "4711"}};
  std::vector<Module> modules;
  std::vector<Thread> threads;
  std::vector<StackNode> stacks;
  std::vector<Sample> samples{{10, 1 << 20, 1 << 19, 1 << 24, 77, 2}};
  MapNames map_names;
  std::vector<std::vector<MappedRange>> maps; // at 1 us, 101 us, ...
  std::vector<Event> events;
  std::vector<std::uint64_t> allocated_at; // beside events
  OddCalls odd;
  std::vector<Crash> crashes{{.signal = 9,
                              .code = 1,
                              .event = 9,
                              .time_us = 11,
                              .thread = ThreadId(2),
                              .stack = StackId(3),
                              .address = 0x18,
                              .error = 4,
                              .trap = 14,
                              .frames = 2,
                              .bytes = "\x48\x8b\x47\x18"}};
  MemoryErrors errors;
  Summary summary;
  Symbols symbols;

  // A random program: every kind, several threads, addresses used again, odd sizes.
  explicit SampleTape(std::size_t count, std::uint32_t seed = 1) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
    modules.push_back({"/usr/bin/server",
                       {1, 2, 3},
                       0x550000000000,
                       0x550000000000,
                       0x550000010000,
                       5,
                       {{0x550000000000, 4096, 0, 5}}});
    for (std::uint32_t i = 1; i <= 3; ++i)
      threads.push_back({ThreadId(i), 4711 + i, "worker", i, 0, 0x7f00'1000'0000u + 0x10000u * i});
    for (std::uint32_t i = 1; i <= 40; ++i)
      stacks.push_back({StackId(i > 3 ? below(i) : 0), std::uint64_t{0x550000000000} + below(65536)});
    struct Live {
      std::uint64_t address, made_at;
    };
    std::vector<Live> live;
    std::uint64_t fresh = 0x5600'0000'0000;
    std::vector<std::uint64_t> freed;
    std::uint64_t time = 0;
    for (std::uint64_t number = 1; number <= count; ++number) {
      Event event;
      event.number = number;
      event.time_us = time += below(4) == 0 ? below(3000) : 0;
      event.thread = ThreadId(1 + below(3));
      event.stack = StackId(below(41));
      std::uint64_t made_at = 0;
      const auto new_address = [&] {
        if (!freed.empty() && below(2) == 0) {
          const std::uint64_t address = freed.back();
          freed.pop_back();
          return address;
        }
        return fresh += 16 + below(20) * 16 + (below(50) == 0 ? 8 : 0);
      };
      const auto size = [&]() -> std::uint64_t { return below(30) == 0 ? std::uint64_t{1} << below(47) : below(300); };
      const std::uint32_t choice = below(20);
      if (choice < 9 || live.empty()) {
        constexpr EventKind kKinds[] = {EventKind::Malloc,        EventKind::Malloc,       EventKind::New,
                                        EventKind::Calloc,        EventKind::NewArray,     EventKind::Memalign,
                                        EventKind::PosixMemalign, EventKind::AlignedAlloc, EventKind::Valloc,
                                        EventKind::Pvalloc};
        event.kind = kKinds[below(10)];
        event.address = new_address();
        event.size = size();
        live.push_back({event.address, number});
      } else if (choice < 17) {
        constexpr EventKind kKinds[] = {EventKind::Free,        EventKind::Free,      EventKind::Delete,
                                        EventKind::DeleteArray, EventKind::FreeSized, EventKind::Cfree};
        event.kind = kKinds[below(6)];
        const std::size_t which = below(3) == 0 ? below(static_cast<std::uint32_t>(live.size())) : live.size() - 1;
        event.address = live[which].address;
        made_at = live[which].made_at;
        freed.push_back(event.address);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
      } else if (choice < 19) {
        event.kind = below(2) == 0 ? EventKind::Realloc : EventKind::ReallocArray;
        Live& chunk = live.back();
        event.old_address = chunk.address;
        made_at = chunk.made_at;
        event.address = below(2) == 0 ? chunk.address : new_address();
        event.size = size();
        event.old_released = below(10) == 0;
        chunk = {event.address, number};
      } else {
        constexpr EventKind kKinds[] = {EventKind::MmapAnonymous, EventKind::MmapFile, EventKind::Munmap,
                                        EventKind::Mremap, EventKind::ReallocRelease};
        event.kind = kKinds[below(5)];
        event.address = 0x7f00'0000'0000 + below(1000) * 4096;
        if (event.kind != EventKind::ReallocRelease) event.size = (1 + below(100)) * 4096;
        if (event.kind == EventKind::Mremap) {
          event.old_address = 0x7e00'0000'0000;
          event.old_size = 8192;
        }
      }
      events.push_back(event);
      allocated_at.push_back(below(20) == 0 ? 0 : made_at); // sometimes it is unknown
    }
    const std::uint32_t program = map_names.number_of("/usr/bin/server"), heap = map_names.number_of("[heap]");
    for (std::uint64_t i = 0; i < 3; ++i)
      maps.push_back({{0x550000000000, 0x550000001000, 0x1000, program, kMapRead | kMapExecute},
                      {0x560000000000, 0x560000021000 + i * 0x8000, 0, heap, kMapRead | kMapWrite},
                      {0x7f0000000000 + i * 0x1000, 0x7f0000010000, 0, 0, kMapRead | kMapShared}});
    odd.calls = {{.kind = OddKind::Failed,
                  .call = EventKind::Malloc,
                  .event = 3,
                  .time_us = 5,
                  .thread = ThreadId(1),
                  .stack = StackId(2),
                  .size = ~std::uint64_t{0},
                  .error = 12},
                 {.kind = OddKind::Mismatch,
                  .call = EventKind::Free,
                  .event = 9,
                  .time_us = 11,
                  .thread = ThreadId(2),
                  .stack = StackId(3),
                  .address = 0x5600'0000'0010,
                  .maker = 8,
                  .block_size = 40,
                  .family = Family::New}};
    odd.left_out = 1;
    errors = {"full",
              {{.sort = ErrorSort::WriteBehind,
                .found = FoundAt::Release,
                .expected = 0xfd,
                .event = 9,
                .time_us = 11,
                .thread = ThreadId(1),
                .stack = StackId(3),
                .address = 0x5600'0000'0038,
                .length = 4,
                .block = 0x5600'0000'0010,
                .block_size = 40,
                .bytes = std::string("abc\0", 4)},
               {.sort = ErrorSort::ReadFreed,
                .found = FoundAt::Call,
                .event = 10,
                .time_us = 12,
                .thread = ThreadId(2),
                .stack = StackId(4),
                .address = 0x5600'0000'0010,
                .length = 40,
                .block = 0x5600'0000'0010,
                .block_size = 40,
                .whole_us = 7,
                .function = "memcpy"}},
              2};
    summary.events = count;
    summary.per_kind[1] = 3;
    summary.losses = {{"ring full", 7}};
    summary.ending = Ending::Killed;
    summary.ending_detail = 9;
    summary.note = "a note";
    const auto server = symbols.add_file(modules[0].path, modules[0].build_id);
    for (const StackNode& node : stacks) {
      const std::uint64_t address = node.pc - modules[0].load_bias - 1;
      const auto line = static_cast<std::uint32_t>(address % 1000);
      symbols.set(server, address,
                  std::vector<SourcePlace>{{"_ZN5Cache6insertEi", "/src/cache.cpp", line, 7},
                                           {"handle_" + std::to_string(line % 5), "/src/server.cpp", line, 0}},
                  line == 77);
    }
  }

  // A snapshot of memory at the end, with two pages of its own; the first is full of the numbers from 1 to 512.
  MemorySnapshot memory() const {
    MemorySnapshot snapshot;
    snapshot.number = 1;
    snapshot.name = "all of it";
    snapshot.event = events.size();
    snapshot.time_us = events.empty() ? 0 : events.back().time_us;
    snapshot.method = SnapshotMethod::Live;
    snapshot.pause_us = 1200;
    snapshot.duration_us = 30'000;
    snapshot.threads = {{.tid = 4712, .registers = {1, 2, 3}}};
    snapshot.in_flight = {0x5600'0000'0010};
    snapshot.regions = maps.back();
    snapshot.runs = {{0x5600'0000'0000, 0x5600'0000'2000, PageState::Stored, 1},
                     {0x5600'0000'2000, 0x5600'0000'3000, PageState::Fill, 0xbdbd'bdbd'bdbd'bdbd},
                     {0x5600'0000'3000, 0x5600'0002'1000, PageState::Zero, 0}};
    snapshot.new_pages = 2;
    snapshot.live = LiveSum{12'345, 67};
    return snapshot;
  }
  static std::vector<std::byte> memory_pages() {
    std::vector<std::byte> pages(2 * kPageBytes);
    for (std::uint64_t i = 0; i < pages.size() / 8; ++i) {
      const std::uint64_t word = i + 1;
      std::memcpy(pages.data() + i * 8, &word, sizeof word);
    }
    return pages;
  }

  enum class With : std::uint8_t { Events, Memory };
  // Writes it with an EVENTS chunk for every `events_per_chunk` events, and gives the bytes.
  std::vector<std::byte> bytes(std::size_t events_per_chunk = EventEncoder::kMaxEvents,
                               With with = With::Events) const {
    std::string path = "/tmp/heaptape-sample-XXXXXX";
    const int fd = ::mkstemp(path.data());
    HT_CHECK(fd >= 0);
    ::close(fd);
    Result<TapeWriter> created = TapeWriter::create(
        {.path = path, .overwrite = true, .start_realtime_ns = 1'600'000'000'000'000'000, .pid = 4711});
    HT_CHECK(created.ok());
    TapeWriter& writer = created.value();
    EventEncoder encoder;
    HT_CHECK(writer.add_meta(meta).ok() && writer.add_modules(modules).ok() &&
             writer.add_stacks(StackId(1), stacks).ok());
    for (std::size_t i = 0; i < maps.size(); ++i) {
      MapsChange change = maps_change(i == 0 ? std::vector<MappedRange>() : maps[i - 1], maps[i], 100 * i + 1);
      change.whole = i == 0;
      HT_CHECK(writer.add_maps(i, change, map_names).ok());
    }
    for (std::size_t i = 0; i < events.size(); ++i) {
      encoder.add(events[i], allocated_at[i]);
      if (encoder.count() == events_per_chunk) HT_CHECK(writer.add_events(encoder).ok());
    }
    if (!encoder.empty()) HT_CHECK(writer.add_events(encoder).ok());
    HT_CHECK(writer.add_threads(threads).ok() && writer.add_samples(samples).ok() && writer.add_symbols(symbols).ok() &&
             writer.add_odd_calls(odd).ok() && writer.add_memory_errors(errors).ok() &&
             writer.add_crashes(crashes).ok());
    if (with == With::Memory) {
      PagePacker packer;
      std::vector<std::byte> payload;
      put_pages(1, memory_pages(), packer, payload);
      HT_CHECK(writer.add_pages(payload).ok() && writer.add_snapshot(memory(), map_names).ok());
    }
    HT_CHECK(writer.add_summary(summary).ok());
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> text((std::istreambuf_iterator<char>(file)), {});
    ::unlink(path.c_str());
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
  }
};

} // namespace heaptape
