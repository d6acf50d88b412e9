// Any bytes as the parts of an index: no crash, nothing beyond the promises of the parsers. What is taken for good is written again
// and has to come back the same.
#include <cstdint>

#include "analysis/index/index_codec.h"
#include "analysis/index/keyframe.h"
#include "base/check.h"

namespace {

using namespace heaptape;
using Bytes = std::vector<std::byte>;

// The input holds several parts, each with two bytes of length in front.
std::vector<std::span<const std::byte>> parts_of(std::span<const std::byte> input) {
  std::vector<std::span<const std::byte>> parts;
  ByteReader reader(input);
  while (reader.remaining() > 2) parts.push_back(reader.bytes(std::min<std::size_t>(reader.u16(), reader.remaining())));
  return parts;
}

template <class Put>
std::vector<Bytes> written(Put put) {
  std::vector<Bytes> parts;
  HT_CHECK(put([&](std::span<const std::byte> payload) -> Result<> {
             parts.emplace_back(payload.begin(), payload.end());
             return Unit{};
           }).ok());
  return parts;
}

void check_head(std::span<const std::byte> input) {
  IndexHead head;
  if (!parse_index_head(input, head)) return;
  for (std::size_t i = 1; i < head.keyframes.size(); ++i)
    HT_CHECK(head.keyframes[i - 1].event < head.keyframes[i].event && head.keyframes[i].event <= head.events);
  Bytes again;
  put_index_head(head, again);
  IndexHead same;
  HT_CHECK(parse_index_head(again, same) && same.figures == head.figures &&
           same.keyframes.size() == head.keyframes.size());
}

void check_findings(std::span<const std::byte> input) {
  FindingsParser parser;
  for (const auto part : parts_of(input))
    if (!parser.add(part)) return;
  Findings findings;
  if (!parser.finish(findings)) return;
  FindingsParser second;
  for (const Bytes& part : written([&](const AddPart& add) { return put_findings(findings, add); }))
    HT_CHECK(second.add(part));
  Findings same;
  HT_CHECK(second.finish(same) && same == findings);
}

bool parse_keyframe(const std::vector<std::span<const std::byte>>& parts, HeapState& state) {
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!(i == 0 ? KeyframeCodec::parse_first(parts[i], state) : KeyframeCodec::parse_next(parts[i], state)))
      return false;
  return !parts.empty() && KeyframeCodec::complete(state);
}

void check_keyframe(std::span<const std::byte> input) {
  HeapState state;
  if (!parse_keyframe(parts_of(input), state)) return;
  const std::vector<Bytes> again = written([&](const AddPart& add) { return KeyframeCodec::put(state, add); });
  HeapState same;
  HT_CHECK(parse_keyframe({again.begin(), again.end()}, same));
  HT_CHECK(same.totals() == state.totals() && same.blocks().size() == state.blocks().size() &&
           same.mappings().pieces() == state.mappings().pieces());
  // And it can go on from there.
  Event event;
  event.kind = EventKind::Realloc;
  event.number = state.event() + 1;
  state.blocks().for_each([&](const Block& block) { event.old_address = block.address; });
  event.address = 0x1000;
  event.size = 5;
  state.apply(event);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span(data, size)).subspan(1);
  switch (data[0] % 3) {
  case 0: check_head(input); break;
  case 1: check_findings(input); break;
  default: check_keyframe(input);
  }
  return 0;
}
