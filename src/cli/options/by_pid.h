// Running programs as tapes: the recording of a program, with everything that has happened up to now on its tape.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "collector/control/control_message.h"

namespace heaptape::cli {

Result<pid_t> parse_pid(std::string_view text);

// The tape of the program with this process id, once everything up to now is on it. Says on standard error which it is.
Result<std::string> flushed_tape_of(std::string_view pid_text);

// The recording that is writing this tape; nullopt: none is, or it is another user's.
std::optional<LiveRecording> recording_of(const std::string& tape);

} // namespace heaptape::cli
