// An explanation in words. The session must stand where the explanation was found.
#pragma once

#include <string>

#include "shell/explain.h"

namespace heaptape {

// One sentence, without the address: "16 bytes into a live 64-byte block".
std::string verdict_text(Session& session, const Explanation& answer);
// Who, when and from where: lines, indented, each ended.
std::string details_text(Session& session, const Explanation& answer);

} // namespace heaptape
