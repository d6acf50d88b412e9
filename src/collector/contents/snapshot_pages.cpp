#include "collector/contents/snapshot_pages.h"

#include <algorithm>

#include "collector/contents/program_memory.h"

namespace heaptape {

void SnapshotPages::begin_anew() {
  store_.forget();
  table_.clear();
  copied_.clear();
}

void SnapshotPages::begin(std::uint64_t most_copied) {
  copied_.clear();
  copied_.set_most_bytes(most_copied);
}

void SnapshotPages::put(std::uint64_t address, std::span<const std::byte> bytes) {
  if (bytes.empty()) return refuse(address);
  for (std::size_t at = 0; at < bytes.size(); at += kPageBytes) {
    const PageStore::Stored stored = store_.add(bytes.subspan(at, kPageBytes));
    table_.set(address + at, stored.state, stored.value);
  }
}

void SnapshotPages::refuse(std::uint64_t address) { table_.set(address, PageState::Refused); }

void SnapshotPages::forget(PageRange range) {
  table_.clear(range.begin, range.end);
  copied_.forget(range.begin, range.end);
}

bool SnapshotPages::store(pid_t from, std::span<const PageRange> ranges) {
  ProgramMemory memory(from);
  return memory.read(ranges, [&](std::uint64_t address, std::span<const std::byte> bytes) {
    copied_.forget(address, address + std::max<std::uint64_t>(bytes.size(), kPageBytes));
    put(address, bytes);
  });
}

bool SnapshotPages::copy(pid_t from, std::span<const PageRange> ranges) {
  ProgramMemory memory(from);
  return memory.read(ranges, [&](std::uint64_t address, std::span<const std::byte> bytes) {
    if (bytes.empty()) {
      copied_.forget(address, address + kPageBytes);
      return put(address, bytes);
    }
    for (std::size_t at = 0; at < bytes.size(); at += kPageBytes) {
      const std::span<const std::byte> page = bytes.subspan(at, kPageBytes);
      if (!copied_.add(address + at, page)) put(address + at, page);
    }
  });
}

bool SnapshotPages::store_copied(std::span<const PageRange> secrets) {
  for (const PageRange& secret : secrets) copied_.forget(secret.begin, secret.end);
  copied_.for_each([&](std::uint64_t address, std::span<const std::byte> page) { put(address, page); });
  copied_.clear();
  store_.flush();
  return !store_.failed();
}

std::vector<PageRun> SnapshotPages::runs(std::span<const PlannedRegion> plan) {
  std::vector<PageRun> runs;
  std::uint64_t behind = 0;
  for (const PlannedRegion& region : plan) {
    table_.clear(behind, region.range.begin); // what was unmapped
    behind = region.range.end;
    // What was stored before it became a secret, or before nothing can be read here any more.
    if (!region.is_private() && region.treatment != Treatment::Shared) table_.clear(region.range.begin, behind);
    table_.append_runs(region.range.begin, region.range.end, region.otherwise(), runs);
  }
  return runs;
}

} // namespace heaptape
