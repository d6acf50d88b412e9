#include "analysis/heap/live_map.h"

#include "analysis/heap/sharded_table_bodies.h"

namespace heaptape {

template class ShardedTable<LiveLayout>;

} // namespace heaptape
