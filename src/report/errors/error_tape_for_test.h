// A small program with named functions, and a tape on which it went wrong, in a file of its own, gone with the object.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "analysis/heap/heap_model.h"
#include "analysis/index/story_for_test.h"
#include "base/check.h"
#include "report/errors/error_list.h"
#include "report/names/stacks_for_test.h"
#include "tape/writer.h"

namespace heaptape::test {

class ErrorTape {
public:
  // Stacks by number, for Story::by(): 1 main > load > make, 2 main > drop, 3 main > use, 4 main > other.
  ErrorTape() {
    program.add_function("main", "/src/main.cpp", 7);
    program.add_function("load", "/src/load.cpp", 12);
    program.add_function("make", "/src/load.cpp", 31);
    program.add_function("drop", "/src/drop.cpp", 3);
    program.add_function("use", "/elsewhere/use it.cpp", 5);
    program.add_function("_Z5otheri", "", 0);
    made = program.stack({"main", "load", "make"});
    dropped = program.stack({"main", "drop"});
    used = program.stack({"main", "use"});
    other = program.stack({"main", "_Z5otheri"});
  }
  ErrorTape(const ErrorTape&) = delete;
  ErrorTape& operator=(const ErrorTape&) = delete;
  ~ErrorTape() {
    view_.reset();
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  // To be filled before view() is called.
  Stacks program;
  StackId made{}, dropped{}, used{}, other{};
  Story story;
  OddCalls odd;
  MemoryErrors errors;

  // What the checks say, found by `used` in thread 1 after an event.
  MemoryError& found(ErrorSort sort, FoundAt at, std::uint64_t event, std::uint64_t block, std::uint64_t size) {
    errors.mode = "check";
    MemoryError& error = errors.errors.emplace_back();
    error.sort = sort;
    error.found = at;
    error.event = event;
    error.time_us = event * 10;
    error.thread = ThreadId(1);
    error.stack = used;
    error.block = block;
    error.block_size = size;
    error.address = sort == ErrorSort::WriteBefore ? block - 4 : sort == ErrorSort::WriteFreed ? block : block + size;
    error.length = 4;
    return error;
  }
  // A release by `dropped`, which is an event.
  OddCall& release(OddKind kind, std::uint64_t event, std::uint64_t address) {
    OddCall& call = odd.calls.emplace_back();
    call.kind = kind;
    call.call = EventKind::Free;
    call.event = event;
    call.time_us = event * 10;
    call.thread = ThreadId(1);
    call.stack = dropped;
    call.address = address;
    return call;
  }

  const TapeView& view() {
    if (!view_) write();
    return *view_;
  }
  ErrorList list(Suppressions* suppressions = nullptr) { return find_errors(view(), {.suppressions = suppressions}); }

private:
  void write() {
    path_ = "/tmp/heaptape-errors-XXXXXX";
    const int fd = ::mkstemp(path_.data());
    HT_CHECK(fd >= 0);
    ::close(fd);
    auto created = TapeWriter::create({.path = path_, .overwrite = true, .start_realtime_ns = 1, .pid = 4711});
    HT_CHECK(created.ok());
    TapeWriter& writer = created.value();
    HT_CHECK(writer.add_meta({{"pid", "4711"}, {"directory", "/src"}}).ok());
    HT_CHECK(writer.add_modules(program.modules).ok());
    HT_CHECK(writer.add_threads(std::vector<Thread>{{ThreadId(1), 4711, "first", 0, 0, 0x7ffd'0000'0000}}).ok());
    HT_CHECK(writer.add_stacks(StackId(1), std::span(program.stacks).subspan(1)).ok());
    EventEncoder encoder;
    HeapModel model;
    for (const Event& event : story.events()) encoder.add(event, model.apply(event));
    HT_CHECK(writer.add_events(encoder).ok());
    if (!odd.calls.empty()) HT_CHECK(writer.add_odd_calls(odd).ok());
    if (!errors.mode.empty()) HT_CHECK(writer.add_memory_errors(errors).ok());
    HT_CHECK(writer.add_symbols(program.symbols).ok());
    Summary summary;
    summary.events = story.events().size();
    HT_CHECK(writer.add_summary(summary).ok());
    Result<TapeView> opened = TapeView::open(path_);
    HT_CHECK(opened.ok());
    view_.emplace(std::move(opened).value());
  }

  std::string path_;
  std::optional<TapeView> view_;
};

} // namespace heaptape::test
