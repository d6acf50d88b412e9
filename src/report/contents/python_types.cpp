#include "report/contents/python_types.h"

#include <algorithm>

#include "analysis/memory/python_type.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kWord = 8;
// CPython 3.6 to 3.14: PyTypeObject.
constexpr std::uint64_t kName = 24, kBasicSize = 32, kLeastTypeBytes = 400;
constexpr std::uint64_t kSmallest = 16, kLargest = std::uint64_t{1} << 20; // sizes of objects without their items
constexpr std::uint64_t kLeastText = 40; // most texts are shorter than the size that their type names
constexpr std::size_t kLongestName = 200;

// A count of references in the lower half, and since CPython 3.14 flags in the upper quarter.
bool may_be_references(std::uint64_t word) { return word != 0 && (word >> 32 & 0xffff) <= 1; }

} // namespace

std::optional<PythonTypes::Object> PythonTypes::object_in(const Head& head, std::uint64_t bytes) {
  for (const std::uint32_t at : {0U, 2U, 4U}) { // words
    const std::uint64_t offset = at * kWord;
    if (bytes < offset + kSmallest) break;
    if (!may_be_references(head[at])) continue;
    const Type& type = type_at(head[at + 1]);
    const std::uint64_t least = type.name == "str" ? kLeastText : type.size;
    if (!type.name.empty() && least <= bytes - offset) return Object{static_cast<std::uint32_t>(offset), &type.name};
  }
  return std::nullopt;
}

const PythonTypes::Type& PythonTypes::type_at(std::uint64_t address) {
  static const Type kNone;
  if (address % kWord != 0 || address < 4096) return kNone;
  // Most words lead to smaller blocks, which are no type objects: these need not be read.
  if (const std::uint32_t block = blocks_ != nullptr ? blocks_->find(address) : BlockRanks::kNone;
      block != BlockRanks::kNone && blocks_->end(block) - address < kLeastTypeBytes)
    return kNone;
  const auto [found, is_new] = known_.try_emplace(address);
  if (is_new) found->second = find(address);
  return found->second;
}

PythonTypes::Type PythonTypes::find(std::uint64_t address) {
  if (!is_python_type(cursor_, address)) return {};
  Type type{cursor_.text(cursor_.word(address + kName).value_or(0), kLongestName),
            cursor_.word(address + kBasicSize).value_or(0)};
  const bool readable = std::ranges::all_of(type.name, [](char c) { return static_cast<unsigned char>(c) >= ' '; });
  if (!readable || type.size < kSmallest || type.size > kLargest) return {};
  return type;
}

} // namespace heaptape
