// jit-PID.dump ("jitdump", the kernel's tools/perf/Documentation/jitdump-specification.txt): which function lay where from when on,
// with source lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace heaptape {

struct JitLine {
  std::uint64_t address = 0; // the first that the line holds for
  std::string_view file{};
  std::uint32_t line = 0;
};

// All text points into the bytes that were parsed.
struct JitCode {
  std::uint64_t start = 0;
  std::uint64_t size = 0; // not 0
  std::string_view name{};
  std::uint64_t timestamp = 0;  // when it was put there
  std::vector<JitLine> lines{}; // by address
};

struct JitDump {
  bool monotonic = false;     // timestamps are nanoseconds of CLOCK_MONOTONIC; otherwise only their order is known
  std::vector<JitCode> codes; // in the order of the file
};

// Whether the bytes begin as a jitdump of this machine's byte order.
bool is_jit_dump(std::span<const std::byte> bytes);

// Takes any bytes: a file that is still being written, or damaged, gives what is whole in front of that. Code that was moved is there
// again at its new place.
JitDump parse_jit_dump(std::span<const std::byte> bytes);

} // namespace heaptape
