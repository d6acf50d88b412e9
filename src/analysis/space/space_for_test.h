// A tape with what the kernel said about the address space, made from lines like those of /proc/PID/maps.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/heap/heap_model.h"
#include "analysis/index/story_for_test.h"
#include "analysis/space/address_space.h"
#include "base/check.h"
#include "tape/reader.h"
#include "tape/writer.h"

namespace heaptape::test {

struct MapLine {
  std::uint64_t begin = 0, end = 0;
  std::string_view permissions{};
  std::string_view name{};
  std::uint64_t offset = 0;
};

class SpaceTape {
public:
  explicit SpaceTape(std::vector<Event> events) : events_(std::move(events)) {}

  std::vector<Module> modules;
  std::vector<Thread> threads;
  std::vector<Sample> samples;
  std::optional<Residency> residency;

  void add_maps(std::uint64_t time_us, const std::vector<MapLine>& lines) {
    std::vector<MappedRange> now;
    for (const MapLine& line : lines) {
      MappedRange range{line.begin, line.end, line.offset, names_.number_of(line.name), 0};
      constexpr std::pair<char, std::uint8_t> kLetters[] = {
          {'r', kMapRead}, {'w', kMapWrite}, {'x', kMapExecute}, {'s', kMapShared}};
      for (const auto& [letter, bit] : kLetters)
        if (line.permissions.find(letter) != std::string_view::npos)
          range.permissions = static_cast<std::uint8_t>(range.permissions | bit);
      now.push_back(range);
    }
    changes_.push_back(maps_change(before_, now, time_us));
    changes_.back().whole = changes_.size() == 1;
    before_ = std::move(now);
  }

  // The heap after the first N events; by default all of them.
  HeapState state(std::size_t events = ~std::size_t{0}) const {
    HeapState state;
    for (const Event& event : events_)
      if (event.number <= events) state.apply(event);
    return state;
  }

  // The file is the caller's to remove.
  std::string write() const {
    std::string path = "/tmp/heaptape-space-XXXXXX";
    const int fd = ::mkstemp(path.data());
    HT_CHECK(fd >= 0);
    ::close(fd);
    auto created = TapeWriter::create({.path = path, .overwrite = true, .start_realtime_ns = 1, .pid = 4711});
    HT_CHECK(created.ok());
    TapeWriter& writer = created.value();
    HT_CHECK(writer.add_modules(modules).ok() && writer.add_threads(threads).ok());
    HT_CHECK(writer.add_stacks(StackId(1), std::vector<StackNode>(3, StackNode{StackId(), 0x1234})).ok());
    HT_CHECK(writer.add_samples(samples).ok());
    if (residency) HT_CHECK(writer.add_residency(&*residency, 0).ok());
    EventEncoder encoder;
    HeapModel model;
    for (const Event& event : events_) {
      encoder.add(event, model.apply(event));
      if (encoder.count() == EventEncoder::kMaxEvents) HT_CHECK(writer.add_events(encoder).ok());
    }
    HT_CHECK(writer.add_events(encoder).ok());
    for (std::size_t i = 0; i < changes_.size(); ++i) HT_CHECK(writer.add_maps(i, changes_[i], names_).ok());
    return path;
  }

  TapeReader open() const {
    const std::string path = write();
    auto tape = TapeReader::open(path);
    ::unlink(path.c_str());
    HT_CHECK(tape.ok());
    return std::move(tape).value();
  }

  AddressSpace space(std::size_t events = ~std::size_t{0}) const { return address_space_at(open(), state(events)); }

private:
  std::vector<Event> events_;
  MapNames names_;
  std::vector<MapsChange> changes_;
  std::vector<MappedRange> before_;
};

} // namespace heaptape::test
