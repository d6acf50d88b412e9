// The snapshots of a tape as people call them: by number, by name, first and last. With or without the program's memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tape/contents.h"
#include "tape/reader.h"

namespace heaptape {

// The texts lie in the tape and in the marks.
struct NamedSnapshot {
  // Of those with memory as the recording counted them; where the tape holds no memory at all they are counted from 1. 0: it has none,
  // and goes by its name.
  std::uint64_t number = 0;
  std::string_view name{};
  std::uint64_t event = 0, time_us = 0;
  const MemorySnapshot* memory = nullptr; // null: a named moment only
};

// In the order of their moments. `marks` are all that the tape has.
std::vector<NamedSnapshot> named_snapshots(const TapeReader& tape, const std::vector<Mark>& marks);

// What "2", "warm", "warm#3" (the third of that name), "first" and "last" mean; numbers come first, then names. The Error lists those
// there are.
Result<NamedSnapshot> find_snapshot_named(const std::vector<NamedSnapshot>& snapshots, std::string_view which);

// "snapshot 2 ('warm')"; "snapshot 2" when it has no name.
std::string numbered_snapshot_text(std::uint64_t number, std::string_view name);

// What stands in front of the number or the name where a moment is asked for: "snapshot:2", "snapshot warm". Empty: it is no snapshot.
std::string_view snapshot_word(std::string_view position);

} // namespace heaptape
