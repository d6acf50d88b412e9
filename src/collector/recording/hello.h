// The collector's side of wire/handshake.h.
#pragma once

#include <string>

#include "wire/handshake.h"

namespace heaptape {

// The descriptor travels with the reply; -1: there is none.
bool send_reply(int socket, const wire::HelloReply& reply, int memory_fd);

// The program runs unrecorded and shows its user the sentence.
void refuse(int socket, const std::string& sentence);

} // namespace heaptape
