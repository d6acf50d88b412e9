#include "symbols/jit_dump.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/byte_cursor.h"

namespace heaptape {

namespace {

constexpr std::uint32_t kMagic = 0x4A69'5444; // "JiTD"
constexpr std::uint64_t kTicksOfTheMachine = 1;
constexpr std::size_t kHeaderBytes = 40, kRecordBytes = 16;
constexpr std::size_t kMostCodes = std::size_t{4} << 20;
constexpr std::size_t kMostLines = std::size_t{16} << 20;
enum Record : std::uint32_t { kLoad = 0, kMove = 1, kDebugInfo = 2, kClose = 3 };

std::string_view take_name(ByteReader& reader) {
  const std::span<const std::byte> rest = reader.rest();
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  const std::size_t end = text.find('\0');
  (void)reader.bytes(end == text.npos ? rest.size() + 1 : end + 1); // without an end, it fails
  return end == text.npos ? std::string_view() : text.substr(0, end);
}

class Parser {
public:
  JitDump run(std::span<const std::byte> bytes) {
    ByteReader head(bytes);
    (void)head.bytes(8); // magic, version
    const std::uint32_t header_bytes = head.u32();
    (void)head.bytes(20); // machine, padding, pid, timestamp
    dump_.monotonic = (head.u64() & kTicksOfTheMachine) == 0;
    if (!head.ok() || header_bytes < kHeaderBytes || header_bytes > bytes.size()) return {};
    std::size_t at = header_bytes;
    while (bytes.size() - at >= kRecordBytes && dump_.codes.size() < kMostCodes) {
      ByteReader record(bytes.subspan(at));
      const std::uint32_t type = record.u32(), size = record.u32();
      const std::uint64_t timestamp = record.u64();
      if (size < kRecordBytes || size > bytes.size() - at || type == kClose) break;
      ByteReader body(bytes.subspan(at + kRecordBytes, size - kRecordBytes));
      at += size;
      if (type == kLoad) load(body, timestamp);
      if (type == kMove) move(body, timestamp);
      if (type == kDebugInfo) debug_info(body);
    }
    return std::move(dump_);
  }

private:
  void load(ByteReader& body, std::uint64_t timestamp) {
    (void)body.bytes(16); // pid, tid, vma
    JitCode code{.start = body.u64(), .size = body.u64(), .timestamp = timestamp};
    const std::uint64_t index = body.u64();
    code.name = take_name(body);
    // The lines come in front of the code that they belong to.
    if (const auto lines = waiting_.find(code.start); lines != waiting_.end()) {
      code.lines = std::move(lines->second);
      waiting_.erase(lines);
    }
    if (!body.ok() || code.size == 0 || code.start + code.size < code.start) return;
    by_index_[index] = dump_.codes.size();
    dump_.codes.push_back(std::move(code));
  }

  void move(ByteReader& body, std::uint64_t timestamp) {
    (void)body.bytes(16);
    const std::uint64_t from = body.u64(), to = body.u64(), size = body.u64(), index = body.u64();
    const auto found = by_index_.find(index);
    if (!body.ok() || found == by_index_.end() || size == 0 || to + size < to) return;
    const JitCode& old = dump_.codes[found->second];
    JitCode code{.start = to, .size = size, .name = old.name, .timestamp = timestamp};
    if (old.start == from && lines_ + old.lines.size() <= kMostLines) {
      code.lines = old.lines;
      lines_ += code.lines.size();
      for (JitLine& line : code.lines) line.address += to - from;
    }
    found->second = dump_.codes.size();
    dump_.codes.push_back(std::move(code));
  }

  void debug_info(ByteReader& body) {
    const std::uint64_t start = body.u64(), count = body.u64();
    if (!body.ok() || count > body.remaining() / 17) return; // an entry takes at least that
    std::vector<JitLine> lines;
    std::string_view file;
    for (std::uint64_t left = count; left != 0 && lines_ < kMostLines; --left) {
      JitLine line{.address = body.u64()};
      line.line = body.u32();
      (void)body.u32(); // discriminator
      const std::string_view name = take_name(body);
      if (!body.ok()) return;
      if (name != "\xff") file = name; // the same as before
      line.file = file;
      lines.push_back(line);
      ++lines_;
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const JitLine& a, const JitLine& b) { return a.address < b.address; });
    waiting_[start] = std::move(lines);
  }

  JitDump dump_;
  std::unordered_map<std::uint64_t, std::size_t> by_index_;           // code_index: where in codes
  std::unordered_map<std::uint64_t, std::vector<JitLine>> waiting_{}; // by start, for the next load
  std::size_t lines_ = 0;
};

} // namespace

bool is_jit_dump(std::span<const std::byte> bytes) {
  std::uint32_t magic = 0;
  if (bytes.size() < sizeof magic) return false;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  return magic == kMagic;
}

JitDump parse_jit_dump(std::span<const std::byte> bytes) {
  return is_jit_dump(bytes) ? Parser().run(bytes) : JitDump{};
}

} // namespace heaptape
