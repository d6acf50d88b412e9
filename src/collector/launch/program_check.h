// Looks at a program before it is run: can the recorder be loaded into it, and would it see the allocations?
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "collector/observe/elf_facts.h"

namespace heaptape {

enum class Obstacle {
  None,
  OtherMachine, // 32-bit, or made for another processor
  Static,
  ForeignLibc, // its loader is not glibc's
  Sanitizer,
  OwnAllocator,
  Privileged, // the loader preloads nothing into programs that gain rights
};

// Whether a program can be recorded. If not, it runs all the same, as if we were not there.
struct ProgramCheck {
  Obstacle obstacle = Obstacle::None;
  std::string sentence{};   // for the user: what, why, what to do instead; empty when there is no obstacle
  std::string executable{}; // check_program only: the file that will be in memory, a script's interpreter for instance
};

// What decides whether a program starts in the loader's secure mode.
struct Privileges {
  mode_t mode = 0;
  uid_t file_owner = 0;
  gid_t file_group = 0;
  uid_t our_user = 0;
  gid_t our_group = 0;
  bool has_capabilities = false;
  bool ignored = false; // the file system is mounted nosuid, or we may gain no rights
};

// `name` is what the user calls the program. Pure; the last word is check_program's.
ProgramCheck judge(const std::string& name, const ElfFacts& facts);
ProgramCheck judge(const std::string& name, const Privileges& privileges);
// The same for the user's own preloads; `preload` as in LD_PRELOAD.
ProgramCheck judge_preload(const std::string& preload);

// Inspects the file that execve would be given, following scripts to their interpreters. What cannot be read or
// understood is not an obstacle: the kernel will say what is wrong with it.
ProgramCheck check_program(const std::string& name, const std::string& path);

// The sentence of check_program() about a file; empty where it sees no obstacle.
std::string obstacle_of(const std::string& path);

} // namespace heaptape
