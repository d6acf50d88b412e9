#include "collector/events/mark_collector.h"

#include <algorithm>
#include <cstring>

#include "base/byte_cursor.h"

namespace heaptape {

void parse_mark_text(std::string_view text, Mark& mark) {
  const std::size_t end = text.find('\0');
  mark.name = text.substr(0, end);
  if (end == text.npos) return;
  ByteReader rest(std::as_bytes(std::span(text.substr(end + 1))));
  const std::uint8_t sort = rest.u8();
  const std::uint64_t value = rest.u64();
  if (!rest.ok()) return;
  mark.set_value_bits(sort, value);
  mark.detail = std::string_view(reinterpret_cast<const char*>(rest.rest().data()), rest.remaining());
}

void MarkCollector::add_text(const RingItem& item) {
  std::vector<Chunk>& chunks = texts_[item.slot];
  if (chunks.size() == kMostChunks) chunks.clear();
  const std::uint64_t address = item.address(), size = item.size();
  Chunk chunk;
  std::memcpy(chunk.data(), &address, kChunk / 2);
  std::memcpy(chunk.data() + kChunk / 2, &size, kChunk / 2);
  chunks.push_back(chunk);
}

std::string MarkCollector::take_text(std::uint32_t slot, std::uint64_t length) {
  std::vector<Chunk>& chunks = texts_[slot];
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(length, kLongest));
  const std::size_t used = std::min((bytes + kChunk - 1) / kChunk, chunks.size());
  std::string text;
  for (std::size_t i = chunks.size() - used; i < chunks.size(); ++i) text.append(chunks[i].data(), kChunk);
  text.resize(std::min(text.size(), bytes));
  chunks.resize(chunks.size() - used);
  return text;
}

void MarkCollector::add(const RingItem& item, Mark known) {
  const std::uint64_t sort = item.size() & 0xffff;
  const std::string text = take_text(item.slot, item.address());
  if (sort == wire::kQuestionOnly) return;
  parse_mark_text(text, known);
  known.kind = sort < kMarkKinds ? static_cast<MarkKind>(sort) : MarkKind::Mark;
  add_own(std::move(known));
}

std::vector<Mark> MarkCollector::take() {
  std::vector<Mark> marks = std::exchange(marks_, {});
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.event < b.event; });
  return marks;
}

void MarkCollector::add_thread_name(const RingItem& item) {
  thread_names_.push_back({ThreadId(item.thread), take_text(item.slot, item.address()), item.size() != 0});
}

} // namespace heaptape
