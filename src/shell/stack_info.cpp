// The stacks of all threads at a snapshot: frame by frame, with where each lies and how large it is.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/path_text.h"
#include "base/signal_name.h"
#include "report/contents/stack_bounds.h"
#include "report/text/json_writer.h"
#include "report/view/find_threads.h"
#include "shell/all_commands.h"
#include "shell/contents_text.h"
#include "shell/describe.h"
#include "shell/system_call_name.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kUsualFrames = 100;
constexpr std::size_t kThreadsNamed = 12; // in a message
constexpr CommandOption kStackOptions[] = {{"-n N", "at most N frames of a thread (default: 100)"},
                                           {"--json", "as JSON"}};

// "1 (main, tid 6698), 3 (tid 6704)": those of the snapshot, by the numbers that may be asked for; of very many the first.
std::string threads_there(const Session& session, const SnapshotMemory& memory) {
  const std::vector<ThreadState>& threads = memory.facts().threads;
  std::string text;
  for (std::size_t i = 0; i < threads.size() && i < kThreadsNamed; ++i) {
    const Thread* const known = thread_on_tape(session, memory, threads[i].tid);
    const std::string tid = fmt::format("tid {}", threads[i].tid);
    text += i == 0 ? "" : ", ";
    if (known == nullptr)
      text += tid;
    else
      text += fmt::format("{} ({}{})", known->id.value, known->name.empty() ? "" : printable(known->name) + ", ", tid);
  }
  return threads.size() > kThreadsNamed ? text + fmt::format(" and {} more", threads.size() - kThreadsNamed) : text;
}

// The threads that are meant, as numbers in the snapshot.
Result<std::vector<std::size_t>> chosen_threads(const Session& session, const SnapshotMemory& memory,
                                                const std::optional<std::string>& word) {
  const std::vector<ThreadState>& threads = memory.facts().threads;
  std::vector<std::size_t> chosen;
  if (!word) {
    for (std::size_t i = 0; i < threads.size(); ++i) chosen.push_back(i);
    std::ranges::stable_sort(chosen, {}, [&](std::size_t number) { return threads[number].tid; });
    return chosen;
  }
  // "T3" is how lists of threads have it. A thread that never allocated has no number on the tape, only the kernel's.
  const std::string number = word->starts_with('T') ? word->substr(1) : *word;
  const auto add = [&](const std::string& tid) {
    for (std::size_t i = 0; i < threads.size(); ++i)
      if (std::to_string(threads[i].tid) == tid) chosen.push_back(i);
  };
  const Result<std::vector<ThreadId>> found = find_threads(session.tape().threads(), number);
  if (found) {
    for (const Thread& thread : session.tape().threads())
      if (std::ranges::find(found.value(), thread.id) != found.value().end()) add(std::to_string(thread.tid));
  } else {
    add(number);
    if (chosen.empty())
      return Error{ErrorCode::NotFound, "no thread " + printable(*word) +
                                            " at the snapshot, which has these: " + threads_there(session, memory)};
  }
  std::ranges::sort(chosen);
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  if (chosen.empty())
    return Error{ErrorCode::NotFound, "thread " + printable(*word) + " did not run at the snapshot, which has these: " +
                                          threads_there(session, memory)};
  return chosen;
}

std::string state_text(const ThreadState& thread) {
  if (!thread.stopped) return "it did not stop, so nothing is known of it";
  const auto call = static_cast<std::int64_t>(thread[ThreadState::OrigRax]);
  std::string text =
      call >= 0 ? "in the system call " + system_call_name(static_cast<std::uint64_t>(call)) : std::string("running");
  if (thread.signal != 0) text += ", about to take " + signal_name(static_cast<int>(thread.signal));
  return text;
}

// Puts each function of a frame on a row of its own, inlined ones first: visit(place or null, is_inlined).
template <class Visit>
void each_function(const SourcePlaces& places, Visit visit) {
  for (std::size_t i = 0; i < places.size(); ++i) visit(&places[i], i + 1 != places.size());
  if (places.empty()) visit(static_cast<const SourcePlace*>(nullptr), false);
}

