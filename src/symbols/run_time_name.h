// What the names mean that run-time compilers give to their code: function, file and line.
#pragma once

#include <string_view>

#include "base/source_place.h"

namespace heaptape {

// CPython "py::matrix:/home/me/job.py", V8 "LazyCompile:~foo /home/me/x.js:12:5" and "JS:*foo file:///home/me/x.js:12:5"; any other name is
// the function as it is. The function is never empty if the name is not.
SourcePlace run_time_name(std::string_view name);

} // namespace heaptape
