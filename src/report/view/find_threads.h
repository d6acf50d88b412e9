// A thread as people name it.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "tape/contents.h"

namespace heaptape {

// A thread by its number on the tape or, when no thread has that number, by the kernel's id. Threads that had the same
// kernel id one after another are all meant.
Result<std::vector<ThreadId>> find_threads(const std::vector<Thread>& threads, const std::string& text);

} // namespace heaptape
