#include "report/pages/dump.h"

#include <algorithm>

#include "base/format_into.h"
#include "base/number_text.h"
#include "base/path_text.h"

namespace heaptape {
namespace {

EventCursor cursor_at(const TapeReader& tape, const std::optional<Position>& from, const Filter::Bounds& bounds) {
  if (!from) {
    if (bounds.first_us == 0) return tape.events(std::max<std::uint64_t>(bounds.first_event, 1));
    return tape.events_from_time(bounds.first_us);
  }
  return from->is_time ? tape.events_from_time(from->value) : tape.events(from->value);
}

// As the kernel names a program's first thread.
std::string short_program_name(const TapeReader& tape) {
  constexpr std::size_t kKernelKeeps = 15; // characters
  const auto program = tape.meta().find("program");
  return program != tape.meta().end() ? std::string(base_name(program->second).substr(0, kKernelKeeps)) : std::string();
}

// What the program said about itself, in order.
template <class Entry>
std::vector<Entry> those_between(std::vector<Entry> entries, const EventFilter& filter) {
  const auto place = [](const Entry& entry, const Position& position) {
    return position.is_time ? entry.time_us : entry.event;
  };
  std::erase_if(entries, [&](const Entry& entry) {
    return (filter.from && place(entry, *filter.from) < filter.from->value) ||
           (filter.to && place(entry, *filter.to) > filter.to->value) ||
           (filter.threads &&
            std::find(filter.threads->begin(), filter.threads->end(), entry.thread) == filter.threads->end());
  });
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.event < b.event; });
  return entries;
}

// They have no number, so they stand between the events.
std::vector<OddCall> calls_that_are_no_events(const TapeReader& tape) {
  std::vector<OddCall> calls = tape.odd_calls().calls;
  std::erase_if(calls, [](const OddCall& call) { return is_event(call.kind); });
  return calls;
}

// Names that tell threads apart: not those that all threads of a program have from the beginning.
void append_thread_names(fmt::memory_buffer& out, const TapeReader& tape) {
  constexpr std::size_t kMost = 40;
  std::size_t named = 0;
  const std::string usual = tape.threads().empty() ? "" : tape.threads().front().name;
  for (const Thread& thread : tape.threads()) {
    if (thread.name.empty() || (thread.name == usual && thread.id != tape.threads().front().id)) continue;
    if (thread.name == usual && thread.name == short_program_name(tape)) continue;
    if (++named > kMost) {
      format_into(out, "# ... ('heaptape threads' lists all)\n");
      return;
    }
    format_into(out, "# T{} is {}\n", thread.id.value, printable(thread.name));
  }
}

FrameForm form_of(const DumpRequest& request) { return request.json ? FrameForm::Json : FrameForm::Text; }

// A sample as far as filters and stacks go: of a kind that is never left out.
Event as_event(const CpuSample& sample) {
  Event event;
  event.time_us = sample.time_us;
  event.thread = sample.thread;
  event.stack = sample.stack;
  event.kind = EventKind::Malloc;
  return event;
}

} // namespace

KernelIds::KernelIds(const TapeReader& tape) {
  for (const Thread& thread : tape.threads()) ids_[thread.id.value] = thread.tid;
}

std::uint32_t KernelIds::of(ThreadId thread) const {
  const auto found = ids_.find(thread.value);
  return found != ids_.end() ? found->second : 0;
}

EventDump::EventDump(const TapeReader& tape, DumpRequest request)
    : tape_(tape), request_(std::move(request)),
      bounds_(request_.where != nullptr ? request_.where->bounds() : Filter::Bounds()),
      cursor_(cursor_at(tape, request_.filter.from, bounds_)), widths_(ColumnWidths::of(tape)), kernel_ids_(tape),
      frames_(tape.modules(), tape.stacks(), form_of(request_), &tape.symbols(), request_.names) {
  if (!request_.marks) return;
  marks_ = those_between(tape.marks(), request_.filter);
  odd_calls_ = those_between(calls_that_are_no_events(tape), request_.filter);
  errors_ = those_between(tape.memory_errors().errors, request_.filter);
}

