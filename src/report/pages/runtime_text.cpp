#include "report/pages/runtime_text.h"

namespace heaptape {

std::string runtime_line(std::span<const RuntimePool> pools, const TextStyle& style) {
  if (pools.empty()) return {};
  std::string line = "  besides the runtime's own: " + runtime_pools_text(pools);
  if (style.width != 0) line = shortened(line, style.width);
  return style.dim(line) + "\n";
}

void write_runtime_json(JsonWriter& json, std::span<const RuntimePool> pools) {
  json.begin_array();
  for (const RuntimePool& pool : pools) {
    json.begin_object().field("name", pool.name).field("bytes", pool.cost.bytes);
    json.field("blocks", pool.cost.blocks).end_object();
  }
  json.end_array();
}

} // namespace heaptape
