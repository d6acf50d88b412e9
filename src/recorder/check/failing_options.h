// Which allocations fail on purpose (failing.h), as HEAPTAPE_CHECK=fail[,NAME=VALUE]... says.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

enum class Chosen : std::uint8_t {
  All,
  None,   // they are only counted (nth=0)
  Nth,    // one
  Every,  // each `number`-th
  Chance, // `number` of 2^32, by the seed
};

// Code in which a function lies, as addresses in the file of its object.
struct FunctionRange {
  static constexpr std::size_t kNameBytes = 64;
  char object[kNameBytes]; // the last part of its path; empty: the program
  std::uint64_t begin, end;
};

struct FailingOptions {
  static constexpr std::size_t kMostRanges = 32;
  Chosen chosen = Chosen::All;
  std::uint64_t number = 0;                 // (nth=, every=, chance=)
  std::uint64_t seed = 0;                   // (seed=)
  std::uint64_t above = 0;                  // only larger ones (above=)
  std::uint64_t below = ~std::uint64_t{0};  // only smaller ones (below=)
  char module[FunctionRange::kNameBytes]{}; // only calls from this object (in=)
  std::size_t range_count = 0;              // only below these functions, if there are any (from=BEGIN-END[@OBJECT])
  FunctionRange ranges[kMostRanges]{};
};
extern constinit FailingOptions g_failing;

// False: a part that we do not know.
[[nodiscard]] bool read_failing_part(const char* part, FailingOptions& options) noexcept;
// Whether the one with this number fails.
[[nodiscard]] bool is_chosen(const FailingOptions& options, std::uint64_t number) noexcept;
[[nodiscard]] bool is_size_meant(const FailingOptions& options, std::uint64_t size) noexcept;
// Whether the object at `path` is called `name`: the last part of the path, with or without ".so" and what follows it.
[[nodiscard]] bool is_object_called(const char* path, const char* name) noexcept;

} // namespace heaptape::recorder
