// Running programs as tapes: "-p PID" stands for the tape of the program's recording, with everything up to now on it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/arguments.h"
#include "collector/control/control_message.h"

namespace heaptape::cli {

Result<pid_t> parse_pid(std::string_view text);

// The arguments of a command that reads tapes, each "-p PID", "--pid PID" or "--pid=PID" before a "--" replaced by the
// tape it means, which is named on standard error. They live as long as the process.
Result<Arguments> with_tapes_of_programs(Arguments arguments);

// The recording that is writing this tape; nullopt: none is, or it is another user's.
std::optional<LiveRecording> recording_of(const std::string& tape);
// Whether the tape was asked for by "-p PID", so that everything up to then is on it.
bool is_up_to_date(const std::string& tape);

} // namespace heaptape::cli
