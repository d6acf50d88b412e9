// The options of `heaptape record` about what is done while the program runs.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "collector/options/collector_options.h"
#include "options/option_list.h"

namespace heaptape::cli {

class LiveArguments {
public:
  void add(OptionList& list);
  // After parsing: into the options, which hold what the environment said.
  Result<> take(CollectorOptions& options) const;

private:
  std::optional<std::string> log_; // empty: the usual name
  std::string churn_, every_, signal_, log_max_, log_keep_, max_live_, top_every_, top_rows_, top_sort_, top_file_;
  bool all_ = false, no_tape_ = false, report_ = false, top_first_ = false;
};

// Makes the watcher that the options ask for; an error when they contradict each other.
Result<> add_watcher(CollectorOptions& options);

} // namespace heaptape::cli
