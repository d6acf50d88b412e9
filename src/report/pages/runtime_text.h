// The pools of runtimes that a list sets apart from the program's functions.
#pragma once

#include <span>
#include <string>

#include "report/select/runtime_pools.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"

namespace heaptape {

// "  besides the runtime's own: libstdc++'s emergency pool 72.7 kB", ended by a newline; empty when there is none.
std::string runtime_line(std::span<const RuntimePool> pools, const TextStyle& style);
// An array of pools: name, bytes, blocks.
void write_runtime_json(JsonWriter& json, std::span<const RuntimePool> pools);

} // namespace heaptape
