// Options whose text is read by a parser that HEAPTAPE_* variables share.
#pragma once

#include <string>

#include "base/result.h"

namespace heaptape::cli {

// Leaves `field` alone when the option was not given. An Error begins with the option's name.
template <class Parse, class Field>
Result<> take_value(const char* option, const std::string& text, Parse parse, Field& field) {
  if (text.empty()) return Unit{};
  const auto value = parse(text);
  if (!value) return Error{ErrorCode::Usage, std::string(option) + ": " + value.error().sentence};
  field = value.value();
  return Unit{};
}

} // namespace heaptape::cli
