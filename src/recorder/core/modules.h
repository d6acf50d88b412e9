// The module log: every loaded object that appears in a stack is described once in shared memory.
#pragma once

#include <cstdint>

#include "recorder/core/cfi.h"

namespace heaptape::recorder {

// Appends an object to the log unless it is there already. `phdrs` and friends are read from the object's own memory.
void note_module(const CodeObject& object) noexcept;

// Called after the program may have unloaded something: forgets the rules of objects that went away.
void note_unloading() noexcept;

// Drops what is known, for the child of a fork that starts a tape of its own.
void reset_modules() noexcept;

} // namespace heaptape::recorder
