// The end of a recording: names and index go onto the tape.
#pragma once

#include <functional>

#include "collector/options/collector_options.h"
#include "collector/recording/collector.h"

namespace heaptape::cli {

// For CollectorOptions::finish.
std::function<void(CollectorResult&)> tape_finisher(const CollectorOptions& options);

// What a collector runs to answer heaptape_where(): this heaptape again, whatever has become of its file.
std::vector<std::string> where_command();

} // namespace heaptape::cli
