// The options of `heaptape check` that `heaptape record` does not have.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options/command_line.h"
#include "cli/options/fail_arguments.h"
#include "collector/options/collector_options.h"
#include "options/option_list.h"

namespace heaptape::cli {

extern const CommandHelp kCheckHelp;

class CheckArguments {
public:
  void add(OptionList& list);
  // After parsing.
  Result<> take(CollectorOptions& options);
  bool fails() const { return mode_ == "fail"; }

  FailArguments failing{};
  bool leak_check = false;
  std::size_t error_status = 0; // 0: the program's own
  std::vector<std::string> suppression_files{};

private:
  std::string mode_ = "check", stomp_, fill_, quarantine_, on_error_ = "report", side_, sizes_, align_, sample_every_,
              every_;
};

} // namespace heaptape::cli
