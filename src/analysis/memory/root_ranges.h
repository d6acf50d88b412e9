// Where pointers are looked for that no block holds: the registers, stacks, variables and mappings of the program.
//
//   strong   variables of modules, of threads, the program's own mappings: somebody gave these words a name
//   weak     registers and stacks: many words there are left over from calls that have returned
//
// What is not looked at: the recorder's memory; memory of the allocator outside of live blocks, and the allocator's own variables, which
// lead to what is free or just was; what lies below a stack pointer; stacks of threads that have ended, but for the table of variables that
// the C library keeps with such a stack for the next thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/memory/block_ranks.h"
#include "analysis/memory/memory_image.h"
#include "tape/maps.h"
#include "tape/memory_snapshot.h"

namespace heaptape {

struct RootArea {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  friend bool operator==(const RootArea&, const RootArea&) = default;
};

enum class RootKind : std::uint8_t {
  Registers,   // of a thread, not in memory
  Stack,       // of a thread, or one that no thread is using just now
  ThreadLocal, // variables of a thread, and what the C library keeps for it
  Globals,     // variables of a module
  Mapping,     // private memory without a file
  Shared,      // memory shared with other processes
  Code,        // made at run time: pointers lie at any byte of it
  Named,       // by the program itself, as a root
};
constexpr bool is_weak(RootKind kind) { return kind == RootKind::Registers || kind == RootKind::Stack; }

struct RootRange {
  static constexpr std::uint32_t kNone = ~std::uint32_t{};
  RootKind kind = RootKind::Mapping;
  std::uint64_t begin = 0; // of registers 0
  std::uint64_t end = 0;
  std::uint32_t thread = kNone; // number in RootFacts::threads
  std::uint32_t region =
      kNone; // number in RootFacts::regions; of zeroed variables that of the module's last one with a name
  friend bool operator==(const RootRange&, const RootRange&) = default;
};

// What is known about the program at the moment. All ranges in any order; they may overlap and make no sense.
struct RootFacts {
  std::span<const MappedRange> regions{}; // by address, not overlapping
  std::span<const std::string> names{};   // of regions, by number
  std::span<const ThreadState> threads{};
  std::vector<RootArea> arenas{};   // the allocator's memory
  std::vector<RootArea> own{};      // mapped by the program itself: looked at also when blocks lie in it
  std::vector<RootArea> stacks{};   // of threads, also of ended ones
  std::vector<RootArea> frames{};   // where an interpreter has the variables of its functions: as good as stacks
  std::vector<RootArea> excluded{}; // not to be looked at: variables of the allocator, or what the program said
  std::vector<RootArea> named{};    // to be looked at, whatever it is
  std::uint64_t static_tls = 1664;  // bytes of variables below a thread pointer; glibc's own reserve
};

// By address, registers first; not overlapping. Live blocks inside are still to be passed over.
std::vector<RootRange> root_ranges(const RootFacts& facts, const MemoryImage& image, const BlockRanks& ranks);

} // namespace heaptape
