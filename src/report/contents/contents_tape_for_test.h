// Tapes with snapshots of memory, made up by tests: blocks that functions made, pointers between them, variables that lead to some.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "report/names/stacks_for_test.h"
#include "tape/memory_snapshot_codec.h"
#include "tape/writer.h"

namespace heaptape::test {

class ContentsTape {
public:
  static constexpr std::uint64_t kHeap = 0x5600'0000'0000, kVariables = 0x18'0000;
  static constexpr std::size_t kHeapPages = 48;

  Stacks stacks;

  // The next block, all zero. Gives its address.
  std::uint64_t add(std::uint64_t size, StackId stack) {
    const std::uint64_t address = next_;
    next_ += (size + 31) / 16 * 16;
    HT_CHECK(next_ <= kHeap + kHeapPages * kPageBytes);
    event(EventKind::Malloc, address, size, stack);
    return address;
  }
  void release(std::uint64_t address, StackId stack = {}) { event(EventKind::Free, address, 0, stack); }
  void put(std::uint64_t address, std::uint64_t word) {
    const bool variable = address < kHeap;
    std::memcpy(&(variable ? variables_ : heap_)[address - (variable ? kVariables : kHeap)], &word, sizeof word);
  }
  void variable(std::size_t number, std::uint64_t word) { put(kVariables + 8 * number, word); }

  // The memory as it is now.
  void snapshot(const std::string& name) {
    MemorySnapshot& taken = snapshots_.emplace_back();
    taken.number = snapshots_.size();
    taken.name = name;
    taken.event = events_.size();
    taken.time_us = 10 * events_.size();
    taken.method = SnapshotMethod::Stop;
    taken.pause_us = 1500;
    taken.duration_us = 3000;
    taken.new_pages = 1 + kHeapPages;
    const std::uint64_t first = (snapshots_.size() - 1) * taken.new_pages + 1;
    taken.regions = {
        {kVariables, kVariables + kPageBytes, 0, names_.number_of("/usr/bin/program"), kMapRead | kMapWrite},
        {kHeap, kHeap + kHeapPages * kPageBytes, 0, names_.number_of("[heap]"), kMapRead | kMapWrite}};
    taken.runs = {{kVariables, kVariables + kPageBytes, PageState::Stored, first},
                  {kHeap, kHeap + kHeapPages * kPageBytes, PageState::Stored, first + 1}};
    std::vector<std::byte>& pages = pages_.emplace_back(variables_);
    pages.insert(pages.end(), heap_.begin(), heap_.end());
  }

  // Writes a tape and gives its path, which the caller unlinks.
  std::string write() const {
    std::string path = "/tmp/heaptape-contents-XXXXXX";
    const int fd = ::mkstemp(path.data());
    HT_CHECK(fd >= 0);
    ::close(fd);
    auto created = TapeWriter::create({.path = path, .overwrite = true, .start_realtime_ns = 1, .pid = 4711});
    HT_CHECK(created.ok());
    TapeWriter& writer = created.value();
    const std::vector<Thread> threads{{ThreadId(1), 4711, "main", 1, 0, 0}};
    HT_CHECK(writer.add_modules(stacks.modules).ok() &&
             writer.add_stacks(StackId(1), std::span(stacks.stacks).subspan(1)).ok() &&
             writer.add_threads(threads).ok() && writer.add_symbols(stacks.symbols).ok());
    EventEncoder encoder;
    for (const Event& event : events_) encoder.add(event, 0);
    HT_CHECK(writer.add_events(encoder).ok());
    PagePacker packer;
    for (std::size_t i = 0; i < snapshots_.size(); ++i) {
      std::vector<std::byte> payload;
      put_pages(snapshots_[i].runs.front().value, pages_[i], packer, payload);
      HT_CHECK(writer.add_pages(payload).ok() && writer.add_snapshot(snapshots_[i], names_).ok());
    }
    Summary summary;
    summary.events = events_.size();
    HT_CHECK(writer.add_summary(summary).ok());
    return path;
  }

private:
  void event(EventKind kind, std::uint64_t address, std::uint64_t size, StackId stack) {
    Event& event = events_.emplace_back();
    event.number = events_.size();
    event.time_us = 10 * event.number;
    event.kind = kind;
    event.address = address;
    event.size = size;
    event.stack = stack;
    event.thread = ThreadId(1);
  }

  std::uint64_t next_ = kHeap + 0x10;
  std::vector<std::byte> variables_ = std::vector<std::byte>(kPageBytes);
  std::vector<std::byte> heap_ = std::vector<std::byte>(kHeapPages * kPageBytes);
  std::vector<Event> events_;
  MapNames names_;
  std::vector<MemorySnapshot> snapshots_;
  std::vector<std::vector<std::byte>> pages_; // beside them
};

} // namespace heaptape::test
