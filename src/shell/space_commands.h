// Commands about the address space.
#pragma once

#include "shell/command.h"

namespace heaptape {

extern const Command kArenasCommand;   // arenas.cpp
extern const Command kMappingsCommand; // mappings.cpp

} // namespace heaptape
