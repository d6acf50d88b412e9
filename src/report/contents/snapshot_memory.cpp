#include "report/contents/snapshot_memory.h"

#include <algorithm>

#include "base/number_text.h"
#include "base/path_text.h"

namespace heaptape {

Result<std::size_t> find_snapshot(const TapeReader& tape, std::uint64_t event, std::uint64_t named) {
  const Snapshots& snapshots = tape.snapshots();
  if (snapshots.empty())
    return Error{ErrorCode::NotFound,
                 "the tape holds no memory; take snapshots of it with 'heaptape record --snapshot WHEN' or, while the "
                 "program runs, 'heaptape snapshot -p PID --contents'"};
  if (named != 0) {
    const auto found = std::ranges::find(snapshots, named, &MemorySnapshot::number);
    if (found != snapshots.end()) return static_cast<std::size_t>(found - snapshots.begin());
  }
  std::size_t count = 0;
  while (count < snapshots.size() && snapshots[count].event <= event) ++count;
  if (count != 0) return count - 1;
  return Error{ErrorCode::NotFound, "the first snapshot with memory is at event " +
                                        with_separators(snapshots[0].event) +
                                        ", after this moment; go there, or later"};
}

SnapshotMemory::SnapshotMemory(const TapeReader& tape, std::size_t snapshot, SymbolOptions options)
    : facts_(tape.snapshots()[snapshot]), names_(tape.snapshots().names()), modules_(tape.modules()),
      options_(std::move(options)), pages_(tape),
      image_(tape.snapshots().pages(snapshot), pages_,
             [this](std::uint64_t address, std::span<std::byte> page) { return read_file_page(address, page); }),
      cursor_(image_) {
  has_cpython_ = std::ranges::any_of(tape.modules(), [](const Module& module) {
    return base_name(module.path).starts_with("python3") || base_name(module.path).starts_with("libpython3");
  });
}

const MappedRange* SnapshotMemory::region_at(std::uint64_t address) const {
  const auto after =
      std::ranges::partition_point(facts_.regions, [&](const MappedRange& region) { return region.end <= address; });
  return after != facts_.regions.end() && after->begin <= address ? &*after : nullptr;
}

bool SnapshotMemory::read_file_page(std::uint64_t address, std::span<std::byte> page) {
  const MappedRange* const region = region_at(address);
  const Module* const module = modules_.find_at_time(address, facts_.time_us);
  // A file that is not a module has no build-id, so nobody knows whether it is still the same.
  if (region == nullptr || module == nullptr || module->build_id.empty()) return false;
  const std::lock_guard lock(mutex_);
  auto [file, is_new] = files_.try_emplace({module->path, module->build_id});
  if (is_new) {
    if (Result<MappedFile> opened = Finder(options_).module({module->path, module->build_id}))
      file->second = std::move(opened).value();
  }
  if (!file->second) return false;
  const ByteSpan bytes = file->second->bytes();
  const std::uint64_t offset = region->offset + (address - region->begin);
  if (offset >= bytes.size()) return false;
  const auto part = std::as_bytes(bytes).subspan(offset, std::min<std::uint64_t>(page.size(), bytes.size() - offset));
  std::ranges::copy(part, page.begin());
  std::ranges::fill(page.subspan(part.size()), std::byte{0});
  return true;
}

} // namespace heaptape
