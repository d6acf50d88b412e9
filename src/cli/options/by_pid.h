// Running programs as tapes: the recording of a program, with everything that has happened up to now on its tape.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "collector/control/control_message.h"

namespace heaptape::cli {

// The process that -p names: its id, or a name of exactly one program that is being recorded: one that
// it was started by or that ps or top show. Says what there is otherwise: several of that name, or one that runs unrecorded.
Result<pid_t> find_process(std::string_view text);

// Why a running program cannot be recorded now, or where to look when it is being recorded already: one sentence.
std::string about_attaching(std::string_view text);

// Whether a program of this name is being recorded or running.
bool is_program_name(const std::string& word);

// The tape of the program with this process id, once everything up to now is on it. Says on standard error which it is.
Result<std::string> flushed_tape_of(std::string_view process);

// The recording that is writing this tape; nullopt: none is, or it is another user's.
std::optional<LiveRecording> recording_of(const std::string& tape);

} // namespace heaptape::cli
