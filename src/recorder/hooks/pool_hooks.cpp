// What <heaptape/pool.h> calls.
#include <cstddef>

#include "recorder/core/recorder.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/pool_names.h"

using namespace heaptape;
using namespace heaptape::recorder;

HT_HOOK void heaptape_recorder_pool(const char* pool, const void* block, std::size_t size, unsigned is_free) {
  if (!is_recording()) return;
  const Frame site = HT_CALL_SITE();
  const std::uint32_t number = pool_number(pool, wire::PoolNameKind::Given, site);
  if (is_free == 0)
    record_pool_block(number, as_address(block), size, site);
  else
    record_pool_free(number, as_address(block), site);
}