class ThreadPage {
public:
  ThreadPage(Session& session, SnapshotMemory& memory, std::size_t number, std::uint64_t most)
      : session_(session), memory_(memory), state_(memory.facts().threads[number]),
        stack_(session.memory_stacks().frames_of(number)), shown_(std::min<std::uint64_t>(most, stack_.frames.size())) {
    session.memory_stacks().name(std::span(stack_.frames).first(shown_));
    for (std::size_t i = 0; i < stack_.frames.size(); ++i)
      if (!stack_.frames[i].signal_handler && bytes_of(i) > bytes_of(largest_)) largest_ = i;
    if (state_.stopped)
      bounds_ =
          stack_bounds(session.tape(), memory, state_, session.memory_heap().find_around(state_[ThreadState::Rsp]));
  }

  std::string text() {
    const Thread* const known = thread_on_tape(session_, memory_, state_.tid);
    const std::string name = known != nullptr ? thread_text(session_, known->id) + ", tid " : "thread with tid ";
    std::string text = session_.style.bold(name + std::to_string(state_.tid)) + ": " + state_text(state_) + "\n";
    if (!state_.stopped) return text;
    text += fmt::format("  rip {:#x}  rsp {:#x}  rbp {:#x}\n", state_[ThreadState::Rip], state_[ThreadState::Rsp],
                        state_[ThreadState::Rbp]);
    text += stack_line();
    if (largest_ < stack_.frames.size() && stack_.frames.size() > 1 && bytes_of(largest_) != 0)
      text += fmt::format("  largest frame: #{}, {} of {}\n", largest_, bytes_text(bytes_of(largest_)),
                          session_.memory_stacks().text_of(stack_.frames[largest_]));
    const std::size_t digits = std::to_string(std::max<std::size_t>(shown_, 1) - 1).size() + 1;
    text +=
        session_.style.dim(fmt::format("  {:>{}}  {:<14} {:>10}  function", "#", digits, "begins at", "size")) + "\n";
    for (std::size_t i = 0; i < shown_; ++i) text += frame_text(i, digits);
    if (shown_ < stack_.frames.size())
      text += fmt::format("  … {} more; -n shows them\n", count_of(stack_.frames.size() - shown_, "frame"));
    else if (stack_.end == FramesEnd::Cut)
      text += "  (cannot be followed further: " + stack_.why + ")\n";
    else if (stack_.end == FramesEnd::TooDeep)
      text += "  (there are more, which were not looked at)\n";
    return text;
  }

  void write(JsonWriter& json) {
    json.begin_object();
    const Thread* const known = thread_on_tape(session_, memory_, state_.tid);
    if (known != nullptr) json.field("thread", known->id.value).field("name", std::string_view(known->name));
    json.field("tid", state_.tid).field("stopped", state_.stopped).field("state", std::string_view(state_text(state_)));
    if (state_.stopped) {
      json.key("registers").begin_object();
      for (const auto& [name, which] :
           {std::pair{"rip", ThreadState::Rip}, {"rsp", ThreadState::Rsp}, {"rbp", ThreadState::Rbp}})
        json.field(name, std::string_view(hex(state_[which])));
      json.end_object().key("stack").begin_object();
      json.field("begin", std::string_view(hex(bounds_.begin))).field("end", std::string_view(hex(bounds_.end)));
      json.field("used_bytes", bounds_.used_bytes).field("touched_bytes", bounds_.touched_bytes);
      if (bounds_.limit_bytes != 0) json.field("limit_bytes", bounds_.limit_bytes);
      json.field("other", bounds_.other).end_object();
    }
    json.key("frames").begin_array();
    for (std::size_t i = 0; i < shown_; ++i) write_frame(json, i);
    json.end_array().field("frame_count", stack_.frames.size());
    json.field("end", stack_.end == FramesEnd::Whole ? "whole" : stack_.end == FramesEnd::Cut ? "cut" : "too deep");
    if (!stack_.why.empty()) json.field("why", std::string_view(stack_.why));
    json.end_object();
  }

private:
  std::uint64_t bytes_of(std::size_t frame) const {
    return frame < stack_.frames.size() ? stack_.frames[frame].end - stack_.frames[frame].begin : 0;
  }

  std::string stack_line() const {
    if (bounds_.end == 0) return "  its stack pointer leads to no memory\n";
    std::string text =
        fmt::format("  {} {} in use", bounds_.other ? "on another stack:" : "stack:", bytes_text(bounds_.used_bytes));
    if (bounds_.limit_bytes != 0) text += " of " + bytes_text(bounds_.limit_bytes);
    if (bounds_.touched_bytes > bounds_.used_bytes)
      text += fmt::format(", {} touched so far", bytes_text(bounds_.touched_bytes));
    return text + fmt::format("; {:#x}-{:#x}\n", bounds_.begin, bounds_.end);
  }

