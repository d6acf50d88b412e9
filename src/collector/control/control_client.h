// Asking the collectors of running programs. Only recordings of the same user are found; root finds everybody's.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "collector/control/control_message.h"

namespace heaptape {

// Every recording that is under way, by pid. Sockets without a listener are removed. Fails when the folder that
// HEAPTAPE_RUNTIME_DIR names cannot be read. `silent` counts collectors that are there but did not answer in time: they are stopped, or
// very busy.
Result<std::vector<LiveRecording>> live_recordings(std::size_t* silent = nullptr, int patience_ms = 5'000);

// The recording of this program. NotFound, with a sentence for the user, when there is none.
Result<LiveRecording> live_recording(pid_t program);

// Puts everything that the program has done up to now onto its tape, also when it is stopped. A collector may have much to write: it
// is waited for as long as that may take.
Result<LiveRecording> flush_tape(pid_t program, int patience_ms = 30'000);

// Names this moment on the tape, and does what flush_tape() does.
Result<LiveRecording> mark_now(pid_t program, const std::string& name, MarkKind kind);

// Takes a snapshot of the program's memory and waits until it is on the tape.
struct TakenContents {
  LiveRecording recording;
  std::string outcome; // what it is like, in words
  std::string missing; // else why the moment, which is on the tape, holds no memory
};
Result<TakenContents> take_contents(pid_t program, const std::string& name, SnapshotMethod method,
                                    bool with_not_dumped);

// Ends the recording and waits until the tape is finished; the program goes on.
Result<LiveRecording> stop_recording(pid_t program);

} // namespace heaptape
