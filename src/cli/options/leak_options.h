// Options of 'heaptape leaks': which snapshot, what counts as lost, what to show, and the exit status.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "options/option_list.h"
#include "report/pages/report_page.h"

namespace heaptape::cli {

class LeakOptions {
public:
  void add(OptionList& list);

  // After parsing.
  Result<> apply(const OptionList& list, ReportRequest& request) const;
  std::size_t rows() const { return static_cast<std::size_t>(rows_); }
  // What --error-exitcode asks for, when there is an answer about leaks and it has some of the classes of --errors-for; else 0.
  int status_for(const ReportPage& page) const;

private:
  Result<std::set<LeakClass>> classes() const;

  std::string at_, mask_, errors_for_ = "definite,possible";
  std::uint64_t shift_ = 0, rows_ = 20, error_status_ = 0;
  bool strict_ = false, no_stacks_ = false, show_reachable_ = false;
};

} // namespace heaptape::cli
