// What is said over a collector's control socket: one request, one reply, each one packet of at most kMostControlBytes.
// Numbers are varints, texts have their length in front (base/byte_cursor.h). docs/wire-protocol.md has the bytes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tape/contents.h"
#include "tape/memory_snapshot.h"

namespace heaptape {

inline constexpr std::size_t kMostControlBytes = 16384;
inline constexpr std::size_t kLongestMarkName = 240; // as in <heaptape/heaptape.h>

enum class ControlAsk : std::uint8_t {
  Info = 1,     // how it goes
  Flush = 2,    // put everything that has happened up to now onto the tape
  Mark = 3,     // name this moment, and flush
  Stop = 4,     // finish the tape; the program goes on unrecorded
  Contents = 5, // take a snapshot of memory, by that name
};

struct ControlRequest {
  ControlAsk ask = ControlAsk::Info;
  MarkKind mark = MarkKind::Mark;
  std::string name{};                              // of the mark; at most kLongestMarkName bytes
  SnapshotMethod method = SnapshotMethod::Unknown; // of Contents; unknown: whichever disturbs least
  bool with_not_dumped = false;                    // of Contents: also what the program asked not to have in dumps
  friend bool operator==(const ControlRequest&, const ControlRequest&) = default;
};

// A recording that is under way.
struct LiveRecording {
  pid_t pid = 0;       // of the program, as the collector sees it
  pid_t collector = 0; // of the collector
  pid_t parent = 0;    // of the process that started it; 0: not known
  std::uint64_t started_realtime_ns = 0;
  std::uint64_t elapsed_us = 0; // since then
  std::uint64_t events = 0;     // so far, written or not
  std::uint64_t live_bytes = 0;
  std::uint64_t live_blocks = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t tape_bytes = 0;
  std::string program{}; // path of the executable
  std::string tape{};    // absolute path
  std::string command{}; // its arguments, each terminated by a NUL byte; the last may be cut
  friend bool operator==(const LiveRecording&, const LiveRecording&) = default;
};

struct ControlReply {
  std::string refusal{}; // a sentence for the user; empty: it was done
  LiveRecording recording{};
  std::string outcome{}; // what was done, in words; of Contents
  std::string missing{}; // why the moment holds no memory; of Contents, empty: it does
  friend bool operator==(const ControlReply&, const ControlReply&) = default;
};

std::vector<std::byte> encode_control(const ControlRequest& request);
std::vector<std::byte> encode_control(const ControlReply& reply);

// nullopt: it is none, or of another version, or not exactly one.
std::optional<ControlRequest> parse_control_request(std::span<const std::byte> bytes);
std::optional<ControlReply> parse_control_reply(std::span<const std::byte> bytes);

} // namespace heaptape
