#include "collector/mark_collector.h"

#include <algorithm>
#include <cstring>

namespace heaptape {

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
  known.name = take_text(item.slot, item.address());
  known.kind = item.size() == static_cast<std::uint64_t>(MarkKind::Snapshot) ? MarkKind::Snapshot : MarkKind::Mark;
  marks_.push_back(std::move(known));
}

} // namespace heaptape
