// What `heaptape info` shows about a tape, gathered in one place for text and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/text/damage_text.h"
#include "tape/contents.h"
#include "tape/reader.h"

namespace heaptape {

struct TapeFacts {
  Summary summary;        // the tape's own or, when it has none, counted from its events
  bool finished = false;  // the tape has a summary of its own: the recording ended in good order
  bool abandoned = false; // it has none, and nobody writes to it any more; the caller finds out
  // Releases of blocks that the tape does not know, inherited ones left out.
  std::uint64_t unknown_releases = 0;
  std::uint64_t peak_rss_bytes = 0; // heaptape's own included:
  std::uint64_t recorder_bytes = 0; // that many, as far as was looked
  std::vector<std::string> command; // the program's arguments
  double bytes_per_event = 0;       // of the whole file; 0 when there are no events
  TapeDamage damage{};

  // How many of the missing events the summary does not count.
  std::uint64_t uncounted_events() const { return finished ? 0 : damage.missing_events; }
};

// Reads all events when the tape has no summary.
TapeFacts gather_facts(const TapeReader& tape);

// The arguments in META's "command", each ended by a NUL byte.
std::vector<std::string> split_command(const std::string& command);

// The command as one could type it into a shell, control characters escaped.
std::string command_text(const std::vector<std::string>& command);

// What the program did and is not on its tape, a sentence each: children, a program that it became.
std::vector<std::string> unseen_programs(const Meta& meta);

// "exited with status 3", "killed by SIGSEGV", ...
std::string ending_text(const Summary& summary, bool finished, bool abandoned = false);

} // namespace heaptape
