// A tape made of a story and of named stacks, opened for exports; gone with the object.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "analysis/heap/heap_model.h"
#include "analysis/index/index.h"
#include "analysis/index/story_for_test.h"
#include "report/export/export_input.h"
#include "report/export/sink.h"
#include "report/names/stacks_for_test.h"
#include "tape/writer.h"

namespace heaptape::test {

class ExportedTape {
public:
  ExportedTape(const Story& story, const Stacks& stacks) {
    const int fd = ::mkstemp(path_.data());
    HT_CHECK(fd >= 0);
    ::close(fd);
    write(story, stacks);
    auto opened = TapeReader::open(path_);
    HT_CHECK(opened.ok());
    tape_.emplace(std::move(opened).value());
    index_ = build_index(*tape_);
    names_.emplace(tape_->modules(), tape_->stacks(), tape_->symbols(), NameForm::Full);
  }
  ExportedTape(const ExportedTape&) = delete;
  ExportedTape& operator=(const ExportedTape&) = delete;
  ~ExportedTape() { ::unlink(path_.c_str()); }

  ExportInput input() { return {*tape_, index_, *names_, marks_}; }
  StackNames& names() { return *names_; }
  const Findings& findings() const { return index_.findings; }

  // What export_to(input, sink) writes.
  template <class Write>
  std::string text(Write export_to) {
    std::string written;
    Sink sink([&](std::string_view bytes) -> Result<> {
      written += bytes;
      return Unit{};
    });
    export_to(input(), sink);
    HT_CHECK(sink.finish().ok());
    return written;
  }

private:
  void write(const Story& story, const Stacks& stacks) {
    auto created = TapeWriter::create({.path = path_, .overwrite = true, .start_realtime_ns = 1, .pid = 4711});
    HT_CHECK(created.ok());
    TapeWriter& writer = created.value();
    HT_CHECK(writer.add_meta({{"command", std::string("a</script>\0b\0", 13)}}).ok());
    HT_CHECK(writer.add_modules(stacks.modules).ok() && writer.add_symbols(stacks.symbols).ok());
    HT_CHECK(writer.add_stacks(StackId(1), std::span(stacks.stacks).subspan(1)).ok());
    HT_CHECK(writer.add_threads(std::vector<Thread>{{ThreadId(1), 77, "main", 0, 0}}).ok());
    EventEncoder encoder;
    HeapModel model;
    for (const Event& event : story.events()) encoder.add(event, model.apply(event));
    HT_CHECK(writer.add_events(encoder).ok());
    Summary summary;
    summary.events = story.events().size();
    HT_CHECK(writer.add_summary(summary).ok());
  }

  std::string path_ = "/tmp/heaptape-export-XXXXXX";
  std::optional<TapeReader> tape_;
  Index index_;
  std::optional<StackNames> names_;
  std::vector<Mark> marks_;
};

} // namespace heaptape::test
