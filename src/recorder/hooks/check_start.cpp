#include "recorder/check/allocator.h"
#include "recorder/check/failing.h"
#include "recorder/check/options.h"
#include "recorder/check/report.h"
#include "recorder/check/sampling.h"
#include "recorder/core/switch.h"
#include "recorder/hooks/environment.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/real.h"

namespace heaptape::recorder {

void choose_checks(RealFunctions& found) noexcept {
  const char* const text = find_variable(initial_environment(), "HEAPTAPE_CHECK");
  if (text == nullptr || !read_check_options(text, g_check) || reason_to_stay_off() != nullptr) {
    g_check.on = g_check.fail = false;
    return;
  }
  const AllocatorBehind behind{.malloc = found.malloc,
                               .calloc = found.calloc,
                               .memalign = found.memalign,
                               .realloc = found.realloc,
                               .free = found.free,
                               .usable_size = found.malloc_usable_size};
  if (g_check.sample_every != 0) {
    g_check.on = start_sampling(behind);
    if (!g_check.on) return;
    found.malloc = sampled_malloc;
    found.calloc = sampled_calloc;
    found.realloc = sampled_realloc;
    found.free = sampled_free;
    found.malloc_usable_size = sampled_usable_size;
    return;
  }
  if (!start_checks(behind, !is_libc_function(reinterpret_cast<const void*>(found.malloc)))) {
    g_check.fail = false;
    return;
  }
  found.malloc = checked_malloc;
  found.calloc = checked_calloc;
  found.realloc = checked_realloc;
  found.free = checked_free;
  found.memalign = checked_memalign;
  found.posix_memalign = checked_posix_memalign;
  found.aligned_alloc = checked_memalign;
  found.valloc = checked_valloc;
  found.pvalloc = checked_pvalloc;
  found.malloc_usable_size = checked_usable_size;
  if (!g_check.fail) return;
  start_failing();
  found.malloc = failing_malloc;
  found.calloc = failing_calloc;
  found.realloc = failing_realloc;
  found.memalign = failing_memalign;
  found.posix_memalign = failing_posix_memalign;
  found.aligned_alloc = failing_memalign;
  found.valloc = failing_valloc;
  found.pvalloc = failing_pvalloc;
}

} // namespace heaptape::recorder

using namespace heaptape;
using namespace heaptape::recorder;

// A look at all blocks; how many errors there have been so far, -1 where nothing is checked. Also for a debugger to call.
HT_HOOK long heaptape_recorder_check() {
  if (!g_check.on || !is_attached()) return -1;
  check_all_blocks(FoundAt::Request);
  return static_cast<long>(errors_found());
}
