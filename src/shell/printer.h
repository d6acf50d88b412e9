// Where a command's answer goes: a pager, a pipe, a file, a string of a test.
#pragma once

#include <string>
#include <string_view>

namespace heaptape {

class Printer {
public:
  virtual ~Printer() = default;
  // False: nobody reads any more (the pager was left, the pipe is closed, the user pressed Ctrl-C), and the command should end.
  // That is no error.
  virtual bool print(std::string_view text) = 0;
};

// Keeps all of it.
class StringPrinter final : public Printer {
public:
  bool print(std::string_view text) override {
    text_ += text;
    return true;
  }
  const std::string& text() const { return text_; }

private:
  std::string text_;
};

} // namespace heaptape
