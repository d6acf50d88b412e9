#include "analysis/memory/python_type.h"

namespace heaptape {

bool is_python_type(MemoryCursor& cursor, std::uint64_t address) {
  // CPython 3.6 to 3.14: PyTypeObject.
  constexpr std::uint64_t kTypeOfType = 8, kName = 24;
  constexpr int kMostSteps = 4; // classes of classes
  constexpr std::uint64_t kLowest = 4096, kWord = 8;
  if (address < kLowest || address % kWord != 0) return false;
  std::uint64_t meta = cursor.word(address + kTypeOfType).value_or(0);
  for (int steps = 0; steps <= kMostSteps && meta >= kLowest; ++steps) {
    const std::uint64_t next = cursor.word(meta + kTypeOfType).value_or(0);
    if (next == meta) return cursor.text(cursor.word(meta + kName).value_or(0), 5) == "type";
    meta = next;
  }
  return false;
}

bool PythonTypeCheck::is_type(std::uint64_t address) {
  const auto [found, is_new] = known_.try_emplace(address);
  if (is_new) found->second = is_python_type(cursor_, address);
  return found->second;
}

} // namespace heaptape
