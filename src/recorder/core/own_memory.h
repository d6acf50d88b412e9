// Names for the recorder's private memory, so that nobody takes it for the program's.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

#include "recorder/core/machine.h"
#include "recorder/core/readable.h"

namespace heaptape::recorder {

// /proc/PID/maps then shows "[anon:heaptape]", on kernels that keep such names (5.17, CONFIG_ANON_VMA_NAME); others refuse, which does
// no harm. The kernel also keeps memory of another name apart from it.
inline void name_own_memory(long memory, std::uint64_t bytes) noexcept {
  constexpr long kSetVma = 0x53564d41, kSetAnonName = 0;
  static constexpr char kName[] = "heaptape";
  if (in_sandbox()) return;
  (void)system_call(SYS_prctl, kSetVma, kSetAnonName, memory, static_cast<long>(bytes),
                    reinterpret_cast<long>(static_cast<const char*>(kName)));
}

} // namespace heaptape::recorder
