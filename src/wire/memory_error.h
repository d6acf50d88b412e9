// A memory error that the checks in the program have found, on its way through a ring: these bytes as MarkText records, then a
// MemoryError record whose address field is how many bytes they are, whose size field is 0, and whose stack is that of the call that found it.
// The numbers are part of the wire layout and of the tape format: never renumber, only append.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heaptape {

enum class ErrorSort : std::uint8_t {
  None = 0,
  WriteBehind = 1, // bytes behind the end of a block were written
  WriteBefore = 2, // bytes before the begin of a block were written
  WriteFreed = 3,  // bytes of a released block, or those that a realloc had cut off, were written
  WrongAlignment =
      4, // a block was released with another alignment than it was made with: `given`; the block's is `length`
  ReadOutside = 5,    // a call or an instruction reads outside of the block
  WriteOutside = 6,   // ... writes outside of it
  ReadFreed = 7,      // ... reads a released block
  WriteIntoFreed = 8, // ... writes into one
};
inline constexpr std::uint8_t kErrorSorts = 9;

// When it was found.
enum class FoundAt : std::uint8_t {
  Unknown = 0,
  Release = 1, // of the block, or of its neighbour
  Realloc = 2,
  Reuse = 3,   // the memory of a released block was about to be given out again
  Request = 4, // of the user, or a check that is made from time to time
  Exit = 5,
  Crash = 6,
  Call = 7,   // in a function of libc that was about to do it
  Access = 8, // at the very instruction
};
inline constexpr std::uint8_t kFoundAts = 9;

namespace wire {

inline constexpr std::size_t kErrorBytes = 32;
inline constexpr std::size_t kErrorFunctionBytes = 16;

struct MemoryError {
  ErrorSort sort;
  FoundAt found;
  std::uint8_t expected;   // what all of the bytes should have been, where they had a pattern
  std::uint8_t byte_count; // of `bytes`
  std::uint32_t pad0;
  std::uint64_t address; // of the first wrong byte; Call, Access: where the access begins
  std::uint64_t length;  // from the first wrong byte to the last; Call, Access: of the access
  std::uint64_t block;   // the block that it is about; 0: none
  std::uint64_t block_size;
  std::uint64_t given;                // what the call said: an alignment
  std::uint64_t whole_ticks;          // when it was last seen to be whole; 0: when it was made or released
  std::uint8_t bytes[kErrorBytes];    // what the first of the wrong bytes are
  char function[kErrorFunctionBytes]; // of libc, for Call; may not be terminated
};
static_assert(sizeof(MemoryError) == 104);

} // namespace wire

} // namespace heaptape
