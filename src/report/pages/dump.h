// `heaptape dump`: events of a tape, or samples of its CPU profile, in order, as lines of text or of JSON. There may be
// millions, so a dump is taken piece by piece:
//
//   EventDump dump(tape, request);
//   while (dump.next(buffer)) write_if_full(buffer);
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/names/frame_texts.h"
#include "report/pages/event_text.h"
#include "report/select/event_filter.h"
#include "report/select/filter.h"
#include "tape/reader.h"

namespace heaptape {

struct DumpRequest {
  EventFilter filter{};
  Filter* where = nullptr; // FilterOf::Events, which must hold as well
  bool marks = true;       // what the program said about itself stands in between
  bool stacks = true;
  bool json = false;
  NameForm names = NameForm::Short; // of functions, where the tape holds them
};

// The kernel's ids of threads by the tape's numbers.
class KernelIds {
public:
  explicit KernelIds(const TapeReader& tape);
  std::uint32_t of(ThreadId thread) const; // 0: not known

private:
  std::unordered_map<std::uint32_t, std::uint32_t> ids_;
};

// The tape and what the request points to must outlive it. One thread at a time.
class EventDump {
public:
  EventDump(const TapeReader& tape, DumpRequest request);

  // Appends an event and what stands in front of it: the titles, marks. False: there was no event
  // left, and everything has been appended.
  bool next(fmt::memory_buffer& out);
  // In the events read so far.
  const std::vector<Damage>& damage() const { return cursor_.damage(); }

private:
  const Event* next_wanted();
  void append_marks(fmt::memory_buffer& out, std::uint64_t before_event);

  const TapeReader& tape_;
  DumpRequest request_;
  Filter::Bounds bounds_;
  EventCursor cursor_;
  ColumnWidths widths_;
  KernelIds kernel_ids_;
  FrameTexts frames_;
  std::vector<Mark> marks_;           // to be shown, in order
  std::vector<OddCall> odd_calls_{};  // that are no events, the same
  std::vector<MemoryError> errors_{}; // the same
  std::size_t next_odd_ = 0;
  std::size_t next_error_ = 0;
  std::size_t next_mark_ = 0;
  bool begun_ = false;
};

// The same of CPU samples. `where`, `marks` and kinds of events mean nothing here.
class SampleDump {
public:
  SampleDump(const TapeReader& tape, DumpRequest request);

  bool next(fmt::memory_buffer& out);

private:
  void append(fmt::memory_buffer& out, const CpuSample& sample);

  const TapeReader& tape_;
  DumpRequest request_;
  KernelIds kernel_ids_;
  FrameTexts frames_;
  std::size_t next_sample_ = 0;
  bool begun_ = false;
};

} // namespace heaptape
