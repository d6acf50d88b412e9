// What the reporting commands have in common: which tape, whose stacks, which names, how it looks.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options/choose_tape.h"
#include "options/option_list.h"
#include "report/select/filter.h"
#include "report/select/frame_filter.h"
#include "report/select/suppressions.h"
#include "report/text/text_style.h"
#include "report/view/tape_view.h"

namespace heaptape::cli {

// Declares --plumbing.
void add_plumbing(OptionList& list, std::vector<std::string>& expressions);

class ReportOptions {
public:
  void add_names(OptionList& list);
  void add_names_and_color(OptionList& list);
  void add_filters(OptionList& list);
  void add_where(OptionList& list); // of blocks
  void add_suppressions(OptionList& list);
  void add_error_suppressions(OptionList& list); // of memory errors, not of leaks

  // Instead of add_names() and parsing.
  void set_names(std::string form) { names_ = std::move(form); }
  void set_suppression_files(std::vector<std::string> files) { suppression_files_ = std::move(files); }
  void set_plumbing(std::vector<std::string> expressions) { plumbing_ = std::move(expressions); }

  // The following need the options to be parsed.
  Result<NameForm> names() const;
  Result<TextStyle> style() const;
  Result<FrameFilter> filter() const; // rules in the order they were given
  // The filter of --where; accepts everything when not given. The view must outlive it.
  Result<Filter> where(const TapeView& view) const;
  // Those of the files.
  Result<Suppressions> given_suppressions() const;
  // The same, and the program's own.
  Result<Suppressions> suppressions(const TapeReader& tape) const;

  // Opens the tape that was chosen. Shows progress on a terminal; says where names come from and what
  // is wrong with the tape.
  Result<TapeView> open(TapeChoice& tape) const;

private:
  std::string names_ = "short", color_ = "auto", where_;
  struct Rule {
    bool include, of_module;
    std::string pattern;
  };
  std::vector<Rule> rules_; // in the order they were given
  std::vector<std::string> suppression_files_;
  std::vector<std::string> plumbing_;
};

} // namespace heaptape::cli
