#include "collector/contents/program_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "tape/memory_snapshot.h"

namespace heaptape {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10; // larger ones leave the cache, and are slower
constexpr std::size_t kMostPieces = 256;

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
  const iovec to{buffer_.data(), filled_};
  const ssize_t got = ::process_vm_readv(pid_, &to, 1, from.data(), pieces_.size(), 0);
  bool alive = got >= 0 || errno != ESRCH;
  std::size_t at = 0;
  for (const Piece& piece : pieces_) {
    const auto room = std::span(buffer_).subspan(at, piece.bytes);
    at += piece.bytes;
    if (got >= 0 && at <= static_cast<std::size_t>(got))
      sink(piece.address, room);
    else if (alive)
      alive = read_page_by_page(piece, room, sink); // the kernel stopped here, or before
  }
  pieces_.clear();
  filled_ = 0;
  return alive;
}

bool ProgramMemory::read_page_by_page(const Piece& piece, std::span<std::byte> room, const Sink& sink) {
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
