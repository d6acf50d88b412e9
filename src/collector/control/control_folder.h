// Where collectors keep their control sockets: a folder that only its user may enter, one socket per recording, named
// PROGRAM_PID.COLLECTOR_PID. A path and not a name of the network's, so that containers that share the folder find each
// other.
//
//   $HEAPTAPE_RUNTIME_DIR                  if it is set, and then nowhere else
//   $XDG_RUNTIME_DIR/heaptape              if that is set
//   /tmp/heaptape-UID
#pragma once

#include <sys/types.h>
#include <sys/un.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace heaptape {

// Makes the folder for this process's sockets if need be. Refuses one that others may enter or that belongs to another
// user.
Result<std::string> make_control_folder();

// Why collectors of this user cannot be reached: the folder is there and cannot be used. Makes nothing.
Result<> check_control_folder();

// Every folder in which sockets of this user may be; of all users if this is root. They need not exist.
std::vector<std::string> control_folders();

// The sockets of the recordings of a program; of all with pid 0. Paths; some may have no listener any more.
std::vector<std::string> control_sockets(pid_t program);

std::string control_socket_name(pid_t program, pid_t collector); // "812.813"

// nullopt: the path is too long for a socket.
std::optional<sockaddr_un> socket_address(const std::string& path);

} // namespace heaptape
