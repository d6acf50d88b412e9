// Gets the shared memory: from the launcher, or from a collector that we start ourselves.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

struct Attached {
  std::uint8_t* memory = nullptr;  // null: not recording
  std::uint8_t* scratch = nullptr; // that of the first slots,
  std::uint32_t scratch_slots = 0; // this many
  std::uint64_t bytes = 0;         // of address space that both take
  bool say_so = false;             // and `message` tells the user why
  char message[320] = {};
};

// Maps the memory behind a descriptor inherited from the launcher and closes the descriptor. A descriptor that is not ours
// (no matching key) is left alone.
void attach_inherited(int fd, std::uint64_t key, Attached& attached) noexcept;

// The socket's path in "unix:SOCKET"; null: it is none.
const char* listening_socket(const char* collector) noexcept;

// Starts `path` as a collector that is no child of this process, or asks the one that listens at unix:SOCKET, and maps the memory it
// sends. `environment` is a new collector's.
void attach_new(const char* path, char** environment, Attached& attached) noexcept;

} // namespace heaptape::recorder
