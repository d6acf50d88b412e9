// Makes the first inputs of index_fuzz: heaptape_make_index_corpus FOLDER. The same files every time.
#include <cstdio>
#include <fstream>
#include <string>

#include "analysis/index/index_codec.h"
#include "analysis/index/keyframe.h"
#include "analysis/index/replay.h"
#include "tape/random_events.h"

namespace {

using namespace heaptape;
using Bytes = std::vector<std::byte>;

void save(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  std::printf("%s: %zu bytes\n", path.c_str(), bytes.size());
}

// One byte that says what it is, then every part with its length.
template <class Put>
Bytes input_of(std::uint8_t what, Put put) {
  Bytes input{static_cast<std::byte>(what)};
  const Result<> done = put([&](std::span<const std::byte> payload) -> Result<> {
    ByteWriter(input).u16(static_cast<std::uint16_t>(payload.size()));
    ByteWriter(input).bytes(payload);
    return Unit{};
  });
  HT_CHECK(done.ok());
  return input;
}

} // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: heaptape_make_index_corpus FOLDER\n");
    return 2;
  }
  const std::string folder = std::string(arguments[1]) + "/";
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    test::EventMaker maker(seed);
    std::vector<Event> events;
    for (const test::KnownEvent& known : maker.take(30 * seed * seed)) events.push_back(known.event);
    Replay replay({.end_us = events.back().time_us, .events = events.size()});
    replay.apply(events);
    const std::string name = std::to_string(seed);
    save(folder + "keyframe-" + name,
         input_of(2, [&](const AddPart& add) { return KeyframeCodec::put(replay.state(), add); }));
    const Findings findings = replay.finish();
    save(folder + "answers-" + name, input_of(1, [&](const AddPart& add) { return put_findings(findings, add); }));
  }
  Bytes head{std::byte{0}};
  put_index_head({1000, 77, 40, {5000, 6000, 7000}, {{100, 7, {8000, 9000}, {}}, {900, 70, {9500}, {}}}}, head);
  save(folder + "head", head);
  return 0;
}
