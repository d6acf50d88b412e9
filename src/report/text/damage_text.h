// What is wrong with a tape, in figures and in sentences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tape/reader.h"

namespace heaptape {

// All that cannot be read of a tape.
struct TapeDamage {
  std::vector<Damage> places{};     // by offset
  std::uint64_t bytes = 0;          // in them
  bool file_header = false;         // it is one of them
  std::uint64_t missing_events = 0; // in damaged chunks, or in chunks that are gone
  std::uint64_t all_events = 0;     // that the tape had
  bool all_checked = true;          // false: the tape is large, and only a part of its events was looked at

  bool empty() const { return places.empty() && missing_events == 0; }
};

// Checks every chunk, events included; of a tape with more than 256 MiB of events, only that much, evenly spread.
TapeDamage damage_of(const TapeReader& tape);

// One sentence without the tape's name: what was skipped, and what that does to the answer. `uncounted_events` of the
// missing ones are in none of the figures: they were counted without them. Empty when nothing is wrong.
std::string damage_sentence(const TapeDamage& damage, std::uint64_t uncounted_events);

// One sentence per stretch of the file that could not be read; after a few, one for the rest.
std::vector<std::string> damage_sentences(const std::vector<Damage>& damage);

// The text of a JSON object, with fields "damage" and "missing_events" in front when there is damage; any other text as
// it is.
std::string with_damage(std::string json, const TapeDamage& damage);
// These fields: "damage":[{"offset":..,"bytes":..,"reason":..}],"missing_events":..
std::string damage_fields(const TapeDamage& damage);

} // namespace heaptape
