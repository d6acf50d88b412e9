#include "report/pages/memory_errors.h"

#include <fmt/format.h>

#include "base/characters.h"
#include "base/number_text.h"

namespace heaptape {
namespace {

std::string block_text(const MemoryError& error) {
  if (error.block == 0) return "a block";
  return fmt::format("the block of {} at {:#x}", count_of(error.block_size, "byte"), error.block);
}

std::string what_happened(const MemoryError& error) {
  const std::string bytes = count_of(error.length, "byte");
  const char* const were = error.length == 1 ? "was" : "were";
  const std::string block = block_text(error);
  switch (error.sort) {
  case ErrorSort::WriteBehind: return fmt::format("{} behind the end of {} {} written", bytes, block, were);
  case ErrorSort::WriteBefore: return fmt::format("{} before the beginning of {} {} written", bytes, block, were);
  case ErrorSort::WriteFreed: return fmt::format("{} of {} {} written after its release", bytes, block, were);
  case ErrorSort::WrongAlignment:
    return fmt::format("{} was released with alignment {} and made with {}", block, error.given, error.length);
  case ErrorSort::ReadOutside: return fmt::format("a read of {} at {:#x} outside of {}", bytes, error.address, block);
  case ErrorSort::WriteOutside: return fmt::format("a write of {} at {:#x} outside of {}", bytes, error.address, block);
  case ErrorSort::ReadFreed: return fmt::format("a read of {} at {:#x} from released {}", bytes, error.address, block);
  case ErrorSort::WriteIntoFreed:
    return fmt::format("a write of {} at {:#x} into released {}", bytes, error.address, block);
  case ErrorSort::None: break;
  }
  return fmt::format("an error of a sort that this heaptape does not know ({})", static_cast<unsigned>(error.sort));
}

std::string when_found(const MemoryError& error) {
  switch (error.found) {
  case FoundAt::Unknown: return "";
  case FoundAt::Release: return ", found at a release";
  case FoundAt::Realloc: return ", found at a realloc";
  case FoundAt::Reuse: return ", found when the memory was to be used again";
  case FoundAt::Request: return ", found by a check while the program ran";
  case FoundAt::Exit: return ", found at the program's end";
  case FoundAt::Crash: return ", found at the program's crash";
  case FoundAt::Call: return error.function.empty() ? "" : ", in " + printable(error.function);
  case FoundAt::Access: return "";
  }
  return "";
}

} // namespace

const char* error_sort_name(ErrorSort sort) {
  switch (sort) {
  case ErrorSort::WriteBehind: return "write-behind";
  case ErrorSort::WriteBefore: return "write-before";
  case ErrorSort::WriteFreed: return "write-freed";
  case ErrorSort::WrongAlignment: return "wrong-alignment";
  case ErrorSort::ReadOutside: return "read-outside";
  case ErrorSort::WriteOutside: return "write-outside";
  case ErrorSort::ReadFreed: return "read-freed";
  case ErrorSort::WriteIntoFreed: return "write-into-freed";
  case ErrorSort::None: break;
  }
  return "other";
}

const char* found_at_name(FoundAt found) {
  switch (found) {
  case FoundAt::Unknown: break;
  case FoundAt::Release: return "release";
  case FoundAt::Realloc: return "realloc";
  case FoundAt::Reuse: return "reuse";
  case FoundAt::Request: return "request";
  case FoundAt::Exit: return "exit";
  case FoundAt::Crash: return "crash";
  case FoundAt::Call: return "call";
  case FoundAt::Access: return "access";
  }
  return "unknown";
}

std::uint64_t error_count(const MemoryErrors& errors) { return errors.errors.size() + errors.left_out; }

std::string error_count_text(const MemoryErrors& errors) {
  return error_count(errors) == 0 ? "" : count_of(error_count(errors), "memory error");
}

std::string checks_text(const MemoryErrors& errors) {
  if (errors.mode.empty() && error_count(errors) == 0) return "";
  const std::string mode = errors.mode.empty() ? "" : printable(errors.mode) + ": ";
  if (error_count(errors) == 0) return mode + "no memory errors found in the program";
  return mode + error_count_text(errors) + "; 'heaptape errors' lists them";
}

std::string error_sentence(const MemoryError& error) { return what_happened(error) + when_found(error); }

} // namespace heaptape
