#include "analysis/memory/memory_image.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heaptape {

namespace {

// A table can name the same pages again and again: more than this would take hours to go over.
constexpr std::uint64_t kMostStored = std::uint64_t{1} << 40;

constexpr std::uint64_t page_begin(std::uint64_t address) { return address & ~(kPageBytes - 1); }

} // namespace

MemoryImage::MemoryImage(std::vector<PageRun> runs, const PageSource& source, FilePages files)
    : source_(source), files_(std::move(files)) {
  const auto by_begin = [](const PageRun& a, const PageRun& b) { return a.begin < b.begin; };
  if (!std::is_sorted(runs.begin(), runs.end(), by_begin)) std::stable_sort(runs.begin(), runs.end(), by_begin);
  std::uint64_t covered = 0;
  for (PageRun& run : runs) {
    run.end = std::min(page_begin(run.end), kEnd);
    if (run.begin % kPageBytes != 0 || run.begin >= run.end || run.state == PageState::None) continue;
    if (run.begin < covered) {
      if (run.end <= covered) continue;
      if (run.state == PageState::Stored) run.value += (covered - run.begin) / kPageBytes;
      run.begin = covered;
    }
    if (run.state == PageState::Stored) {
      if (run.value > ~std::uint64_t{} - run.pages()) continue;
      if (run.end - run.begin > kMostStored - stored_bytes_) continue;
      stored_bytes_ += run.end - run.begin;
    }
    covered = run.end;
    runs_.push_back(run);
  }
}

std::size_t MemoryImage::run_behind(std::uint64_t address) const {
  const auto found =
      std::partition_point(runs_.begin(), runs_.end(), [&](const PageRun& run) { return run.end <= address; });
  return static_cast<std::size_t>(found - runs_.begin());
}

const PageRun* MemoryCursor::run_at(std::uint64_t address) {
  const std::span<const PageRun> runs = image_.runs();
  const auto holds = [&] { return run_ < runs.size() && runs[run_].begin <= address && address < runs[run_].end; };
  if (!holds()) run_ = image_.run_behind(address);
  return holds() ? &runs[run_] : nullptr;
}

const PageChunk* MemoryCursor::chunk_with(std::uint64_t page) {
  ++uses_;
  if (slot_ < slots_.size() && slots_[slot_].chunk.holds(page)) {
    slots_[slot_].used = uses_;
    return &slots_[slot_].chunk;
  }
  if (page >= image_.source().end()) return nullptr;
  std::size_t oldest = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].chunk.holds(page)) {
      slots_[i].used = uses_;
      slot_ = i;
      return &slots_[i].chunk;
    }
    if (slots_[i].used < slots_[oldest].used) oldest = i;
  }
  if (slots_.size() < kChunks) {
    slots_.emplace_back();
    oldest = slots_.size() - 1;
  }
  PageChunk& chunk = slots_[oldest].chunk;
  if (!image_.source().unpack(page, chunk) || !chunk.holds(page)) {
    chunk.bytes.clear();
    slots_[oldest].used = 0;
    return nullptr;
  }
  slots_[oldest].used = uses_;
  slot_ = oldest;
  return &chunk;
}

std::span<const std::byte> MemoryCursor::repeated(std::uint64_t word) {
  if (repeat_.empty() || repeat_word_ != word) {
    repeat_.resize(kPageBytes);
    for (std::size_t at = 0; at < kPageBytes; at += sizeof word) std::memcpy(&repeat_[at], &word, sizeof word);
    repeat_word_ = word;
  }
  return repeat_;
}

