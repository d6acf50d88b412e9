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

PythonTypeCheck::Kind PythonTypeCheck::kind_of(std::uint64_t address) {
  constexpr std::uint64_t kName = 24, kBase = 256;
  constexpr int kMostBases = 8;
  const auto [found, is_new] = known_.try_emplace(address, Kind::None);
  if (!is_new || !is_python_type(cursor_, address)) return found->second;
  found->second = Kind::Type;
  std::uint64_t type = address;
  for (int i = 0; i < kMostBases && type != 0; ++i, type = cursor_.word(type + kBase).value_or(0)) {
    const std::string name = cursor_.text(cursor_.word(type + kName).value_or(0), sizeof "weakref.ReferenceType");
    if (name == "weakref" || name == "weakref.ReferenceType")
      found->second = Kind::WeakReference; // the latter since 3.12
  }
  return found->second;
}

} // namespace heaptape
