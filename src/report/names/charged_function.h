// Which function of a stack an allocation is charged to: the one rule of all reports, trees, tables, exports and filters.
//
// The innermost frame of a stack is often plumbing: operator new's caller inside std::vector, xmalloc, a strdup of libc. A stack is
// charged to its innermost frame that is none of these (report/names/plumbing_names.h, docs/guide/report.md), nor what the user called
// plumbing (--plumbing); when all are, to the innermost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/names/stack_names.h"

namespace heaptape {

// Whether everything outside this frame is the C library starting the program or a thread.
bool starts_thread(const StackNames& names, FrameId frame);

// Tells plumbing from functions that decide something. One thread at a time; the names must outlive it.
class Plumbing {
public:
  explicit Plumbing(StackNames& names) : names_(names) {}
  bool operator()(FrameId frame);
  // The same for a caller of the frame `inside`: an interpreter between functions that have frames of their own is plumbing, too.
  bool between(FrameId inside, FrameId frame);
  // container_made_by() of a frame's function.
  std::string_view container(FrameId frame);
  StackNames& names() const { return names_; }

private:
  StackNames& names_;
  std::vector<std::uint8_t> known_; // by frame: 0 not asked, 1 no, 2 yes
  std::unordered_map<FrameId, std::string_view> containers_;
};

// The frame that a stack is charged to, as an index into its frames. A function without a name that works for plumbing of its own
// module is plumbing; so is a closure of Rust or a lambda of D that is called back by it on behalf of the function it stands in, and
// CPython's loop when the function of Python that it runs has a frame. Where functions of Python or JavaScript are named (perf map), so is all
// of the interpreter between what it calls and the function that it works for.
std::size_t charged_frame(Plumbing& plumbing, std::span<const FrameId> frames);

// Leaves of a stack's frames the one that it is charged to and those outside of it that are not plumbing.
void fold_plumbing(Plumbing& plumbing, std::vector<FrameId>& frames);

// What the frames inside the charged one make, in the singular: "vector", "string"; "block" when they do not say.
std::string_view made_in(Plumbing& plumbing, std::span<const FrameId> frames);

} // namespace heaptape
