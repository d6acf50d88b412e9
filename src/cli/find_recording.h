// Recordings that are going on, found through the collectors of this user that run.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace heaptape::cli {

struct RunningRecording {
  pid_t program = 0;
  pid_t collector = 0;
  std::string tape;
};

std::vector<RunningRecording> running_recordings();
// Of this program; the error says which programs are being recorded instead.
Result<RunningRecording> recording_of(pid_t program);
// Whether a collector still writes this tape.
bool is_being_written(const std::string& tape);

} // namespace heaptape::cli
