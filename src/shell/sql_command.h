// The command "sql".
#pragma once

#include "shell/command.h"

namespace heaptape {

extern const Command kSqlCommand;

} // namespace heaptape
