#include "tape/run_time_codec.h"

#include <algorithm>
#include <string_view>

#include "base/byte_cursor.h"
#include "tape/format.h"
#include "tape/text_table.h"

namespace heaptape {

namespace {

using Bytes = std::vector<std::byte>;

// A payload is closed when it holds this much; one function with its frames may come on top.
constexpr std::size_t kEnoughBytes = std::size_t{4} << 20;
// Frames beyond this many are left for another entry of the same function.
constexpr std::size_t kMaxFrames = std::size_t{1} << 18;
static_assert(kEnoughBytes + 2 * kMaxTableText + kMaxFrames * 2 * kMaxVarintBytes < format::kMaxPayloadBytes);

// One payload being filled.
class Payload {
public:
  bool empty() const { return count_ == 0; }
  bool full() const { return texts_.bytes() + codes_.size() >= kEnoughBytes; }

  void add(const RunTimeCode& code, std::span<const RunTimeCode::Frame> frames) {
    const std::uint64_t function = texts_.number(code.function), file = texts_.number(code.file);
    ByteWriter writer(codes_);
    for (const std::uint64_t field : {code.start, code.size, code.from_us, code.to_us, function, file}) {
      writer.varint(field);
    }
    writer.varint(code.line);
    writer.varint(frames.size());
    std::uint32_t before = 0;
    for (const RunTimeCode::Frame& frame : frames) {
      writer.varint(frame.node.value - before);
      writer.varint(frame.line);
      before = frame.node.value;
    }
    ++count_;
  }

  Bytes take() {
    Bytes payload;
    ByteWriter writer(payload);
    texts_.write_to(writer);
    writer.varint(count_);
    writer.bytes(codes_);
    *this = {};
    return payload;
  }

private:
  TextTable texts_;
  Bytes codes_;
  std::uint64_t count_ = 0;
};

} // namespace

std::vector<Bytes> encode_run_time_code(std::span<const RunTimeCode> codes) {
  std::vector<Bytes> payloads;
  Payload payload;
  for (const RunTimeCode& code : codes) {
    std::span<const RunTimeCode::Frame> frames = code.frames;
    do {
      const auto some = frames.first(std::min(frames.size(), kMaxFrames));
      payload.add(code, some);
      frames = frames.subspan(some.size());
      if (payload.full()) payloads.push_back(payload.take());
    } while (!frames.empty());
  }
  if (!payload.empty()) payloads.push_back(payload.take());
  return payloads;
}

bool parse_run_time_code(std::span<const std::byte> payload, Symbols& symbols) {
  ByteReader reader(payload);
  const std::vector<std::string_view> texts = read_text_table(reader);
  if (texts.empty()) return false;
  std::size_t text_bytes = 0; // texts are copied, so what is copied is bounded by what was read
  for (std::uint64_t codes = reader.varint(); codes != 0 && reader.ok(); --codes) {
    RunTimeCode code;
    code.start = reader.varint();
    code.size = reader.varint();
    code.from_us = reader.varint();
    code.to_us = reader.varint();
    const std::uint64_t function = reader.varint(), file = reader.varint();
    code.line = static_cast<std::uint32_t>(reader.varint());
    const std::uint64_t frames = reader.varint();
    if (!reader.ok() || function >= texts.size() || file >= texts.size() || frames > reader.remaining() / 2)
      return false;
    code.function = texts[function];
    code.file = texts[file];
    text_bytes += code.function.size() + code.file.size();
    if (text_bytes > format::kMaxPayloadBytes * std::size_t{4}) return false;
    std::uint64_t node = 0;
    for (std::uint64_t left = frames; left != 0; --left) {
      node += reader.varint();
      const auto line = static_cast<std::uint32_t>(reader.varint());
      if (!reader.ok() || node >= format::kMaxStackNodes) return false;
      code.frames.push_back({StackId(static_cast<std::uint32_t>(node)), line});
    }
    symbols.add_run_time(std::move(code));
  }
  return reader.ok();
}

} // namespace heaptape
