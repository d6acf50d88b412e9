#include "recorder/core/own_memory.h"

#include <sys/syscall.h>

#include <atomic>

#include "recorder/core/machine.h"
#include "recorder/core/readable.h"
#include "recorder/core/switch.h"

namespace heaptape::recorder {

namespace {

constinit wire::OwnMemory g_own[wire::kOwnMemories]{};
constinit std::atomic<std::uint32_t> g_count{0};
constinit std::atomic<wire::Header*> g_header{nullptr}; // of the collector that is told

void tell(wire::Header& header, std::size_t number) noexcept {
  const std::uint64_t begin = g_own[number].begin.load();
  if (begin == 0) return;
  header.own_memory[number].bytes.store(g_own[number].bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
  header.own_memory[number].begin.store(begin,
                                        std::memory_order_release); // pairs with the collector's look at the mappings
}

} // namespace

void name_own_memory(long memory, std::uint64_t bytes) noexcept {
  constexpr long kSetVma = 0x53564d41, kSetAnonName = 0;
  static constexpr char kName[] = "heaptape";
  if (!in_sandbox())
    (void)system_call(SYS_prctl, kSetVma, kSetAnonName, memory, static_cast<long>(bytes),
                      reinterpret_cast<long>(static_cast<const char*>(kName)));
}

void note_own_memory(long memory, std::uint64_t bytes) noexcept {
  name_own_memory(memory, bytes);
  const std::uint32_t number = g_count.fetch_add(1, std::memory_order_relaxed);
  if (number >= wire::kOwnMemories) return;
  g_own[number].bytes.store(bytes, std::memory_order_relaxed);
  // In one order for all: either we see the new collector, or it is told of this, too.
  g_own[number].begin.store(static_cast<std::uint64_t>(memory));
  // A child of fork that is not recorded does not have the header.
  if (wire::Header* const header = g_header.load(); header != nullptr && is_attached()) tell(*header, number);
}

void tell_own_memory(wire::Header* header) noexcept {
  g_header.store(header);
  for (std::size_t number = 0; header != nullptr && number < wire::kOwnMemories; ++number) tell(*header, number);
}

} // namespace heaptape::recorder
