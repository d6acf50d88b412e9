// Snapshots of memory that only the program itself can see are due: when it asks for one, ends, or crashes.
#pragma once

namespace heaptape::recorder {

// As the options of this recording want it: what is called when the program ends, and handlers for signals that the program has none for.
// At the start, before the program can have set any of this itself; again in a followed child of fork, which has all of it already.
void arrange_contents() noexcept;

} // namespace heaptape::recorder
