// Pools at the cursor, for the commands that look at addresses.
#pragma once

#include <string>
#include <vector>

#include "analysis/heap/pool_state.h"
#include "report/text/json_writer.h"
#include "shell/session.h"

namespace heaptape {

// Empty when the tape has no pools; else a pass up to the cursor.
PoolState pools_here(Session& session);

// The live blocks of pools that cover an address, at the cursor.
std::vector<PoolBlock> pool_blocks_around(Session& session, std::uint64_t address);

// "  in pool 'nodes': 16 bytes into a 48-byte block at 0x...", who made it; lines, each ended.
std::string pool_block_text(Session& session, const PoolBlock& block, std::uint64_t address);
void write_pool_blocks_json(JsonWriter& json, Session& session, const std::vector<PoolBlock>& blocks);

} // namespace heaptape
