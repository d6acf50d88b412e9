// The tape a command is about.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "options/option_list.h"
#include "report/text/damage_text.h"
#include "tape/reader.h"

namespace heaptape::cli {

// The newest *.tape of a folder, or the newest run in it (*.run, or a folder with a list of processes); NotFound when there is none.
Result<std::string> newest_tape(const std::string& folder);

// Whether a word of the command line that may be a tape is one: it is named *.tape, or there is such a file, or it means a run.
bool may_be_tape(const std::string& word);

// Whether there is a file of this name that begins as tapes do.
bool is_tape(const std::string& path);

// No option takes the tape for a value: where one may have a value ("--svg [FILE]") or takes all words up to the next option, and its
// last word is a tape, that word is put before the option. A word is a tape when it is named *.tape or *.run, when there is such a file
// and it begins as tapes do, or when it means a run.
//
//   --svg app.tape                         app.tape --svg
//   --no-growth warm-up done app.tape      app.tape --no-growth warm-up done
//   --svg=app.tape                         as it is: it says what it means
std::vector<std::string> tape_before_options(const OptionList& list, std::vector<std::string> words);

// The tape that a command is about, as the command line names it: TAPE, -p PID, or neither.
struct TapeChoice {
  std::string path;               // of TAPE; empty: that of the program, or the newest here
  std::optional<std::string> pid; // of -p, as it was typed
  std::string process{}; // of --process: which of a run's, a process id or a name; empty: the one that matters most
  std::string like{};    // a name that is preferred where nothing is wished
  bool is_empty = false; // TAPE was given as ""
  bool takes_snapshot = false; // the command is about a moment of it, and TAPE may be TAPE@SNAPSHOT
  bool is_live = false; // after choose_tape(): of a running program, with everything on it that had happened by then

  // Declares -p PID and TAPE; a command that finds its tape among other words declares -p PID alone. It must stay where it is until
  // the options are parsed.
  void add(OptionList& list);
  void add_pid(OptionList& list);
  // After choose_tape(): what it was chosen from, if that was a run, and the name of the program.
  std::string run{}, program{};
  std::string snapshot{}; // after choose_tape(): what stood behind the '@'
  bool is_named() const { return !path.empty() || pid; }
};

// Declares two, each of which may be a TAPE or -p PID, in the order of the command line. More words than that are moments of the first
// one, and so are two that follow -p PID.
struct TwoTapes {
  TapeChoice before{}, after{};
  std::string from{}, to{}; // both empty: no moments were given like this

  void add(OptionList& list);
  // After the options are parsed. An error says what is too much.
  Result<> settle();

private:
  std::vector<std::string> words_;
};

// "app.tape@2" and "app.tape@warm" as the tape and the number or name of a snapshot ("last", "first"). Nothing: there is a file of this
// name, or what stands before each '@' is neither a tape nor a run.
std::optional<std::pair<std::string, std::string>> split_snapshot(const std::string& text);

// After choose_tape(): the position that is meant, as report/view/position.h reads it: what --at gave, or the snapshot of TAPE@SNAPSHOT.
// Refuses both.
Result<std::string> moment_of(const TapeChoice& tape, const std::string& at);

// Refuses a choice of both. A TAPE that is not there may be the name of a program that is being recorded: it becomes the
// choice of that program.
Result<> check_choice(TapeChoice& tape);

// The same sentence wherever a tape is missing, with the name that was probably meant.
Error no_such_tape(const std::string& path);

// Splits TAPE@SNAPSHOT, or refuses it. Where TAPE is a run (docs/guide/runs.md), RUN:PID, RUN/PID or RUN/NAME, or --process chooses in it, the path becomes that of a tape in it.
// Otherwise sets the path: that of the program's recording, after everything has been put onto it, or of the newest tape in the current directory.
// Says on standard error which it is.
Result<> choose_tape(TapeChoice& tape);

// The same, and opens it.
Result<TapeReader> open_chosen_tape(TapeChoice& tape);

// Says on standard error what cannot be read of a tape, if anything. `uncounted_events`: see damage_sentence().
void say_damage(const std::string& path, const TapeDamage& damage, std::uint64_t uncounted_events);

} // namespace heaptape::cli
