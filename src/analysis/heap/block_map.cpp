#include "analysis/heap/block_map.h"

#include "analysis/heap/sharded_table_bodies.h"

namespace heaptape {

template class ShardedTable<BlockLayout>;

} // namespace heaptape
