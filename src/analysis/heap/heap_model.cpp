#include "analysis/heap/heap_model.h"

namespace heaptape {

void HeapModel::replace(const Event& event) {
  if (LiveBlock stale; live_.take(event.address, stale)) {
    forget(stale);
    ++totals_.collisions;
  }
  live_.insert(event.address, LiveBlock{event.size, event.number});
}

} // namespace heaptape
