#include "collector/control/control_message.h"

#include <algorithm>

#include "base/byte_cursor.h"

namespace heaptape {

namespace {

constexpr std::uint32_t kRequestMagic = 0x7143'7448; // "HtCq"
constexpr std::uint32_t kReplyMagic = 0x7243'7448;   // "HtCr"
constexpr std::uint8_t kControlVersion = 4;
constexpr std::size_t kLongestText = 4096;    // a path
constexpr std::size_t kLongestCommand = 3000; // so that all of it fits into one message
constexpr std::size_t kLongestReason = 500;

std::string_view kept(const std::string& text, std::size_t most) { return std::string_view(text).substr(0, most); }

// What is too long for a pid is none.
pid_t read_pid(ByteReader& reader) {
  const std::uint64_t number = reader.varint();
  if (number > 0x7fff'ffff) reader.fail();
  return static_cast<pid_t>(number & 0x7fff'ffff);
}

} // namespace

std::vector<std::byte> encode_control(const ControlRequest& request) {
  std::vector<std::byte> bytes;
  ByteWriter writer(bytes);
  writer.u32(kRequestMagic);
  writer.u8(kControlVersion);
  writer.u8(static_cast<std::uint8_t>(request.ask));
  writer.u8(static_cast<std::uint8_t>(request.mark));
  writer.u8(static_cast<std::uint8_t>(request.method));
  writer.u8(request.with_not_dumped ? 1 : 0);
  writer.text(kept(request.name, kLongestMarkName));
  return bytes;
}

std::vector<std::byte> encode_control(const ControlReply& reply) {
  std::vector<std::byte> bytes;
  ByteWriter writer(bytes);
  const LiveRecording& recording = reply.recording;
  writer.u32(kReplyMagic);
  writer.u8(kControlVersion);
  writer.text(kept(reply.refusal, kLongestText));
  writer.varint(static_cast<std::uint64_t>(std::max<pid_t>(recording.pid, 0)));
  writer.varint(static_cast<std::uint64_t>(std::max<pid_t>(recording.collector, 0)));
  writer.varint(static_cast<std::uint64_t>(std::max<pid_t>(recording.parent, 0)));
  for (const std::uint64_t number :
       {recording.started_realtime_ns, recording.elapsed_us, recording.events, recording.live_bytes,
        recording.live_blocks, recording.peak_bytes, recording.tape_bytes}) {
    writer.varint(number);
  }
  writer.text(kept(recording.program, kLongestText));
  writer.text(kept(recording.tape, kLongestText));
  writer.text(kept(recording.command, kLongestCommand));
  writer.text(kept(reply.outcome, kLongestReason));
  writer.text(kept(reply.missing, kLongestReason));
  return bytes;
}

std::optional<ControlRequest> parse_control_request(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  if (reader.u32() != kRequestMagic || reader.u8() != kControlVersion) return std::nullopt;
  const std::uint8_t ask = reader.u8();
  const std::uint8_t mark = reader.u8();
  const std::uint8_t method = reader.u8();
  const std::uint8_t with_not_dumped = reader.u8();
  ControlRequest request{static_cast<ControlAsk>(ask), static_cast<MarkKind>(mark), std::string(reader.text()),
                         static_cast<SnapshotMethod>(method), with_not_dumped != 0};
  const bool known = ask >= static_cast<std::uint8_t>(ControlAsk::Info) &&
                     ask <= static_cast<std::uint8_t>(ControlAsk::Contents) &&
                     mark <= static_cast<std::uint8_t>(MarkKind::Snapshot) &&
                     method <= static_cast<std::uint8_t>(SnapshotMethod::Twin) && with_not_dumped <= 1;
  if (!reader.done() || !known || request.name.size() > kLongestMarkName) return std::nullopt;
  return request;
}

std::optional<ControlReply> parse_control_reply(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  if (reader.u32() != kReplyMagic || reader.u8() != kControlVersion) return std::nullopt;
  ControlReply reply;
  LiveRecording& recording = reply.recording;
  reply.refusal = reader.text();
  recording.pid = read_pid(reader);
  recording.collector = read_pid(reader);
  recording.parent = read_pid(reader);
  for (std::uint64_t* number :
       {&recording.started_realtime_ns, &recording.elapsed_us, &recording.events, &recording.live_bytes,
        &recording.live_blocks, &recording.peak_bytes, &recording.tape_bytes}) {
    *number = reader.varint();
  }
  recording.program = reader.text();
  recording.tape = reader.text();
  recording.command = reader.text();
  reply.outcome = reader.text();
  reply.missing = reader.text();
  if (!reader.done()) return std::nullopt;
  return reply;
}

} // namespace heaptape
