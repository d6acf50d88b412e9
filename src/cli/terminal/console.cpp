#include "cli/terminal/console.h"

#include <unistd.h>

#include <cstring>
#include <string>

#include "base/characters.h"
#include "cli/terminal/exit_codes.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/terminal.h"

namespace heaptape::cli {

void say(std::string_view sentence) {
  // Names of files and of the program's parts may stand in it.
  const std::string line = fmt::format("heaptape: {}\n", printable_lines(sentence));
  // When standard error is gone, there is nowhere to report it.
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

int fail(const Error& error) {
  say(error.sentence);
  return kTrouble;
}

Output::Output(Paging paging) : paged_(std::make_unique<PagedOutput>(paging == Paging::WhenLong ? paging_rows() : 0)) {}
Output::~Output() = default;

void Output::fold_lines() {
  if (const Result<TextStyle> style = style_of_output("auto")) paged_->fold_at(style.value().width);
}

void Output::write() {
  if (!failed_ && !paged_->print({buffer_.data(), buffer_.size()})) failed_ = true;
  buffer_.clear();
}

bool Output::finish() {
  write();
  paged_->finish();
  // A reader that has seen enough is not a failure worth a line.
  if (paged_->failed()) say(fmt::format("cannot write to standard output: {}", std::strerror(paged_->error())));
  return (!failed_ && !paged_->failed()) || paged_->was_left();
}

} // namespace heaptape::cli
