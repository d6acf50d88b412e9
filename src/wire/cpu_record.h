// The CPU profile in a ring: records of the kind CpuSample.
//
//   address  bits 0..31   number of the segment
//            bits 32..39  CpuRecord
//   size     Sample: its weight in periods; Begin: samples per second of CPU time
//   stack    Sample: where the thread was. The innermost pc is one more than the address of the instruction that was interrupted, so that
//            all pcs are looked up alike. Begin, End: who asked for it
#pragma once

#include <cstdint>

namespace heaptape::wire {

enum class CpuRecord : std::uint8_t {
  Sample = 0,
  Begin = 1, // of a segment
  End = 2,
};

inline constexpr std::uint32_t kDefaultCpuHz = 100;
inline constexpr std::uint32_t kMostCpuHz = 5000;

constexpr std::uint64_t cpu_address(CpuRecord what, std::uint32_t segment) {
  return std::uint64_t{static_cast<std::uint8_t>(what)} << 32 | segment;
}
constexpr std::uint32_t cpu_segment(std::uint64_t address) { return static_cast<std::uint32_t>(address); }
constexpr std::uint8_t cpu_what(std::uint64_t address) { return static_cast<std::uint8_t>(address >> 32); }

} // namespace heaptape::wire
