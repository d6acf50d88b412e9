// Shows a command's answer on a terminal: as it is while it fits the screen, through $HEAPTAPE_PAGER, $PAGER or less when
// it is longer.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "shell/printer.h"

namespace heaptape::cli {

// One answer. When standard output is not a terminal, or the pager's variable is empty, everything goes straight there.
class PagedOutput final : public Printer {
public:
  // `rows`: of the terminal; 0: never page.
  explicit PagedOutput(unsigned rows) : rows_(rows) {}
  PagedOutput(const PagedOutput&) = delete;
  PagedOutput& operator=(const PagedOutput&) = delete;
  ~PagedOutput() override { finish(); }

  // From now on lines of more than this many columns are broken at blanks, as folded_lines() does; 0: as they are. For text that people
  // read; JSON would be another text then.
  void fold_at(std::size_t columns) { columns_ = columns; }
  bool print(std::string_view text) override;
  // The pager was left before the end: the user has seen enough.
  bool was_left() const { return closed_ && pager_ != 0; }
  // Something could not be written, and not because the reader is gone.
  bool failed() const { return error_ != 0; }
  int error() const { return error_; }
  // Shows what was kept back and waits for the pager to be left.
  void finish();

private:
  bool start_pager();
  bool show(std::string_view text);
  bool write(std::string_view text);

  unsigned rows_;
  std::size_t columns_ = 0;
  std::string unfolded_; // a line that is not whole yet
  std::string kept_;     // as long as it may fit
  pid_t pager_ = 0;
  int pipe_ = -1;
  bool closed_ = false;
  int error_ = 0; // errno
};

// Rows of the terminal on standard output; 0: it is not a terminal, or answers are not to be paged.
unsigned paging_rows();
// From now on nothing is paged: --no-pager.
void never_page();

// How many rows of a terminal of this width a text takes; escape sequences take no room. 0 columns: lines are not broken.
std::size_t rows_of(std::string_view text, std::size_t columns);

} // namespace heaptape::cli
