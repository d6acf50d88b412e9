#include "cli/options/record_arguments.h"

#include <string>
#include <string_view>

namespace heaptape::cli {
namespace {

bool takes_value(const CLI::App& app, const std::string& name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  return option != nullptr && option->get_items_expected_max() > 0;
}

// True when the value of the option in `word` is the next argument.
bool value_follows(const CLI::App& app, std::string_view word) {
  if (word.starts_with("--")) return word.find('=') == word.npos && takes_value(app, std::string(word));
  for (std::size_t i = 1; i < word.size(); ++i) { // -qo FILE, or -oFILE
    if (takes_value(app, {'-', word[i]})) return i + 1 == word.size();
  }
  return false;
}

} // namespace

RecordArguments split_record_arguments(const CLI::App& app, Arguments arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--") return {arguments.first(i), arguments.subspan(i + 1)};
    if (!word.starts_with('-') || word == "-") return {arguments.first(i), arguments.subspan(i)};
    if (value_follows(app, word)) ++i;
  }
  return {arguments, {}};
}

} // namespace heaptape::cli
