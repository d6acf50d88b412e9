// The snapshots of a tape, with and without memory, as a list.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tape/contents.h"
#include "tape/reader.h"

namespace heaptape {

struct ListedSnapshot {
  std::uint64_t number = 0; // 0: it goes by its name alone (report/text/snapshot_names.h)
  std::string name{};
  std::uint64_t event = 0, time_us = 0;
  const MemorySnapshot* memory = nullptr; // null: a named moment only. As long as the tape
  std::uint64_t pages = 0;                // that it knows the contents of
  std::uint64_t tape_bytes = 0;           // of pages that were written with it
  std::uint64_t live_bytes = 0;
};

// In the order of their moments; pages, tape_bytes and live_bytes are not known yet.
std::vector<ListedSnapshot> list_snapshots(const TapeReader& tape, const std::vector<Mark>& marks);
// Works out pages and tape_bytes.
void add_pages(const TapeReader& tape, std::vector<ListedSnapshot>& list);
// Works out live_bytes: of a moment without memory the tape's events have to tell. What of them cannot be read is added to `damage`.
void add_live_bytes(const TapeReader& tape, std::vector<ListedSnapshot>& list, const std::function<bool()>& should_stop,
                    std::vector<Damage>& damage);

} // namespace heaptape
