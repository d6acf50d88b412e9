// What a recorded process leaves to the programs that come after it, in the same process (exec) or in its children, and what it notes about
// children that are not recorded. Everything is a copy, made when the recording begins: a child has no shared memory but one page.
#pragma once

#include <cstdint>

#include "recorder/hooks/attach.h"
#include "recorder/hooks/environment.h"
#include "wire/layout.h"

namespace heaptape::recorder {

// The recording of this process has begun. `options` is of copy_for_collector(), or null.
void begin_lineage(const wire::Header& header, const Attached& attached, char** options) noexcept;

// This is the process that is being recorded, not a child of it: also not one of vfork, which shares its memory.
[[nodiscard]] bool is_recorded_process() noexcept;
// This is a child of a program such as `timeout`, whose first child is the program that was meant.
[[nodiscard]] bool is_meant_child() noexcept;

// The connection for the program that this process is about to become: "HEAPTAPE_SHM_DOOR=...", or "HEAPTAPE_SHM_PARENT=PID:TAPE" in a child
// of a followed process. Null: there is none, or nobody records any more.
[[nodiscard]] const char* connection_for_next() noexcept;
[[nodiscard]] const char* connection_for_child() noexcept; // the same for a program that it starts in a new process
[[nodiscard]] char** options_for_next() noexcept;

// In a child of fork: where it comes from. The text stays.
[[nodiscard]] Origin origin_of_fork() noexcept;
// In a program that was started with "PID:TAPE" in HEAPTAPE_SHM_PARENT.
[[nodiscard]] Origin origin_of_spawn(const char* parent) noexcept;

// Children that are not recorded. All of these may be called in a child, also of vfork; without a page they do nothing.
void note_fork() noexcept;                                       // in the parent, before it forks
void note_forked_child() noexcept;                               // in the child
void forget_child() noexcept;                                    // in the child: it is about to be recorded
void note_started(std::uint32_t pid, const char* path) noexcept; // in the parent; a child of posix_spawn, system
// In the child, or in the recorded process itself, which is about to become a program that is not recorded; ends where exec has failed.
struct NotedProgram {
  explicit NotedProgram(const char* path) noexcept;
  ~NotedProgram() noexcept;
  NotedProgram(const NotedProgram&) = delete;
  NotedProgram& operator=(const NotedProgram&) = delete;

private:
  wire::ChildEntry* entry_ = nullptr;
  char* became_ = nullptr;
};

} // namespace heaptape::recorder
