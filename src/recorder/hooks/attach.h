// Gets the shared memory: from the launcher, or from a collector that we start ourselves.
#pragma once

#include <cstdint>

#include "wire/handshake.h"
#include "wire/layout.h"

namespace heaptape::recorder {

struct Attached {
  std::uint8_t* memory = nullptr;     // null: not recording
  std::uint8_t* scratch = nullptr;    // that of the first slots,
  std::uint32_t scratch_slots = 0;    // this many
  std::uint64_t bytes = 0;            // of address space that both take
  wire::Children* children = nullptr; // a page of its own, which children of fork have too; null: there is none
  bool say_so = false;                // and `message` tells the user why
  bool not_wanted = false;            // the collector has another program to record
  char message[320] = {};
};

// Maps the memory behind a descriptor inherited from the launcher and closes the descriptor. A descriptor that is not ours
// (no matching key) is left alone.
void attach_inherited(int fd, std::uint64_t key, Attached& attached) noexcept;

// The socket's path in "unix:SOCKET"; null: it is none.
const char* listening_socket(const char* collector) noexcept;

// How this program came about, for the collector: the fields of wire::Hello.
struct Origin {
  wire::StartedBy started_by = wire::StartedBy::User;
  std::uint32_t parent = 0;
  std::uint64_t started_ns = 0;
  const char* parent_tape = "";
};

// Starts `path` as a collector that is no child of this process, or asks the one that listens at unix:SOCKET, and maps the memory it
// sends. `environment` is a new collector's.
void attach_new(const char* path, char** environment, const Origin& origin, Attached& attached) noexcept;

// Knocks at the collector of the program that this process was before exec, or that started it (wire::Header::door). Where nobody opens,
// `attached` stays as it is.
void attach_at_door(const char* door, const Origin& origin, Attached& attached) noexcept;

// Tells the collector that there was no memory for us, and that the user has been told.
void note_no_memory(wire::Header& header) noexcept;
// The same for the user: it names the limit that is set.
const char* no_memory_sentence() noexcept;

} // namespace heaptape::recorder
