// Where a pointer comes from: the block at an address, who made it and who ended it, told as debuggers tell a backtrace. Needs no index,
// only the events, and names for two or three stacks: quick enough for a program that is stopped in a debugger.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/moment/address_facts.h"
#include "report/names/stack_text.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"
#include "report/view/position.h"
#include "tape/reader.h"

namespace heaptape {

struct Origin {
  std::uint64_t address = 0;
  std::uint64_t event = 0, time_us = 0; // the moment that is asked about: after this event
  std::optional<Tenant> block{};        // that holds the address, or was the last to; none: no block ever did
  std::optional<Tenant> before{};       // of a live block: who had the address before it

  std::uint64_t offset() const { return block ? address - block->address : 0; }
  std::vector<StackId> stacks() const; // that are told about
};

// The last moment of a tape, known without an index.
Moment end_of(const TapeReader& tape);
// Of facts after an event, seen from this time.
Origin origin_of(const AddressFacts& facts, std::uint64_t time_us);

// The block must be there.
std::string origin_text(const TapeReader& tape, StackText& stacks, const Origin& origin, const TextStyle& style);
void write_origin_json(JsonWriter& json, const TapeReader& tape, StackText& stacks, const Origin& origin);

} // namespace heaptape
