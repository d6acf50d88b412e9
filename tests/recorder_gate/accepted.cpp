// What restricted code looks like: state that needs no constructor and survives exit. The gate must let it pass, or its
// refusals would prove nothing.
// accepted
#include <atomic>
#include <cstdint>
#include <type_traits>

namespace gate_sample {

struct Recorder {
  std::atomic<std::uint32_t> on;
  std::atomic<std::uint64_t> events;
};
static_assert(std::is_trivially_destructible_v<Recorder>);

constinit Recorder g_recorder;
constinit thread_local std::uint32_t t_inside = 0;

bool count_event() noexcept {
  if (g_recorder.on.load(std::memory_order_acquire) == 0 || t_inside != 0) return false;
  ++t_inside;
  g_recorder.events.fetch_add(1, std::memory_order_relaxed);
  --t_inside;
  return true;
}

} // namespace gate_sample
