// One call stack, in a line or in full.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "report/names/charged_function.h"
#include "report/names/stack_names.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"

namespace heaptape {

// "sample.cpp:41", "libc.so.6"; empty when the name says it all.
std::string frame_location(const StackNames& names, FrameId frame);
// " [cache.cpp:88]" behind a function; " [jit]" as it is; nothing for an empty location.
std::string in_brackets(const std::string& location);

// One thread at a time. The names must outlive it.
class StackText {
public:
  explicit StackText(StackNames& names) : names_(names), plumbing_(names) {}

  // "Cache::insert cache.cpp:88": the function that the stack is charged to (report/names/charged_function.h). "(no
  // stack)" without frames.
  std::string site(StackId stack);
  // The same with its callers: "Cache::insert cache.cpp:88 <- Session::load <- handle_request".
  std::string chain(StackId stack, std::size_t callers = 2);
  // Every frame on a line of its own, innermost first:
  //   "  #0  Cache::insert  cache.cpp:88:14  (inlined)".
  std::string frames(StackId stack, std::string_view indent, const TextStyle& style);
  // As debuggers print a backtrace, with whole paths; calls that were inlined have no number of their own:
  //      0: Cache::insert
  //                at /src/cache.cpp:88:14
  //         Cache::add
  //                at /src/cache.h:12:5
  std::string backtrace(StackId stack, const TextStyle& style);
  // An array of objects with function, file, line, column, module, offset, inlined.
  void write_json(JsonWriter& json, StackId stack);

private:
  static std::string end_text(StackEnd end, bool empty, std::string_view indent);

  StackNames& names_;
  Plumbing plumbing_;
};

} // namespace heaptape
