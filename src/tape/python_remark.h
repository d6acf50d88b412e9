// CPython keeps objects of up to 512 bytes in arenas of its own, so that a tape shows the arenas alone, unless it is told not to.
#pragma once

#include <span>
#include <string>

#include "tape/contents.h"

namespace heaptape {

// The name in Meta under which the program's variable PYTHONMALLOC is kept, if it was set.
inline constexpr const char* kPythonMalloc = "PYTHONMALLOC";

// And PYTHONPERFSUPPORT, which does what -X perf does.
inline constexpr const char* kPythonPerf = "PYTHONPERFSUPPORT";

// One sentence about what is not seen of a Python program and what to do about it; empty for other programs, and when nothing is hidden.
std::string python_remark(std::span<const Module> modules, const Meta& meta);

} // namespace heaptape
