// An entry of a list on the tape that may grow in a later minor version: its size stands in front.
#pragma once

#include <cstddef>
#include <vector>

#include "base/byte_cursor.h"

namespace heaptape {

// Calls fill(ByteWriter&) and appends what it writes to `out`. `scratch` is for reuse; what is in it is lost.
template <class Fill>
void put_sized(std::vector<std::byte>& out, std::vector<std::byte>& scratch, Fill&& fill) {
  scratch.clear();
  ByteWriter entry(scratch);
  fill(entry);
  ByteWriter writer(out);
  writer.varint(scratch.size());
  writer.bytes(scratch);
}

} // namespace heaptape
