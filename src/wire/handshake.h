// How a program that was started without the launcher gets its collector: the recorder makes a socket pair, starts
// `heaptape collect FD` with one end, sends Hello and receives HelloReply, with the memfd attached (SCM_RIGHTS) when status
// is 0. The socket is SOCK_SEQPACKET, one message each way; both sides then close it.
#pragma once

#include <cstdint>

namespace heaptape::wire {

inline constexpr std::uint32_t kHelloMagic = 0x6548'7448; // "HtHe"
inline constexpr std::uint32_t kHelloVersion = 2;

// How a program came to be recorded.
enum class StartedBy : std::uint32_t {
  User = 0, // or by a program that is not recorded
  Fork = 1, // of a followed program
  Exec = 2, // the same process ran another program before
  Spawn = 3 // a followed program made a process for it: vfork or fork and exec, posix_spawn, system
};

// Program to collector.
struct Hello {
  std::uint32_t magic;   // kHelloMagic
  std::uint32_t version; // kHelloVersion; another one is refused
  std::uint32_t pid;     // of the program, as it sees itself
  StartedBy started_by;
  std::uint32_t parent; // pid of the followed program that made it, as that saw itself; 0: none
  std::uint32_t pad0;
  std::uint64_t started_ns; // CLOCK_MONOTONIC at the fork; 0: not known
  char parent_tape[256];    // the last part of that program's tape's path, terminated; may be empty
};
static_assert(sizeof(Hello) == 288);

// Collector to program.
inline constexpr std::uint32_t kNotWanted = 2;
struct HelloReply {
  std::uint32_t status; // 0: recording may begin; kNotWanted: go on without a word; else message says why not
  std::uint32_t pid;    // of the collector
  char message[248];    // one sentence for the user, terminated, without "heaptape: " and newline
};
static_assert(sizeof(HelloReply) == 256);

} // namespace heaptape::wire
