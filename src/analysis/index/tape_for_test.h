// A tape of given events in a file of its own, gone with the object.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "analysis/heap/heap_model.h"
#include "base/check.h"
#include "tape/reader.h"
#include "tape/writer.h"

namespace heaptape::test {

// What few tests need.
struct MoreOnTape {
  OddCalls odd{};
  std::vector<Thread> threads{};
};

class SmallTape {
public:
  SmallTape(const std::vector<Event>& events, std::uint32_t stacks, std::size_t events_per_block, bool finished = true,
            const std::vector<Mark>& marks = {}, const MoreOnTape& more = {}) {
    const int fd = ::mkstemp(path_.data());
    HT_CHECK(fd >= 0);
    ::close(fd);
    auto created = TapeWriter::create({.path = path_, .overwrite = true, .start_realtime_ns = 1, .pid = 4711});
    HT_CHECK(created.ok());
    TapeWriter& writer = created.value();
    std::vector<StackNode> nodes(stacks, StackNode{StackId(), 0x1234});
    HT_CHECK(writer.add_meta({{"pid", "4711"}}).ok() && writer.add_stacks(StackId(1), nodes).ok());
    EventEncoder encoder;
    HeapModel model;
    for (const Event& event : events) {
      encoder.add(event, model.apply(event));
      if (encoder.count() == events_per_block) HT_CHECK(writer.add_events(encoder).ok());
    }
    HT_CHECK(writer.add_events(encoder).ok());
    if (!marks.empty()) HT_CHECK(writer.add_marks(marks).ok());
    if (!more.odd.calls.empty()) HT_CHECK(writer.add_odd_calls(more.odd).ok());
    if (!more.threads.empty()) HT_CHECK(writer.add_threads(more.threads).ok());
    HT_CHECK(writer.add_samples(std::vector<Sample>{{10, 1 << 20, 1 << 19, 1 << 24, 77, 2}}).ok());
    Summary summary;
    summary.events = events.size();
    if (finished) HT_CHECK(writer.add_summary(summary).ok());
  }
  SmallTape(const SmallTape&) = delete;
  SmallTape& operator=(const SmallTape&) = delete;
  ~SmallTape() { ::unlink(path_.c_str()); }

  const std::string& path() const { return path_; }
  TapeReader open() const {
    auto tape = TapeReader::open(path_);
    HT_CHECK(tape.ok());
    return std::move(tape).value();
  }

  std::vector<std::byte> bytes() const {
    std::ifstream file(path_, std::ios::binary);
    const std::vector<char> text((std::istreambuf_iterator<char>(file)), {});
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
  }
  void write(const std::vector<std::byte>& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

private:
  std::string path_ = "/tmp/heaptape-analysis-XXXXXX";
};

} // namespace heaptape::test
