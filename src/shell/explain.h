// What an address is, at the cursor, for somebody who found it in a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/heap/pool_state.h"
#include "analysis/moment/address_history.h"
#include "shell/session.h"

namespace heaptape {

enum class AddressKind : std::uint8_t {
  Null,         // null, or a field of it
  Poison,       // a pattern that debug allocators and compilers fill memory with
  Text,         // characters, not an address
  NotCanonical, // no address of this machine at all
  LiveBlock,
  FreedBlock,
  PastEnd,     // behind a live block, in no other
  BeforeStart, // in front of a live block, where the allocator keeps its own
  Stack,       // of a thread
  Global,      // a variable
  Code,
  FreeMemory, // of an arena, in no block
  Mapping,    // of a file, or anonymous
  Nothing,
};
const char* address_kind_name(AddressKind kind); // "live block", ...

struct Explanation {
  AddressKind kind = AddressKind::Nothing;
  std::string verdict;               // one sentence, without the address
  std::string details;               // lines, indented, each ended
  std::optional<Tenant> block{};     // LiveBlock, FreedBlock, PastEnd, BeforeStart
  std::uint64_t offset = 0;          // of the address from the block's start, or behind its end
  std::vector<PoolBlock> in_pools{}; // live blocks of pools around it
};

Explanation explain_address(Session& session, std::uint64_t address);

// What an address looks like by itself, whatever the tape says: "" for an ordinary one.
struct OddAddress {
  AddressKind kind = AddressKind::Nothing; // Nothing: it is ordinary
  std::string sentence{};
};
OddAddress odd_address(std::uint64_t address);

} // namespace heaptape
