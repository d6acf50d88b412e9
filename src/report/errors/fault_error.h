// An access outside of a guarded block, or into a released one, ended the program: that is a memory error, too, and the only one whose very
// instruction is known.
#pragma once

#include <functional>
#include <optional>

#include "report/view/tape_view.h"
#include "tape/contents.h"

namespace heaptape {

// Of a program whose blocks were guarded (mode "guard"), the access that it died of, when that was at or near a block.
std::optional<MemoryError> error_of_fault(const TapeView& view, const std::function<bool()>& should_stop = {});

} // namespace heaptape
