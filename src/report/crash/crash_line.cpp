#include "report/crash/crash_line.h"

#include <string_view>
#include <vector>

#include "base/number_text.h"
#include "base/signal_name.h"
#include "report/names/stack_text.h"

namespace heaptape {

namespace {

bool is_library(std::string_view module) {
  for (const std::string_view start :
       {"libc.so", "libc-2.", "libstdc++.so", "libpthread", "libm.so", "ld-linux", "libc++"})
    if (module.starts_with(start)) return true;
  return false;
}

} // namespace

CrashSite crash_site(StackNames& names, StackId stack) {
  const std::vector<FrameId> frames = names.frames_of(stack);
  // Where a wild jump led to is nobody's code.
  const bool in_nothing = frames.size() > 1 && names[frames[0]].module == nullptr && !names.is_run_time(frames[0]);
  for (std::size_t i = in_nothing ? 1 : 0; i < frames.size(); ++i) {
    if (!is_library(names.text(names[frames[i]].module_name))) return {frames[i], i != 0};
  }
  return {frames.empty() ? std::nullopt : std::optional(frames.front()), false};
}

std::string crash_site_text(const StackNames& names, FrameId frame) {
  const std::string place = frame_location(names, frame);
  return printable(names.function(frame)) + (place.empty() ? "" : " (" + place + ")");
}

std::string crash_line(const TapeReader& tape, StackNames& names) {
  const Crash* const crash = tape.crash();
  if (crash == nullptr) return {};
  const CrashSite site = crash_site(names, crash->stack);
  return signal_name(static_cast<int>(crash->signal)) +
         (site.frame ? " in " + crash_site_text(names, *site.frame) : std::string());
}

} // namespace heaptape
