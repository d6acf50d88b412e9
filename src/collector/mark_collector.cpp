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

void MarkCollector::add(const RingItem& item, Mark known) {
  std::vector<Chunk>& chunks = texts_[item.slot];
  const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(item.address(), kLongest));
  const std::size_t used = std::min((length + kChunk - 1) / kChunk, chunks.size());
  for (std::size_t i = chunks.size() - used; i < chunks.size(); ++i) known.name.append(chunks[i].data(), kChunk);
  known.name.resize(std::min(known.name.size(), length));
  chunks.resize(chunks.size() - used);
  known.kind = item.size() == static_cast<std::uint64_t>(MarkKind::Snapshot) ? MarkKind::Snapshot : MarkKind::Mark;
  add_own(std::move(known));
}

std::vector<Mark> MarkCollector::take() {
  std::vector<Mark> marks = std::exchange(marks_, {});
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.event < b.event; });
  return marks;
}

} // namespace heaptape
