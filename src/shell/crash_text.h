// A crash in a sentence, and an address in half of one.
#pragma once

#include <optional>
#include <string>

#include "report/crash/fault.h"
#include "shell/explain.h"

namespace heaptape {

// "SIGSEGV: read of 8 bytes at 0x18, a null pointer plus 24 (...), in f (x.c:12)". With the cursor at the crash; `at`: what lies at the
// fault's address.
std::string crash_headline(Session& session, const Crash& crash, const Fault& fault,
                           const std::optional<Explanation>& at);
// What lies at an address that a register holds, with who made or released the block; empty: nothing that is known.
std::string address_meaning(Session& session, const Explanation& at);

} // namespace heaptape
