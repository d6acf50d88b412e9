#include "collector/contents/program_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "collector/observe/maps_text.h"
#include "collector/observe/proc_files.h"
#include "tape/memory_snapshot.h"

namespace heaptape {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10; // larger ones leave the cache, and are slower
constexpr std::size_t kMostPieces = 256;
constexpr std::uint64_t kFailuresPerLook = 256;

} // namespace

bool ProgramMemory::read(std::span<const PageRange> ranges, const Sink& sink) {
  buffer_.resize(kBufferBytes);
  for (const PageRange& range : ranges) {
    for (std::uint64_t at = range.begin; at < range.end;) {
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kBufferBytes - filled_, range.end - at));
      pieces_.push_back({at, bytes});
      filled_ += bytes;
      at += bytes;
      if ((filled_ == kBufferBytes || pieces_.size() == kMostPieces) && !flush(sink)) return false;
    }
  }
  return flush(sink);
}

bool ProgramMemory::flush(const Sink& sink) {
  if (pieces_.empty()) return true;
  std::array<iovec, kMostPieces> from;
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    from[i] = {reinterpret_cast<void*>(pieces_[i].address), pieces_[i].bytes};
  bool alive = true;
  std::size_t at = 0; // in the buffer
  for (std::size_t done = 0; alive && done < pieces_.size();) {
    const iovec to{buffer_.data() + at, filled_ - at};
    const ssize_t got = ::process_vm_readv(pid_, &to, 1, from.data() + done, pieces_.size() - done, 0);
    alive = got >= 0 || errno != ESRCH;
    const std::size_t until = at + static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    for (; done < pieces_.size() && at + pieces_[done].bytes <= until; at += pieces_[done++].bytes)
      sink(pieces_[done].address, std::span(buffer_).subspan(at, pieces_[done].bytes));
    if (!alive || done == pieces_.size()) break;
    // The kernel stopped here.
    const Piece& piece = pieces_[done++];
    alive = read_page_by_page(piece, std::span(buffer_).subspan(at, piece.bytes), sink);
    at += piece.bytes;
  }
  pieces_.clear();
  filled_ = 0;
  return alive;
}

// As far as the last look shows, which is not long ago. A program that unmaps much while it is read, such as the stacks of its threads, would
// else cost a system call for each page that is gone.
bool ProgramMemory::is_unmapped(const Piece& piece) {
  if (failures_++ % kFailuresPerLook == 0) {
    mappings_.clear();
    MapNames names;
    MapsText text;
    text.add(read_small_file("/proc/" + std::to_string(pid_) + "/maps"), names);
    for (const MappedRange& range : text.take()) mappings_.push_back({range.begin, range.end});
  }
  // Behind the last one there may be more than was read.
  const bool is_known = !mappings_.empty() && piece.address < mappings_.back().end;
  return is_known && !overlaps(mappings_, {piece.address, piece.address + piece.bytes});
}

bool ProgramMemory::read_page_by_page(const Piece& piece, std::span<std::byte> room, const Sink& sink) {
  if (is_unmapped(piece)) {
    for (std::size_t passed = 0; passed < piece.bytes; passed += kPageBytes) sink(piece.address + passed, {});
    return true;
  }
  for (std::size_t passed = 0; passed < piece.bytes; passed += kPageBytes) {
    const auto page = room.subspan(passed, kPageBytes);
    const iovec to{page.data(), page.size()}, from{reinterpret_cast<void*>(piece.address + passed), kPageBytes};
    const ssize_t got = ::process_vm_readv(pid_, &to, 1, &from, 1, 0);
    if (got < 0 && errno == ESRCH) return false;
    const bool whole = got == static_cast<ssize_t>(kPageBytes);
    sink(piece.address + passed, whole ? page : std::span<std::byte>());
  }
  return true;
}

} // namespace heaptape
