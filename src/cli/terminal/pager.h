// Shows a command's answer on a terminal: as it is while it fits the screen, through $PAGER (less) when it is longer.
#pragma once

#include <sys/types.h>

#include <string>

#include "shell/printer.h"

namespace heaptape::cli {

// One answer. When standard output is not a terminal, or $PAGER is empty, everything goes straight there.
class PagedOutput final : public Printer {
public:
  // `rows`: of the terminal; 0: never page.
  explicit PagedOutput(unsigned rows) : rows_(rows) {}
  PagedOutput(const PagedOutput&) = delete;
  PagedOutput& operator=(const PagedOutput&) = delete;
  ~PagedOutput() override { finish(); }

  bool print(std::string_view text) override;
  // Something could not be written, and not because the reader is gone.
  bool failed() const { return error_ != 0; }
  int error() const { return error_; }
  // Shows what was kept back and waits for the pager to be left.
  void finish();

private:
  bool start_pager();
  bool write(std::string_view text);

  unsigned rows_;
  std::string kept_; // as long as it may fit
  unsigned lines_ = 0;
  pid_t pager_ = 0;
  int pipe_ = -1;
  bool closed_ = false;
  int error_ = 0; // errno
};

// Rows of the terminal on standard output; 0: it is not a terminal, or answers are not to be paged.
unsigned paging_rows();

} // namespace heaptape::cli
