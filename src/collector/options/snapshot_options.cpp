#include "collector/options/snapshot_options.h"

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/number_text.h"
#include "collector/options/live_options.h"
#include "wire/contents_question.h"

namespace heaptape {

namespace {

Error refuse(std::string_view item) {
  return {ErrorCode::Usage, "'" + printable(item) +
                                "' is not a reason for a snapshot; use every:TIME, growth:SIZE, events:N, peak, exit, "
                                "crash, mark:NAME or signal:NAME"};
}

// "USR2", "SIGUSR2", "12"; 0: there is none.
int parse_signal(std::string_view text) {
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (const char* name = ::sigabbrev_np(signal); name != nullptr && text == name) return signal;
  }
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 1 && number < NSIG ? number : 0;
}

// Whether the recorder may handle it: it can be handled, is not libc's own, and means nothing to the program by itself.
bool can_ask(int signal) {
  constexpr int kFirstOfLibc = 32, kLastOfLibc = 33;
  switch (signal) {
  case SIGKILL:
  case SIGSTOP:
  case SIGSEGV:
  case SIGBUS:
  case SIGILL:
  case SIGFPE:
  case SIGABRT:
  case SIGTRAP:
  case SIGSYS:
  case SIGCHLD: return false;
  default: return signal < kFirstOfLibc || signal > kLastOfLibc;
  }
}

} // namespace

Result<SnapshotTriggers> parse_snapshot_triggers(std::string_view text) {
  SnapshotTriggers triggers;
  triggers.text = text;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const std::size_t colon = item.find(':');
    const std::string_view what = item.substr(0, colon);
    const std::string value(colon == std::string_view::npos ? std::string_view() : item.substr(colon + 1));
    if (bool* const wanted = what == "peak"    ? &triggers.peak
                             : what == "exit"  ? &triggers.exit
                             : what == "crash" ? &triggers.crash
                                               : nullptr;
        wanted != nullptr && colon == std::string_view::npos) {
      *wanted = true;
      continue;
    }
    if (value.empty()) return refuse(item);
    if (what == "mark") {
      triggers.marks.push_back(value);
    } else if (what == "signal") {
      const int signal = parse_signal(value);
      if (signal == 0 || !can_ask(signal))
        return Error{ErrorCode::Usage, "'" + printable(item) +
                                           "' names no signal that can ask for a snapshot; use one that the program "
                                           "does not need, such as signal:USR2"};
      triggers.signals |= std::uint64_t{1} << (signal - 1);
    } else if (what == "every") {
      const Result<std::uint64_t> time = parse_interval_us(value);
      if (!time || time.value() == 0) return refuse(item);
      triggers.every_us = time.value();
    } else if (what == "growth" || what == "events") {
      const Result<std::uint64_t> number = parse_bytes(value);
      if (!number || number.value() == 0) return refuse(item);
      (what == "growth" ? triggers.growth_bytes : triggers.events) = number.value();
    } else {
      return refuse(item);
    }
  }
  if (!triggers.any()) return refuse("");
  return triggers;
}

void SnapshotTriggers::add_exit() {
  if (std::exchange(exit, true)) return;
  text += text.empty() ? "exit" : ",exit";
}

} // namespace heaptape
