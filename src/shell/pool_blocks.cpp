#include "shell/pool_blocks.h"

#include <fmt/format.h>

#include "report/figures/pools.h"
#include "shell/describe.h"

namespace heaptape {

PoolState pools_here(Session& session) {
  if (!has_pools(session.view().findings().totals)) return {};
  PoolsFound found = pools_after(session.tape(), {.until = session.event(), .should_stop = session.stopper()});
  session.note(found.damage);
  return std::move(found.state);
}

std::vector<PoolBlock> pool_blocks_around(Session& session, std::uint64_t address) {
  return pools_here(session).find_around(address);
}

std::string pool_block_text(Session& session, const PoolBlock& block, std::uint64_t address) {
  std::string text = fmt::format("  in pool '{}': {} a live {} at {}\n", pool_name(session.tape().pools(), block.pool),
                                 offset_words(address - block.address), block_words(block.size), hex(block.address));
  text += fmt::format("  made {} by {} ({})\n", ago_text(block.time_us, session.time_us()),
                      thread_text(session, block.owner.thread), moment_text(block.event, block.time_us));
  return text + session.stacks().frames(block.owner.stack, "    ", session.style);
}

void write_pool_blocks_json(JsonWriter& json, Session& session, const std::vector<PoolBlock>& blocks) {
  json.begin_array();
  for (const PoolBlock& block : blocks) {
    const std::string name = pool_name(session.tape().pools(), block.pool);
    json.begin_object().field("pool", std::string_view(name)).field("address", std::string_view(hex(block.address)));
    json.field("size", block.size).field("event", block.event).field("time_us", block.time_us);
    json.field("thread", block.owner.thread.value).key("stack");
    session.stacks().write_json(json, block.owner.stack);
    json.end_object();
  }
  json.end_array();
}

} // namespace heaptape
