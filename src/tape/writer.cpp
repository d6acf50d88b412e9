#include "tape/writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tape/contents_codec.h"
#include "tape/cpu_codec.h"
#include "tape/crash_codec.h"
#include "tape/create_file.h"
#include "tape/inherited_codec.h"
#include "tape/maps_codec.h"
#include "tape/memory_error_codec.h"
#include "tape/memory_snapshot_codec.h"
#include "tape/run_time_codec.h"
#include "tape/symbols_codec.h"

namespace heaptape {

namespace {

using format::ChunkType;

// Nodes per STACKS and samples per SAMPLES chunk: the worst case, ten bytes for every number, fits into a payload.
constexpr std::size_t kNodesPerChunk = std::size_t{1} << 19;
constexpr std::size_t kSamplesPerChunk = std::size_t{1} << 16;
// A chunk of things with names is closed when it holds this much; one thing may be as large again.
constexpr std::size_t kEnoughBytes = std::size_t{1} << 20;

// Calls write(part) for one part of the list after another, each of about kEnoughBytes by what bytes_of(item) says.
template <class Item, class BytesOf, class Write>
Result<> write_in_parts(std::span<const Item> items, BytesOf bytes_of, Write write) {
  while (!items.empty()) {
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < items.size() && bytes < kEnoughBytes; ++count) bytes += bytes_of(items[count]);
    if (auto written = write(items.first(count)); !written) return written;
    items = items.subspan(count);
  }
  return Unit{};
}

} // namespace

TapeWriter::TapeWriter(ChunkWriter chunks) : chunks_(std::move(chunks)) {}

Result<TapeWriter> TapeWriter::create(const CreateTape& options) {
  Result<UniqueFd> fd = create_tape_file(options.path, options.overwrite);
  if (!fd) return fd.error();

  format::FileHeader header{};
  std::memcpy(header.magic, format::kMagic, sizeof header.magic);
  header.major = format::kMajor;
  header.minor = format::kMinor;
  header.header_bytes = sizeof header;
  header.start_realtime_ns = options.start_realtime_ns;
  header.pid = options.pid;
  header.checksum = format::file_header_checksum(header);
  ChunkWriter chunks(std::move(fd).value(), options.path, 0);
  if (auto written = chunks.write_bytes(std::as_bytes(std::span(&header, 1))); !written) return written.error();
  return TapeWriter(std::move(chunks));
}

Result<> TapeWriter::add_meta(const Meta& meta) {
  for (auto at = meta.begin(); at != meta.end();) {
    Meta part;
    for (std::size_t bytes = 0; at != meta.end() && bytes < kEnoughBytes; ++at) {
      bytes += at->first.size() + at->second.size();
      part.insert(*at);
    }
    put_meta(part, raw_);
    if (auto written = write_chunk(ChunkType::Meta); !written) return written;
  }
  return Unit{};
}

Result<> TapeWriter::add_modules(std::span<const Module> modules) {
  const auto bytes_of = [](const Module& module) {
    return module.path.size() + module.build_id.size() + 40 * module.segments.size() + 64;
  };
  return write_in_parts(modules, bytes_of, [&](std::span<const Module> part) {
    put_modules(part, raw_);
    return write_chunk(ChunkType::Modules);
  });
}

Result<> TapeWriter::add_threads(std::span<const Thread> threads) {
  const auto bytes_of = [](const Thread& thread) { return thread.name.size() + 64; };
  return write_in_parts(threads, bytes_of, [&](std::span<const Thread> part) {
    put_threads(part, raw_);
    return write_chunk(ChunkType::Threads);
  });
}

Result<> TapeWriter::add_stacks(StackId first, std::span<const StackNode> nodes) {
  while (!nodes.empty()) {
    const std::size_t count = std::min(nodes.size(), kNodesPerChunk);
    put_stacks(first, nodes.first(count), raw_);
    if (auto written = write_chunk(ChunkType::Stacks); !written) return written;
    first = StackId(first.value + static_cast<std::uint32_t>(count));
    nodes = nodes.subspan(count);
  }
  return Unit{};
}

Result<> TapeWriter::add_samples(std::span<const Sample> samples) {
  while (!samples.empty()) {
    const std::size_t count = std::min(samples.size(), kSamplesPerChunk);
    put_samples(samples.first(count), raw_);
    if (auto written = write_chunk(ChunkType::Samples); !written) return written;
    samples = samples.subspan(count);
  }
  return Unit{};
}

Result<> TapeWriter::add_marks(std::span<const Mark> marks) {
  const auto bytes_of = [](const Mark& mark) { return mark.name.size() + mark.detail.size() + 64; };
  return write_in_parts(marks, bytes_of, [&](std::span<const Mark> part) {
    put_marks(part, raw_);
    return write_chunk(ChunkType::Marks);
  });
}

