// A command of the shell. Each is a value in the file that implements it; commands.cpp lists them all, and 'heaptape NAME TAPE ...' runs
// the same ones without a shell.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shell/call.h"
#include "shell/printer.h"
#include "shell/session.h"

namespace heaptape {

enum class CommandGroup : std::uint8_t { Moving, Asking, Memory, Whole, Shell };

// What its words are, for completion.
enum class Takes : std::uint8_t { Nothing, Position, Address, Function, Filter, Command };

struct Command {
  std::string_view name;
  std::string_view arguments; // "ADDR [ADDR2]"; empty: none
  std::string_view summary;   // one line without a full stop
  std::string_view help;      // what it tells; lines of at most 78 columns, each ended
  std::string_view example;   // one line that can be typed
  CommandGroup group = CommandGroup::Asking;
  Takes takes = Takes::Nothing;
  // Prints the answer; an Error is one sentence for the user. Long searches ask session.should_stop() now and then.
  Result<> (*run)(Session& session, Call& call, Printer& out) = nullptr;
  std::string_view alias = {}; // a second name, or none
  std::span<const CommandOption> options = {};
};

// In the order of the help.
std::span<const Command* const> commands();
// By name or alias, or by a beginning that fits only one; the Error names what is near.
Result<const Command*> find_command(std::string_view name);
// What 'help NAME' prints.
std::string help_of(const Command& command);
// Parses the words behind its name and runs it; --help among them prints its help instead.
Result<> run_command(const Command& command, Session& session, std::vector<Word> words, Printer& out);

} // namespace heaptape
