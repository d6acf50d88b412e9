// Hostile bytes as a growing tape: the first byte says in how many pieces they come.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "live/live_view.h"
#include "live/tape_follower.h"
#include "tape/format.h"

using namespace heaptape;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 + sizeof(format::FileHeader)) return 0;
  const std::size_t pieces = 1 + data[0] % 8;
  const auto* first = reinterpret_cast<const std::byte*>(data + 1);
  const std::size_t whole = size - 1;
  std::vector<std::byte> file(first, first + sizeof(format::FileHeader));
  Result<TapeFollower> follower = TapeFollower::from_bytes(file, Checksums::Ignore);
  if (!follower.ok()) return 0;
  LiveView view(false);
  for (std::size_t piece = 1; piece <= pieces; ++piece) {
    const std::size_t end = piece == pieces ? whole : whole * piece / pieces;
    if (end > file.size()) file.insert(file.end(), first + file.size(), first + end);
    while (follower.value().poll(view, 1000)) {}
  }
  // What was read adds up, whatever it was.
  if (view.heap().live() != view.heap().allocated() - view.heap().freed()) __builtin_trap();
  for (const StackTally& tally : view.heap().largest(3)) view.names().source_hash(tally.stack);
  return 0;
}
