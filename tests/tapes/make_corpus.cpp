// Makes the first inputs of the fuzz targets of src/tape: heaptape_make_corpus FOLDER fills FOLDER/reader with small tapes
// and FOLDER/payload with payloads as payload_fuzz takes them. The same files every time, up to the version of zstd.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "tape/chunk_scanner.h"
#include "tape/compression.h"
#include "tape/contents_codec.h"
#include "tape/maps_codec.h"
#include "tape/payload_fuzz_input.h"
#include "tape/random_events.h"
#include "tape/sample_tape.h"
#include "tape/symbols_codec.h"

namespace {

using namespace heaptape;
using Bytes = std::vector<std::byte>;

void save(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  std::printf("%s: %zu bytes\n", path.c_str(), bytes.size());
}

Bytes event_input(const std::vector<test::KnownEvent>& events) {
  EventEncoder encoder;
  for (const test::KnownEvent& known : events) encoder.add(known.event, known.allocated_at);
  auto payload = encoder.finish();
  format::EventChunkHead head;
  std::memcpy(&head, payload.data(), sizeof head);
  payload = payload.subspan(sizeof head);
  Bytes input{static_cast<std::byte>(format::ChunkType::Events)};
  Bytes columns;
  for (const auto& sizes : head.columns) {
    Bytes column(sizes.raw_bytes);
    const auto stored = payload.first(sizes.stored_bytes);
    payload = payload.subspan(sizes.stored_bytes);
    if (sizes.stored_bytes == sizes.raw_bytes)
      column.assign(stored.begin(), stored.end());
    else
      HT_CHECK(Decompressor().fill(stored, column));
    ByteWriter(input).u16(static_cast<std::uint16_t>(column.size()));
    columns.insert(columns.end(), column.begin(), column.end());
  }
  input.insert(input.end(), columns.begin(), columns.end());
  return input;
}

template <class Put>
void save_payload(const std::string& path, format::ChunkType type, Put put) {
  Bytes input{static_cast<std::byte>(type)};
  put(input);
  save(path, input);
}

} // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: heaptape_make_corpus FOLDER\n");
    return 2;
  }
  const std::string reader = std::string(arguments[1]) + "/reader/";
  const std::string payload = std::string(arguments[1]) + "/payload/";

  const SampleTape sample(60, 3);
  const Bytes whole = sample.bytes(20);
  save(reader + "whole", whole);
  save(reader + "no-events", SampleTape(0, 3).bytes());
  save(reader + "one-event", SampleTape(1, 3).bytes());
  save(reader + "cut-off", Bytes(whole.begin(), whole.end() - 50));
  Bytes damaged = whole;
  damaged[100] ^= std::byte{1};
  damaged.insert(damaged.begin() + 300, 40, std::byte{0xf1});
  save(reader + "damaged", damaged);
  Bytes newer = whole;
  newer[8] = std::byte{2};
  save(reader + "newer", newer);

  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    save(payload + "events-" + std::to_string(seed), event_input(test::EventMaker(seed).take(20 * seed)));
  using format::ChunkType;
  save_payload(payload + "meta", ChunkType::Meta, [&](Bytes& out) { put_meta(sample.meta, out); });
  save_payload(payload + "modules", ChunkType::Modules, [&](Bytes& out) { put_modules(sample.modules, out); });
  save_payload(payload + "stacks", ChunkType::Stacks, [&](Bytes& out) { put_stacks(StackId(1), sample.stacks, out); });
  save_payload(payload + "threads", ChunkType::Threads, [&](Bytes& out) { put_threads(sample.threads, out); });
  save_payload(payload + "samples", ChunkType::Samples, [&](Bytes& out) { put_samples(sample.samples, out); });
  save_payload(payload + "summary", ChunkType::Summary, [&](Bytes& out) { put_summary(sample.summary, out); });
  const std::vector<Pool> pools{{.number = 1, .name = "arena"},
                                {.number = 2, .kind = PoolKind::Function, .name = "g_malloc"}};
  save_payload(payload + "pools", ChunkType::Pools, [&](Bytes& out) { put_pools(pools, out); });
  save_payload(payload + "maps", ChunkType::Maps, [&](Bytes& out) {
    std::vector<MapsChange> changes{maps_change({}, sample.maps[0], 1)};
    changes.front().whole = true;
    changes.push_back(maps_change(sample.maps[0], sample.maps[1], 101));
    put_maps(0, changes, sample.map_names, out);
  });
  save_payload(payload + "symbols", ChunkType::Symbols, [&](Bytes& out) {
    const Bytes encoded = encode_symbols(sample.symbols).front();
    out.insert(out.end(), encoded.begin(), encoded.end());
  });
  return 0;
}