  std::string frame_text(std::size_t number, std::size_t digits) {
    const StackFrame& frame = stack_.frames[number];
    const std::string head =
        fmt::format("  {:>{}}  {:<14} {:>10}  ", "#" + std::to_string(number), digits, hex(frame.begin),
                    frame.end > frame.begin ? bytes_text(frame.end - frame.begin) : std::string("-"));
    if (frame.signal_handler) return head + session_.style.dim("(the handler of a signal was called)") + "\n";
    std::string text;
    each_function(session_.memory_stacks().places_of(frame), [&](const SourcePlace* place, bool is_inlined) {
      const std::string location = location_text(frame, place);
      std::string tail = location.empty() ? "" : "  " + location;
      if (is_inlined)
        tail += "  (inlined)";
      else if (frame.guessed)
        tail += "  (guessed)";
      text += (text.empty() ? head : std::string(head.size(), ' ')) + function_text(frame, place) +
              session_.style.dim(tail) + "\n";
    });
    return text;
  }

  void write_frame(JsonWriter& json, std::size_t number) {
    const StackFrame& frame = stack_.frames[number];
    each_function(session_.memory_stacks().places_of(frame), [&](const SourcePlace* place, bool is_inlined) {
      json.begin_object().field("frame", number).field("pc", std::string_view(hex(frame.pc)));
      json.field("begin", std::string_view(hex(frame.begin))).field("end", std::string_view(hex(frame.end)));
      json.field("function", std::string_view(function_text(frame, place)));
      if (place != nullptr && !place->file.empty())
        json.field("file", std::string_view(place->file)).field("line", place->line).field("column", place->column);
      if (frame.module != nullptr)
        json.field("module", base_name(frame.module->path))
            .field("offset", std::string_view(hex(frame.pc - frame.module->load_bias)));
      json.field("inlined", is_inlined).field("signal_handler", frame.signal_handler).field("guessed", frame.guessed);
      json.end_object();
    });
  }

  Session& session_;
  SnapshotMemory& memory_;
  const ThreadState& state_;
  const ThreadFrames& stack_;
  const std::size_t shown_; // frames
  std::size_t largest_ = 0;
  StackBounds bounds_{};
};

Result<> stack_info(Session& session, Call& call, Printer& out) {
  const bool as_json = call.flag("--json");
  const Result<std::uint64_t> most = call.count("-n", as_json ? std::uint64_t{1} << 30 : kUsualFrames);
  if (!most) return most.error();
  const std::optional<std::string> word = call.next();
  if (const Result<> done = call.finish(); !done) return done.error();
  const Result<SnapshotMemory*> found = session.memory();
  if (!found) return found.error();
  SnapshotMemory& memory = *found.value();
  const Result<std::vector<std::size_t>> chosen = chosen_threads(session, memory, word);
  if (!chosen) return chosen.error();
  JsonWriter json;
  json.begin_object()
      .field("snapshot", memory.facts().number)
      .field("event", memory.facts().event)
      .key("threads")
      .begin_array();
  if (!as_json && !out.print(snapshot_text(session, memory.facts()) + "\n")) return Unit{};
  for (const std::size_t number : chosen.value()) {
    if (session.should_stop()) return Unit{};
    ThreadPage page(session, memory, number, most.value());
    if (as_json)
      page.write(json);
    else if (!out.print((number == chosen.value().front() ? "" : "\n") + page.text()))
      return Unit{};
  }
  if (as_json) out.print(json.end_array().end_object().text() + "\n");
  return Unit{};
}

} // namespace

const Command kStackInfoCommand{
    .name = "stackinfo",
    .arguments = "[THREAD]",
    .summary = "the stack of every thread at the last snapshot of memory, frame by frame",
    .help = "What each thread was doing, how much of its stack was in use, and its frames,\n"
            "innermost first, with where each begins and how large it is. THREAD is a number\n"
            "of 'threads' or the kernel's. 'Touched' is how much of the stack was ever used.\n"
            "The caller of a guessed frame was found without an unwind table.\n",
    .example = "stackinfo 1",
    .group = CommandGroup::Memory,
    .run = stack_info,
    .options = kStackOptions,
};

} // namespace heaptape
