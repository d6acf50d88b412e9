// 'map': the address space as a picture.
#pragma once

#include "shell/command.h"

namespace heaptape {

extern const Command kMapCommand;

} // namespace heaptape
