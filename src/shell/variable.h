// Variables of the program as what a question is about: their bytes, and the blocks that these lead to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/contents/snapshot_heap.h"
#include "report/text/json_writer.h"
#include "shell/session.h"

namespace heaptape {

struct Variable {
  std::string name{};   // of the symbol
  std::string module{}; // "server"
  std::uint64_t begin = 0, bytes = 0;

  std::uint64_t end() const { return begin + bytes; }
};

// The variable that holds an address at the snapshot; nullopt: none with a name and a size does.
std::optional<Variable> variable_at(Session& session, const SnapshotMemory& memory, std::uint64_t address);
// "variable g_cache, 8 bytes of server"
std::string variable_words(const Variable& variable);

struct VariableWord {
  std::uint64_t address = 0; // where it lies
  std::uint32_t block = 0;   // that it leads to
  std::uint64_t offset = 0;  // in that block
};
// The words of a variable that lead to blocks, in order, the first one to each block.
std::vector<VariableWord> words_to_blocks(SnapshotHeap& heap, const Variable& variable);
// A line for each block that the variable leads to, at most a few: "  -> 0x5581c2e0 104-byte block of main server.cpp:45, from +0x8".
std::string words_text(Session& session, SnapshotHeap& heap, const Variable& variable,
                       const std::vector<VariableWord>& words);
// Fields of an open object: the variable, and an array "points_to".
void write_variable(JsonWriter& json, Session& session, SnapshotHeap& heap, const Variable& variable,
                    const std::vector<VariableWord>& words);

} // namespace heaptape
