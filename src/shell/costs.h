// What is live at the cursor and never freed.
#pragma once

#include "shell/printer.h"
#include "shell/session.h"

namespace heaptape {

// Live at the cursor and still live at the end of the tape, as a tree of callers.
void print_never_freed(Session& session, Printer& out, bool json);

} // namespace heaptape