std::span<const std::byte> MemoryCursor::bytes_at(const PageRun& run, std::uint64_t address) {
  const std::uint64_t in_page = address % kPageBytes;
  switch (run.state) {
  case PageState::Zero: return repeated(0).subspan(in_page);
  case PageState::Fill: return repeated(run.value).subspan(in_page);
  case PageState::Stored: {
    const std::uint64_t page = run.value + (address - run.begin) / kPageBytes;
    const PageChunk* chunk = chunk_with(page);
    if (chunk == nullptr) return {};
    const std::uint64_t from = (page - chunk->first) * kPageBytes + in_page;
    const std::uint64_t whole = chunk->pages() * kPageBytes;
    return std::span(chunk->bytes).subspan(from, std::min(whole - from, run.end - address));
  }
  case PageState::OfFile: {
    if (!image_.files()) return {};
    if (page_address_ != page_begin(address)) {
      page_.assign(kPageBytes, std::byte{});
      page_address_ = ~std::uint64_t{};
      if (!image_.files()(page_begin(address), page_)) return {};
      page_address_ = page_begin(address);
    }
    return std::span<const std::byte>(page_).subspan(in_page);
  }
  case PageState::None:
  case PageState::Refused:
  case PageState::LeftOut:
  case PageState::Shared: break;
  }
  return {};
}

MemoryState MemoryCursor::state_at(std::uint64_t address) {
  const PageRun* run = run_at(address);
  if (run == nullptr) return MemoryState::None;
  if (run->state == PageState::Stored && bytes_at(*run, address).empty()) return MemoryState::Damaged;
  return static_cast<MemoryState>(run->state);
}

std::uint64_t MemoryCursor::run_end(std::uint64_t address) {
  if (const PageRun* run = run_at(address)) return run->end;
  const std::size_t next = image_.run_behind(address);
  return next < image_.runs().size() ? image_.runs()[next].begin : MemoryImage::kEnd;
}

std::size_t MemoryCursor::read(std::uint64_t address, std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size() && address <= MemoryImage::kEnd) {
    const PageRun* run = run_at(address);
    if (run == nullptr) break;
    const std::span<const std::byte> bytes = bytes_at(*run, address);
    const std::size_t count = std::min(bytes.size(), into.size() - done);
    if (count == 0) break;
    std::memcpy(into.data() + done, bytes.data(), count);
    done += count;
    address += count;
  }
  return done;
}

std::optional<std::uint64_t> MemoryCursor::word(std::uint64_t address) {
  std::uint64_t value = 0;
  if (read(address, std::as_writable_bytes(std::span(&value, 1))) != sizeof value) return std::nullopt;
  return value;
}

std::string MemoryCursor::text(std::uint64_t address, std::size_t most) {
  std::string text;
  while (text.size() < most) {
    std::array<char, 64> piece;
    const std::span room(piece.data(), std::min(piece.size(), most - text.size()));
    const std::size_t count = read(address + text.size(), std::as_writable_bytes(room));
    const auto length = static_cast<std::size_t>(std::find(piece.data(), piece.data() + count, '\0') - piece.data());
    text.append(piece.data(), length);
    if (length < room.size()) break;
  }
  return text;
}

MemoryPiece MemoryCursor::next_piece(std::uint64_t address, std::uint64_t end) {
  const std::span<const PageRun> runs = image_.runs();
  if (run_at(address) == nullptr) run_ = image_.run_behind(address);
  for (std::size_t i = run_; i < runs.size() && runs[i].begin < end; ++i) {
    const PageRun& run = runs[i];
    if (run.state != PageState::Stored && (run.state != PageState::Fill || run.value == 0)) continue;
    run_ = i;
    const std::uint64_t readable = // pages that are not on the tape at all need not be tried one by one
        run.state == PageState::Fill ? run.end
        : run.value >= image_.source().end()
            ? run.begin
            : run.begin + std::min(run.pages(), image_.source().end() - run.value) * kPageBytes;
    const std::uint64_t last = std::min(readable, end);
    for (std::uint64_t at = std::max(address, run.begin); at < last; at = page_begin(at) + kPageBytes) {
      const std::span<const std::byte> bytes = bytes_at(run, at);
      if (bytes.empty()) continue;
      const std::uint64_t count = std::min<std::uint64_t>(bytes.size(), last - at);
      return {at, bytes.subspan(0, count), run.state == PageState::Fill ? run.end : at + count};
    }
  }
  return {};
}

} // namespace heaptape
