// The processor and the kernel, without libc: clock, plain read-modify-write, system calls that leave errno alone.
#pragma once

#include <cstdint>

#if !defined(__x86_64__)
#error "The recorder knows x86-64 only: its unwinder and its assembly need writing for another machine."
#endif

namespace heaptape::recorder {

inline std::uint64_t read_tsc() noexcept {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return std::uint64_t{high} << 32 | low;
}

inline void pause() noexcept { asm volatile("pause" ::: "memory"); }

// Adds one in a single instruction without a lock prefix: atomic against this thread's own signal handlers, which is all
// that is needed, at the price of an ordinary addition. Returns the former value.
inline std::uint64_t take_one(std::uint64_t* counter) noexcept {
  std::uint64_t one = 1;
  asm volatile("xaddq %0, %1" : "+r"(one), "+m"(*counter) : : "memory", "cc");
  return one;
}

// A raw system call; a negative result is -errno.
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}

template <class T>
long as_long(T* pointer) noexcept {
  return reinterpret_cast<long>(pointer);
}

inline void compiler_barrier() noexcept { asm volatile("" ::: "memory"); }

} // namespace heaptape::recorder
