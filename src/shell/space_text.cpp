#include "shell/space_text.h"

#include <fmt/format.h>

#include "base/number_text.h"

namespace heaptape {

std::string_view kind_text(RangeKind kind) {
  switch (kind) {
  case RangeKind::MainHeap: return "main heap";
  case RangeKind::ThreadArena: return "arena";
  case RangeKind::Anonymous: return "anonymous";
  case RangeKind::File: return "file";
  case RangeKind::Module: return "module";
  case RangeKind::MainStack: return "main stack";
  case RangeKind::ThreadStack: return "stack";
  case RangeKind::Special: return "special";
  }
  return "";
}

std::string_view kind_word(RangeKind kind) {
  switch (kind) {
  case RangeKind::MainHeap: return "main_heap";
  case RangeKind::ThreadArena: return "thread_arena";
  case RangeKind::MainStack: return "main_stack";
  case RangeKind::ThreadStack: return "thread_stack";
  default: return kind_text(kind);
  }
}

std::string_view allocator_name(Allocator allocator) {
  switch (allocator) {
  case Allocator::Glibc: return "glibc";
  case Allocator::Jemalloc: return "jemalloc";
  case Allocator::Tcmalloc: return "tcmalloc";
  case Allocator::Mimalloc: return "mimalloc";
  case Allocator::Snmalloc: return "snmalloc";
  case Allocator::Hoard: return "hoard";
  case Allocator::Tbb: return "tbbmalloc";
  case Allocator::Scudo: return "scudo";
  case Allocator::Rpmalloc: return "rpmalloc";
  case Allocator::Musl: return "musl";
  }
  return "";
}

std::string range_text(std::uint64_t begin, std::uint64_t end) { return fmt::format("{:012x}-{:012x}", begin, end); }

std::string source_line(const Session& session, const AddressSpace& space) {
  if (!space.from_kernel)
    return "Guessed from modules, mmap calls and live blocks: the kernel's own list is not on the tape.\n";
  if (space.maps_us > session.time_us())
    return "As the kernel first showed it, at " + seconds_text(space.maps_us) + " s.\n";
  return "As the kernel showed it from " + seconds_text(space.maps_us) + " s on, with the program's calls since.\n";
}

std::string permissions_line(const AddressSpace& space) {
  if (!space.from_kernel) return "Permissions are guessed, too.\n";
  return "Permissions are those of " + seconds_text(space.maps_us) + " s: mprotect is not on the tape.\n";
}

void write_source_json(JsonWriter& json, const AddressSpace& space) {
  json.field("from_kernel", space.from_kernel);
  if (space.from_kernel) json.field("maps_us", space.maps_us).field("permissions_us", space.maps_us);
}

} // namespace heaptape
