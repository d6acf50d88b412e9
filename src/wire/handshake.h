// How a program that was started without the launcher gets its collector: the recorder makes a socket pair, starts
// `heaptape collect FD` with one end, sends Hello and receives HelloReply, with the memfd attached (SCM_RIGHTS) when status
// is 0. The socket is SOCK_SEQPACKET, one message each way; both sides then close it.
#pragma once

#include <cstdint>

namespace heaptape::wire {

inline constexpr std::uint32_t kHelloMagic = 0x6548'7448; // "HtHe"
inline constexpr std::uint32_t kHelloVersion = 1;

// Program to collector.
struct Hello {
  std::uint32_t magic;   // kHelloMagic
  std::uint32_t version; // kHelloVersion; another one is refused
  std::uint32_t pid;     // of the program, as it sees itself
};
static_assert(sizeof(Hello) == 12);

// Collector to program.
struct HelloReply {
  std::uint32_t status; // 0: recording may begin; else message says why not
  std::uint32_t pid;    // of the collector
  char message[248];    // one sentence for the user, terminated, without "heaptape: " and newline
};
static_assert(sizeof(HelloReply) == 256);

} // namespace heaptape::wire
