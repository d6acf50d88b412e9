// Talking to the user: results on standard output, everything else on standard error as "heaptape: <sentence>".
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/format_into.h"
#include "base/result.h"

namespace heaptape::cli {

// One line on standard error, in one write, so that it does not mix with the program's.
void say(std::string_view sentence);
// Prints the error and returns the exit status for it.
int fail(const Error& error);

class PagedOutput;
enum class Paging : bool { Never, WhenLong };

// Standard output with a large buffer; on a terminal, a long answer goes through the pager. Not copied; one per command.
class Output {
public:
  explicit Output(Paging paging = Paging::WhenLong);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  // Where to append. Call write_if_full() now and then.
  fmt::memory_buffer& buffer() { return buffer_; }
  void write_if_full() {
    if (buffer_.size() >= kFlushBytes) write();
  }
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    format_into(buffer_, format, std::forward<Args>(args)...);
  }

  // What comes is for people: on a terminal, lines that are too long for it are broken at blanks, and go on a little indented.
  void fold_lines();

  // Writes what is left, and waits for the pager to be left. False when something could not be written; that has been
  // reported.
  [[nodiscard]] bool finish();
  bool failed() const { return failed_; }

private:
  static constexpr std::size_t kFlushBytes = std::size_t{256} << 10;
  void write();

  fmt::memory_buffer buffer_;
  std::unique_ptr<PagedOutput> paged_;
  bool failed_ = false; // or nobody wants more
};

} // namespace heaptape::cli
