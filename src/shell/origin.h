// Where a pointer comes from: the block at an address, who made it and who ended it, told as debuggers tell a backtrace. Needs no index,
// only the events, and names for two or three stacks: quick enough for a program that is stopped in a debugger.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/moment/address_history.h"
#include "report/names/stack_text.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"
#include "tape/reader.h"

namespace heaptape {

struct Origin {
  std::uint64_t address = 0;
  std::uint64_t event = 0, time_us = 0; // the moment that is asked about: after this event
  std::optional<Tenant> block{};        // that holds the address, or was the last to; none: no block ever did
  std::optional<Tenant> before{};       // of a live block: who had the address before it
  std::vector<Damage> damage{};         // of the tape: the answer may be another

  std::uint64_t offset() const { return block ? address - block->address : 0; }
  std::vector<StackId> stacks() const; // that are told about
};

// At the end of the tape, or after another event.
Origin find_origin(const TapeReader& tape, std::uint64_t address);
Origin find_origin(const TapeReader& tape, std::uint64_t address, std::uint64_t event, std::uint64_t time_us);

// The block must be there.
std::string origin_text(const TapeReader& tape, StackText& stacks, const Origin& origin, const TextStyle& style);
void write_origin_json(JsonWriter& json, const TapeReader& tape, StackText& stacks, const Origin& origin);

} // namespace heaptape
