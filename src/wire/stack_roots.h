// What the outermost node of a call stack holds when it is not an address: why the stack ends there, or in which epoch it was
// taken. Part of the tape format, too. The values lie below the first page, where no code is.
#pragma once

#include <cstdint>

namespace heaptape::wire {

inline constexpr std::uint64_t kRootCut = 1;     // the unwinder found no way to go on from the frame inside this root
inline constexpr std::uint64_t kRootTooDeep = 2; // the rest is beyond the depth limit
// + n: taken after the n-th time that other code was loaded at an address that was in use before.
inline constexpr std::uint64_t kRootEpoch = 16;
inline constexpr std::uint64_t kEpochs = 2048; // n counts modulo this
// + n: taken after the n-th time that code made at run time, which stacks had led through, was unmapped or mapped over.
inline constexpr std::uint64_t kRootCodeEpoch = 2304;
inline constexpr std::uint64_t kCodeEpochs = 1024; // n counts modulo this
inline constexpr std::uint64_t kFirstAddress = 4096;

} // namespace heaptape::wire
