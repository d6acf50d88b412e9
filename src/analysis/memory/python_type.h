// Whether an object of CPython is a type: the type of its type, and so on, is `type`, which is a type of its own.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analysis/memory/memory_image.h"

namespace heaptape {

// Remembers its answers. One thread at a time.
class PythonTypeCheck {
public:
  explicit PythonTypeCheck(const MemoryImage& image) : cursor_(image) {}

  bool is_type(std::uint64_t address) { return kind_of(address) != Kind::None; }
  // Whether it is that of weak references, or derived from it.
  bool is_weak_reference(std::uint64_t address) { return kind_of(address) == Kind::WeakReference; }

private:
  enum class Kind : std::uint8_t { None, Type, WeakReference };
  Kind kind_of(std::uint64_t address);

  MemoryCursor cursor_;
  std::unordered_map<std::uint64_t, Kind> known_;
};

// The same without a memory.
bool is_python_type(MemoryCursor& cursor, std::uint64_t address);

} // namespace heaptape
