#include "cli/options/record_arguments.h"

#include <string>
#include <string_view>

namespace heaptape::cli {
namespace {

// True when the value of the option in `word` is the next argument.
bool value_follows(const OptionList& list, std::string_view word) {
  if (word.starts_with("--")) return word.find('=') == word.npos && list.takes_next_word(std::string(word));
  for (std::size_t i = 1; i < word.size(); ++i) { // -qo FILE, or -oFILE
    if (list.takes_next_word({'-', word[i]})) return i + 1 == word.size();
  }
  return false;
}

} // namespace

RecordArguments split_record_arguments(const OptionList& list, Arguments arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--") return {arguments.first(i), arguments.subspan(i + 1)};
    if (!word.starts_with('-') || word == "-") return {arguments.first(i), arguments.subspan(i)};
    if (value_follows(list, word)) ++i;
  }
  return {arguments, {}};
}

} // namespace heaptape::cli
