// The pieces that answers are made of: moments, blocks and their lives, in words.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/heap/block_map.h"
#include "analysis/moment/address_history.h"
#include "report/names/stack_text.h"
#include "report/text/json_writer.h"
#include "shell/session.h"
#include "tape/event.h"

namespace heaptape {

std::string hex(std::uint64_t number);                            // "0x5581c2e0"
std::string moment_text(std::uint64_t event, std::uint64_t us);   // "event 1,234 at 12.500000 s"
std::string thread_text(const Session& session, ThreadId thread); // "thread 3 (worker)"
// "1.20 ms earlier", "in the same microsecond", "3.1 s later": one moment seen from another.
std::string ago_text(std::uint64_t then_us, std::uint64_t now_us);

// "64-byte block" and "empty block"; with "a" or "an" in front.
std::string block_words(std::uint64_t size);
std::string a_block(std::uint64_t size);
// Where an address lies in a block: "the start of", "16 bytes into".
std::string offset_words(std::uint64_t offset);

// Of an inherited block: "made 1.20 s before the fork by process 812, malloc"
std::string inherited_words(const TapeReader& tape, const Tenant& life);
// Lines about one life: what it was, who made it, who ended it, what became of it. Times are seen from `now_us`.
std::string life_text(Session& session, StackText& stacks, const Tenant& life, std::uint64_t now_us);

// A release where no block began: a double free, or of an address that malloc never gave.
std::string bad_release_text(Session& session, const Event& event);

void write_block_json(JsonWriter& json, Session& session, StackText& stacks, const Block& block);
void write_life_json(JsonWriter& json, StackText& stacks, const Tenant& life);

// One event as a line: number, time, thread, kind, address, size, what it was about.
std::string event_line(const Event& event, const Block* ended);
std::string event_titles();

} // namespace heaptape
