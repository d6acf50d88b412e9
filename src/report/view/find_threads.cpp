#include "report/view/find_threads.h"

#include <charconv>

namespace heaptape {

Result<std::vector<ThreadId>> find_threads(const std::vector<Thread>& threads, const std::string& text) {
  std::uint32_t number = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || rest != text.data() + text.size()) {
    return Error{ErrorCode::Usage, "'" + text + "' is not a thread number"};
  }
  std::vector<ThreadId> found;
  for (const Thread& thread : threads) {
    if (thread.id.value == number) return std::vector{thread.id};
    if (thread.tid == number) found.push_back(thread.id);
  }
  if (found.empty()) {
    return Error{ErrorCode::NotFound, "no thread " + text + " on this tape; 'heaptape info' lists them"};
  }
  return found;
}

} // namespace heaptape