const Event* EventDump::next_wanted() {
  while (const Event* event = cursor_.next()) {
    if (request_.filter.is_past(*event) || event->number > bounds_.last_event || event->time_us > bounds_.last_us)
      break;
    if (request_.filter.accepts(*event) && (request_.where == nullptr || request_.where->matches(*event))) return event;
  }
  return nullptr;
}

void EventDump::append_marks(fmt::memory_buffer& out, std::uint64_t before_event) {
  for (; next_mark_ < marks_.size() && marks_[next_mark_].event < before_event; ++next_mark_) {
    if (request_.json)
      append_mark_json(out, marks_[next_mark_]);
    else
      append_mark(out, marks_[next_mark_], widths_);
  }
  for (; next_odd_ < odd_calls_.size() && odd_calls_[next_odd_].event < before_event; ++next_odd_) {
    if (request_.json)
      append_odd_call_json(out, odd_calls_[next_odd_]);
    else
      append_odd_call(out, odd_calls_[next_odd_], widths_);
  }
  for (; next_error_ < errors_.size() && errors_[next_error_].event < before_event; ++next_error_) {
    if (request_.json)
      append_memory_error_json(out, errors_[next_error_]);
    else
      append_memory_error(out, errors_[next_error_], widths_);
  }
}

bool EventDump::next(fmt::memory_buffer& out) {
  if (!begun_ && !request_.json) {
    append_thread_names(out, tape_);
    append_titles(out, widths_);
  }
  begun_ = true;
  const Event* const event = next_wanted();
  append_marks(out, event != nullptr ? event->number : ~std::uint64_t{0});
  if (event == nullptr) return false;
  if (request_.json) {
    append_event_json(out, *event, kernel_ids_.of(event->thread), request_.stacks ? &frames_ : nullptr, tape_.pools());
  } else {
    append_event(out, *event, widths_, tape_.pools());
    if (request_.stacks) append_stack(out, *event, frames_);
  }
  return true;
}

SampleDump::SampleDump(const TapeReader& tape, DumpRequest request)
    : tape_(tape), request_(std::move(request)), kernel_ids_(tape),
      frames_(tape.modules(), tape.stacks(), form_of(request_), &tape.symbols(), request_.names) {}

void SampleDump::append(fmt::memory_buffer& out, const CpuSample& sample) {
  if (!request_.json) {
    format_into(out, "{:>12}  T{:<5} {:>8} {:>8}\n", seconds_text(sample.time_us), sample.thread.value, sample.weight,
                sample.segment);
    if (request_.stacks) append_stack(out, as_event(sample), frames_);
    return;
  }
  format_into(out, R"({{"time_us":{},"thread":{},"tid":{},"weight":{},"segment":{},"stack":{})", sample.time_us,
              sample.thread.value, kernel_ids_.of(sample.thread), sample.weight, sample.segment, sample.stack.value);
  if (request_.stacks) {
    format_into(out, R"(,"frames":[)");
    const char* separator = "";
    bool interrupted = false;
    frames_.each_node(sample.stack, [&](StackId node, std::uint64_t) {
      format_into(out, "{}{}", separator, frames_.of(node, sample.time_us, interrupted));
      separator = ",";
    });
    format_into(out, "]");
  }
  format_into(out, "}}\n");
}

bool SampleDump::next(fmt::memory_buffer& out) {
  if (!begun_ && !request_.json) format_into(out, "# time in s  thread  periods  segment\n");
  begun_ = true;
  const std::vector<CpuSample>& samples = tape_.cpu().samples;
  while (next_sample_ < samples.size()) {
    const CpuSample& sample = samples[next_sample_++];
    if (!request_.filter.accepts(as_event(sample))) continue;
    append(out, sample);
    return true;
  }
  return false;
}

} // namespace heaptape
