// Names that a regular expression fits.
#pragma once

#include <regex.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heaptape {

// A POSIX extended regular expression that is looked for anywhere in a text.
class Pattern {
public:
  static Result<Pattern> compile(const std::string& expression);
  bool matches(std::string_view text) const;

private:
  struct Free {
    void operator()(regex_t* expression) const {
      ::regfree(expression);
      delete expression;
    }
  };
  std::unique_ptr<regex_t, Free> expression_;
};

} // namespace heaptape
