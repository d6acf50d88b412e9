// A crash in one line, for pages that are about something else.
#pragma once

#include <optional>
#include <string>

#include "report/names/stack_names.h"
#include "tape/crash.h"
#include "tape/reader.h"

namespace heaptape {

// The frame that is to blame as far as a stack can tell: the innermost one outside of the C and C++ libraries, or else the innermost one.
// `inside`: it is not the innermost. Null: no frame.
struct CrashSite {
  std::optional<FrameId> frame{};
  bool inside = false;
};
CrashSite crash_site(StackNames& names, StackId stack);

// "f (x.c:12)", or "f" when the line is not known.
std::string crash_site_text(const StackNames& names, FrameId frame);

// "SIGSEGV in f (x.c:12)"; a program without a crash on its tape: empty.
std::string crash_line(const TapeReader& tape, StackNames& names);

} // namespace heaptape
