// What an address is, at the cursor, for somebody who found it in a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/heap/pool_state.h"
#include "analysis/moment/address_facts.h"
#include "analysis/space/space_range.h"
#include "report/names/program_symbols.h"
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
  FreeMemory,  // of an arena, in no block
  Mapping,     // of a file, or anonymous
  Unmapped,    // a mapping of the program's own that is gone
  ThreadLocal, // variables and control block of a thread
  Nothing,
};
const char* address_kind_name(AddressKind kind); // "live block", ...

// What was found, without words; explanation_text.h has those.
struct Explanation {
  std::uint64_t address = 0;
  AddressKind kind = AddressKind::Nothing;
  std::string oddity{};          // Null, Poison, Text, NotCanonical: a sentence
  std::optional<Tenant> block{}; // LiveBlock, FreedBlock, PastEnd, BeforeStart
  std::uint64_t offset = 0;      // of the address from the block's start, behind its end, or in front of it
  // LiveBlock: who had the address before.
  std::optional<Tenant> former{};
  // LiveBlock and FreedBlock: who had it still earlier, the latest first. Between the last kOldest and those before them some may
  // be left out.
  std::vector<Tenant> older{};
  std::uint64_t older_left_out = 0;
  // FreedBlock: who got the address next, also behind the cursor; a block, a mapping or neither.
  std::optional<Tenant> next{};
  std::optional<MappingPiece> next_mapping{};
  std::vector<Event> bad_releases{}; // of the block: double and invalid frees
  // In no block and beside none: what is mapped there, and what lies there.
  std::optional<SpaceRange> range{};
  std::optional<MappingPiece> mapper{};   // the program mapped it itself; Unmapped: it did
  Event unmapping{};                      // Unmapped: what took it away
  ThreadId thread{};                      // Stack, ThreadLocal: whose; 0: not known
  std::optional<FoundSymbol> symbol{};    // Global, Code
  std::optional<Block> before{}, after{}; // FreeMemory: the live blocks around it; Mapping, Nothing: if they are near
  // Stack, and what else a stack lies in: where that was at the last snapshot of memory up to the cursor.
  std::optional<SnapshotStacks::Place> frame{}; // in which frame, of session.memory_stacks()
  bool below_frames = false;                    // on the part of a thread's stack that was not in use
  std::vector<PoolBlock> in_pools{};            // live blocks of pools around it
  bool stopped = false;                         // by the user: what was there before is not complete
};

// At the cursor. Reads the tape once, or not at all where the live blocks say enough.
Explanation explain_address(Session& session, std::uint64_t address);
// The same when its facts at the cursor were found before.
Explanation explain_address(Session& session, AddressFacts facts);

// What an address looks like by itself, whatever the tape says: "" for an ordinary one.
struct OddAddress {
  AddressKind kind = AddressKind::Nothing; // Nothing: it is ordinary
  std::string sentence{};
};
OddAddress odd_address(std::uint64_t address);

} // namespace heaptape
