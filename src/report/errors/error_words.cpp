#include "report/errors/error_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/path_text.h"
#include "report/figures/tree_text.h"
#include "report/pages/odd_calls.h"
#include "tape/event.h"

namespace heaptape {
namespace {

std::string bytes_of(std::uint64_t number) { return count_of(number, "byte"); }
std::string block_of(std::uint64_t size) { return "a block of " + bytes_of(size); }

// Where a stretch of memory lies seen from a block: first byte behind it, before it, or in it.
std::string lies(std::uint64_t address, std::uint64_t block, std::uint64_t size) {
  if (address < block) return bytes_of(block - address) + " before";
  if (address - block >= size) return bytes_of(address - block - size) + " behind";
  return address == block ? "the start of" : bytes_of(address - block) + " into";
}

// How far an access goes beyond a block.
std::string beyond(const MemoryError& error) {
  const std::uint64_t last = error.address + std::max<std::uint64_t>(error.length, 1);
  const std::uint64_t end = error.block + error.block_size;
  if (error.address < error.block) return "from " + bytes_of(error.block - error.address) + " before the start of ";
  if (error.address >= end) return bytes_of(error.address - end) + " behind the end of ";
  return "up to " + bytes_of(last > end ? last - end : 0) + " behind the end of ";
}

std::string in_function(const MemoryError& error) {
  return error.function.empty() ? std::string() : " in " + printable(error.function) + "()";
}

std::string access_headline(const ErrorContext& context) {
  const MemoryError& error = context.found;
  const bool reads = context.kind == ErrorKind::ReadOutside || context.kind == ErrorKind::ReadFreed;
  std::string text = fmt::format("Invalid {}{}{}", reads ? "read" : "write",
                                 error.length != 0 ? " of " + bytes_of(error.length) : "", in_function(error));
  if (error.block == 0) return text;
  if (context.kind == ErrorKind::ReadFreed || context.kind == ErrorKind::WriteIntoFreed)
    return text + ": in a released block of " + bytes_of(error.block_size);
  return text + ": " + beyond(error) + block_of(error.block_size);
}

std::string freed_write_headline(const ErrorContext& context) {
  const MemoryError& error = context.found;
  const bool cut_off =
      context.block && context.block->ended == LifeEnd::Live && error.address >= error.block + error.block_size;
  if (cut_off)
    return fmt::format("Write into what realloc had cut off: {} behind a block that now has {}", bytes_of(error.length),
                       bytes_of(error.block_size));
  return fmt::format("Write into a released block: {} of {}", bytes_of(error.length), block_of(error.block_size));
}

std::string wrong_release_headline(const ErrorContext& context, const std::vector<Thread>& threads) {
  const OddFinding& finding = *context.release;
  const OddCall& call = finding.call;
  const bool grows = is_reallocation(call.call);
  const std::string verb = grows ? "realloc" : "free";
  switch (finding.sort) {
  case OddSort::ReleasedTwice:
    if (grows) return "Invalid realloc of a released block of " + bytes_of(context.found.block_size);
    return context.block ? "Double free of " + block_of(context.found.block_size) : "Double free";
  case OddSort::InsideBlock:
    return context.block ? fmt::format("Invalid {}: {} into {}", verb, bytes_of(call.address - context.block->address),
                                       block_of(context.block->size))
                         : fmt::format("Invalid {} inside a block", verb);
  case OddSort::OnStack:
    return fmt::format("Invalid {} of memory on the stack of {}", verb, thread_label(threads, finding.stack_of));
  case OddSort::InModule:
    return fmt::format("Invalid {} of static memory in {}", verb,
                       finding.module != nullptr ? printable(base_name(finding.module->path)) : "a module");
  case OddSort::Mismatch:
    return fmt::format("Mismatched {}: made by {}, {} by {}", verb, family_name(call.family),
                       grows ? "reallocated" : "released", called_function(context));
  case OddSort::WrongSize:
    return fmt::format("Wrong size: {} was released as one of {}", block_of(call.block_size), bytes_of(call.size));
  case OddSort::NotKnown:
  case OddSort::Failed: break;
  }
  return fmt::format("Invalid {} of a foreign pointer: no block was ever made at it", verb);
}

std::string when_found(const ErrorContext& error) {
  if (error.release) {
    const std::string_view call = kind_name(error.release->call.call);
    return fmt::format("found in {}{}", call, call.starts_with("operator ") ? "" : "()");
  }
  switch (error.found.found) {
  case FoundAt::Release:
    return error.block && error.block->ended == LifeEnd::Released
               ? "found when the block was released"
               : "found when the block, or one beside it, was released";
  case FoundAt::Realloc: return "found when the block was reallocated";
  case FoundAt::Reuse: return "found when its memory was to be used again";
  case FoundAt::Request: return "found in a check of all blocks while the program ran";
  case FoundAt::Exit: return "found when the program ended";
  case FoundAt::Crash: return "found when the program crashed";
  case FoundAt::Call: return "found in " + printable(error.found.function) + "(), before it did it";
  case FoundAt::Access: return "found at the access itself";
  case FoundAt::Unknown: break;
  }
  return "found";
}

std::string event_at(std::uint64_t event, std::uint64_t time_us) {
  return fmt::format("event {} at {} s", with_separators(event), seconds_text(time_us));
}

} // namespace

std::string called_function(const ErrorContext& error) {
  constexpr std::string_view kOperator = "operator ";
  if (!error.release) return error.found.function;
  std::string name = kind_name(error.release->call.call);
  if (name.starts_with(kOperator)) name.erase(0, kOperator.size());
  return name;
}

std::string error_headline(const ErrorContext& error, const std::vector<Thread>& threads) {
  const MemoryError& found = error.found;
  switch (error.kind) {
  case ErrorKind::WriteBehind:
    return fmt::format("Invalid write: {} behind the end of {}", bytes_of(found.length), block_of(found.block_size));
  case ErrorKind::WriteBefore:
    return fmt::format("Invalid write: {} before the start of {}", bytes_of(found.length), block_of(found.block_size));
  case ErrorKind::WriteFreed: return freed_write_headline(error);
  case ErrorKind::ReadOutside:
  case ErrorKind::WriteOutside:
  case ErrorKind::ReadFreed:
  case ErrorKind::WriteIntoFreed: return access_headline(error);
  case ErrorKind::WrongAlignment:
    return fmt::format("Wrong alignment: a block that was made with {} was released with {}", found.length,
                       found.given);
  case ErrorKind::Other: return "A memory error of a sort that only a newer heaptape knows";
  default: return wrong_release_headline(error, threads);
  }
}

std::string found_words(const ErrorContext& error, const std::vector<Thread>& threads) {
  const MemoryError& found = error.found;
  std::string text = when_found(error);
  if (found.event != 0)
    text += (error.is_event() ? ", " : ", after ") + event_at(found.event, found.time_us);
  else
    text += fmt::format(", at {} s", seconds_text(found.time_us));
  return found.thread.value != 0 ? text + ", by " + thread_label(threads, found.thread) : text;
}

std::string interval_words(const ErrorContext& error) {
  if (!is_damage(error.kind)) return {};
  const MemoryError& found = error.found;
  std::string since = "the recording began";
  if (found.whole_us != 0) {
    since = fmt::format("{} s, when it was seen to be whole", seconds_text(found.whole_us));
  } else if (error.block) {
    const Tenant& block = *error.block;
    const bool released = error.kind == ErrorKind::WriteFreed && block.ended != LifeEnd::Live;
    if (released)
      since = fmt::format("event {} (its release, {} s)", with_separators(block.end_event), seconds_text(block.end_us));
    else if (!block.inherited)
      since = fmt::format("event {} (its allocation, {} s)", with_separators(block.event), seconds_text(block.time_us));
  }
  if (found.found == FoundAt::Exit) return "written after " + since + " and before the program ended";
  return fmt::format("written after {} and before event {} ({} s)", since, with_separators(found.event + 1),
                     seconds_text(found.time_us));
}

std::string place_words(const ErrorContext& error) {
  const MemoryError& found = error.found;
  if (found.block == 0) return found.address != 0 ? fmt::format("the address is {:#x}", found.address) : "";
  return fmt::format("{:#x} is {} {} at {:#x}", found.address, lies(found.address, found.block, found.block_size),
                     block_of(found.block_size), found.block);
}

std::string maker_words(const Tenant& block, const std::vector<Thread>& threads) {
  if (block.inherited) return "inherited at the fork";
  return fmt::format("{}, {}, {}", kind_name(block.kind), event_at(block.event, block.time_us),
                     thread_label(threads, block.owner.thread));
}

std::string ender_words(const Tenant& block, const std::vector<Thread>& threads) {
  return fmt::format("{}, {}, {}", kind_name(block.end_kind), event_at(block.end_event, block.end_us),
                     thread_label(threads, block.ender.thread));
}

} // namespace heaptape
