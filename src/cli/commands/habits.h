// What users of other tools type first: words that are not commands of ours, and what they mean here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/arguments.h"

namespace heaptape::cli {

// What a command line that names no command of ours is taken for.
struct Meant {
  std::string_view command; // that runs; empty: none does, and the sentence says why
  Arguments arguments{};    // of that command
  std::string sentence{};   // for the user; may be empty when a command runs
};

// For a word that is a synonym of a command: 'run', 'leak', 'flamegraph', ...; nullopt: it is not.
// What `heaptape check` may mean that is not a program to run.
std::optional<Meant> meant_by_check(Arguments rest);

std::optional<Meant> meant_by_word(std::string_view word, Arguments rest);

// For a command line that begins with a program, a tape, an option, or a word that nobody knows.
Meant meant_by(Arguments arguments, std::span<const std::string_view> commands);

} // namespace heaptape::cli