Result<> TapeWriter::add_pools(std::span<const Pool> pools) {
  const auto bytes_of = [](const Pool& pool) { return pool.name.size() + 64; };
  return write_in_parts(pools, bytes_of, [&](std::span<const Pool> part) {
    put_pools(part, raw_);
    return write_chunk(ChunkType::Pools);
  });
}

Result<> TapeWriter::add_odd_calls(const OddCalls& odd) {
  if (odd.calls.empty()) { // the number of those left out alone
    put_odd_calls(odd, raw_);
    return write_chunk(ChunkType::OddCalls);
  }
  const auto bytes_of = [](const OddCall&) { return std::size_t{64}; };
  return write_in_parts(std::span<const OddCall>(odd.calls), bytes_of, [&](std::span<const OddCall> part) {
    put_odd_calls({{part.begin(), part.end()}, odd.left_out}, raw_);
    return write_chunk(ChunkType::OddCalls);
  });
}

Result<> TapeWriter::add_memory_errors(const MemoryErrors& errors) {
  if (errors.errors.empty()) {
    put_memory_errors(errors, raw_);
    return write_chunk(ChunkType::MemoryErrors);
  }
  const auto bytes_of = [](const MemoryError& error) { return error.bytes.size() + error.function.size() + 128; };
  return write_in_parts(std::span<const MemoryError>(errors.errors), bytes_of, [&](std::span<const MemoryError> part) {
    put_memory_errors({errors.mode, {part.begin(), part.end()}, errors.left_out}, raw_);
    return write_chunk(ChunkType::MemoryErrors);
  });
}

Result<> TapeWriter::add_crashes(std::span<const Crash> crashes) {
  put_crashes(crashes, raw_);
  return write_chunk(ChunkType::Crash);
}

Result<> TapeWriter::add_maps(std::uint64_t number, const MapsChange& change, const MapNames& names) {
  put_maps(number, std::span(&change, 1), names, raw_);
  return write_chunk(ChunkType::Maps);
}

Result<> TapeWriter::add_residency(const Residency* look, std::uint64_t peak_rss_bytes) {
  put_residency(look, peak_rss_bytes, raw_);
  return write_chunk(ChunkType::Resident);
}

Result<> TapeWriter::add_cpu(const CpuProfile& more) {
  std::span<const CpuSegment> segments = more.segments;
  std::span<const CpuSample> samples = more.samples;
  while (!segments.empty() || !samples.empty()) {
    const std::size_t some_segments = std::min(segments.size(), kSamplesPerChunk);
    const std::size_t some_samples = std::min(samples.size(), kSamplesPerChunk);
    put_cpu(segments.first(some_segments), samples.first(some_samples), raw_);
    if (auto written = write_chunk(ChunkType::Cpu); !written) return written;
    segments = segments.subspan(some_segments);
    samples = samples.subspan(some_samples);
  }
  return Unit{};
}

Result<> TapeWriter::add_events(EventEncoder& encoder) {
  if (encoder.empty()) return Unit{};
  const auto payload = encoder.finish();
  return chunks_.write_raw(ChunkType::Events, payload);
}

Result<> TapeWriter::add_forks(std::span<const ForkMade> forks) {
  while (!forks.empty()) {
    const auto part = forks.first(std::min(forks.size(), kSamplesPerChunk));
    put_forks(part, raw_);
    if (auto written = write_chunk(ChunkType::Inherited); !written) return written;
    forks = forks.subspan(part.size());
  }
  return Unit{};
}

Result<> TapeWriter::add_pages(std::span<const std::byte> payload) {
  return chunks_.write_raw(ChunkType::Pages, payload);
}

Result<> TapeWriter::add_snapshot(const MemorySnapshot& snapshot, const MapNames& names) {
  for (std::vector<std::byte>& payload : encode_snapshot(snapshot, names)) {
    raw_ = std::move(payload);
    if (auto written = write_chunk(ChunkType::Snapshot); !written) return written;
  }
  return Unit{};
}

Result<> TapeWriter::add_summary(const Summary& summary) {
  put_summary(summary, raw_);
  return write_chunk(ChunkType::Summary);
}

Result<> TapeWriter::add_symbols(const Symbols& symbols) {
  for (std::vector<std::byte>& payload : encode_symbols(symbols)) {
    raw_ = std::move(payload);
    if (auto written = write_chunk(ChunkType::Symbols); !written) return written;
  }
  for (std::vector<std::byte>& payload : encode_run_time_code(symbols.run_time_code())) {
    raw_ = std::move(payload);
    if (auto written = write_chunk(ChunkType::RunTimeCode); !written) return written;
  }
  return Unit{};
}

Result<> TapeWriter::write_chunk(ChunkType type) {
  const std::vector<std::byte> raw = std::exchange(raw_, {});
  return chunks_.write(type, raw);
}

} // namespace heaptape
