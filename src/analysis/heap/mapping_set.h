// The program's own mappings that are open, page by page as the kernel has them: a munmap may take a part of one, or of several,
// and a mapping made over others takes their place. One thread at a time.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

#include "base/ids.h"
#include "tape/event.h"

namespace heaptape {

// What is left of one mmap or mremap, or a part of it.
struct MappingPiece {
  std::uint64_t begin = 0; // whole pages
  std::uint64_t end = 0;
  std::uint64_t event = 0; // that made it
  std::uint64_t time_us = 0;
  StackId stack; // of that event
  ThreadId thread;
  bool anonymous = false;
  bool reserved = false; // made without any access (PROT_NONE)

  std::uint64_t bytes() const { return end - begin; }
  friend bool operator==(const MappingPiece&, const MappingPiece&) = default;
};

class MappingSet {
public:
  // Takes an event of one of the four mapping kinds in; others change nothing. Calls listener.closed(piece) and
  // listener.opened(piece, is_new) for what changes, in an order in which no page counts twice. A piece that is cut closes, and
  // what is left of it opens again. An mremap is one step; its new piece is of the same sort as the old. False: the event was to
  // unmap something, and nothing was open there.
  template <class Listener>
  bool apply(const Event& event, Listener&& listener);

  // By address.
  const std::map<std::uint64_t, MappingPiece>& pieces() const { return pieces_; }
  // The one that holds this address, or nullptr.
  const MappingPiece* find(std::uint64_t address) const;

  // Puts back what pieces() held; they must not overlap.
  void restore(const MappingPiece& piece) { pieces_[piece.begin] = piece; }

private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };
  static Range pages_of(std::uint64_t address, std::uint64_t size);

  // Cuts [begin, end) out of what is open; false when nothing was there.
  template <class Listener>
  bool cut(Range range, Listener&& listener);

  std::map<std::uint64_t, MappingPiece> pieces_;
};

template <class Listener>
bool MappingSet::cut(Range range, Listener&& listener) {
  auto at = pieces_.lower_bound(range.begin);
  if (at != pieces_.begin()) {
    const auto before = std::prev(at);
    if (before->second.end > range.begin) at = before;
  }
  bool found = false;
  while (at != pieces_.end() && at->second.begin < range.end) {
    found = true;
    const MappingPiece piece = at->second;
    listener.closed(piece);
    at = pieces_.erase(at);
    MappingPiece rest = piece;
    if (piece.begin < range.begin) {
      rest.end = range.begin;
      listener.opened(rest, false);
      pieces_.emplace(rest.begin, rest);
    }
    if (piece.end > range.end) {
      rest.begin = range.end;
      rest.end = piece.end;
      listener.opened(rest, false);
      at = std::next(pieces_.emplace(rest.begin, rest).first);
    }
  }
  return found;
}

template <class Listener>
bool MappingSet::apply(const Event& event, Listener&& listener) {
  const Range range = pages_of(event.address, event.size);
  bool known = true;
  MappingPiece piece{
      range.begin, range.end,    event.number, event.time_us,
      event.stack, event.thread, false,        event.old_size == kReservedOnly && event.kind != EventKind::Mremap};
  switch (event.kind) {
  case EventKind::Munmap: return cut(range, listener);
  case EventKind::MmapAnonymous: piece.anonymous = true; break;
  case EventKind::MmapFile: break;
  case EventKind::Mremap: {
    const MappingPiece* old = find(event.old_address);
    piece.anonymous = old == nullptr || old->anonymous;
    piece.reserved = old != nullptr && old->reserved;
    // An old size of 0 makes a second mapping of the same memory.
    if (event.old_size == 0)
      known = old != nullptr;
    else
      known = cut(pages_of(event.old_address, event.old_size), listener);
    break;
  }
  default: return true;
  }
  cut(range, listener);
  if (range.begin != range.end) {
    listener.opened(piece, true);
    pieces_.emplace(piece.begin, piece);
  }
  return known;
}

} // namespace heaptape
