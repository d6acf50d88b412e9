// Which function of a stack an allocation is charged to.
//
// The innermost frame of a stack is often plumbing: operator new's caller inside std::vector, xmalloc, a strdup of
// libc. A stack is charged to its innermost frame that is none of these (docs/guide/report.md says which count); when
// all are, to the innermost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "report/names/stack_names.h"

namespace heaptape {

// Whether everything outside this frame is the C library starting the program or a thread.
bool starts_thread(const StackNames& names, FrameId frame);

// Tells plumbing from functions that decide something. One thread at a time.
class Plumbing {
public:
  explicit Plumbing(StackNames& names) : names_(names) {}
  bool operator()(FrameId frame);
  bool is_nameless(FrameId frame) const;
  bool allocates(FrameId frame) const; // by its name

private:
  StackNames& names_;
  std::vector<std::uint8_t> known_; // by frame: 0 not asked, 1 no, 2 yes
};

// The frame that a stack is charged to, as an index into its frames. A function without a name that works for plumbing
// is plumbing.
std::size_t charged_frame(Plumbing& plumbing, std::span<const FrameId> frames);

} // namespace heaptape
