// What the synthetic workloads share: a random sequence that is the same in every run, and a way to keep the compiler
// from seeing that a block is never used.
#pragma once

#include <cstdint>

namespace bench {

inline void keep(void* pointer) { asm volatile("" : : "r"(pointer) : "memory"); }

// xorshift64*: a few instructions, so that the workload stays allocation.
class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u | 1) {}
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  // Uniform below `bound`, which is less than 2^32.
  std::uint64_t below(std::uint64_t bound) { return ((next() >> 32) * bound) >> 32; }

private:
  std::uint64_t state_;
};

} // namespace bench
