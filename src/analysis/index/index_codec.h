// Findings and the head of an index as bytes, as docs/tape-format.md defines them. The put_ functions append to `out`; the parse_
// functions take hostile bytes and return false, with the target in some valid state, when these make no sense.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analysis/index/findings.h"
#include "analysis/index/keyframe_place.h"
#include "base/byte_cursor.h"
#include "base/result.h"

namespace heaptape {

// What an index tells about, and where its parts lie: the payload of an INDEX chunk.
struct IndexHead {
  std::uint64_t events = 0; // of the tape
  std::uint64_t fingerprint = 0;
  std::uint64_t stacks = 0;           // nodes, with the one that is none
  std::vector<std::uint64_t> figures; // offsets of the parts that hold the findings
  std::vector<Keyframe> keyframes;
};
void put_index_head(const IndexHead& head, std::vector<std::byte>& out);
// False also for a head of a later layout.
bool parse_index_head(std::span<const std::byte> payload, IndexHead& head);

// Calls add(payload) for every part; each is within the limits of a block.
using AddPart = std::function<Result<>(std::span<const std::byte> payload)>;
Result<> put_findings(const Findings& findings, const AddPart& add);

// Puts findings together again, part by part.
class FindingsParser {
public:
  bool add(std::span<const std::byte> payload);
  // When all parts were added: false if something is missing or does not fit together.
  bool finish(Findings& findings);

private:
  Findings findings_;
  TotalPeak total_peak_; // its rows
  bool overview_ = false;
  // How many rows there should be.
  std::uint64_t owners_ = 0, threads_ = 0, mappings_ = 0, growing_ = 0, peak_blocks_ = 0, peak_mappings_ = 0;
};

void put_totals(const HeapTotals& totals, std::vector<std::byte>& out);
bool parse_totals(ByteReader& reader, HeapTotals& totals);

} // namespace heaptape
