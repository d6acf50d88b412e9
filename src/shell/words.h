// What stands behind a command's name: options, plain words, and filters, which keep their quotes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heaptape {

struct Word {
  std::string text; // without the quotes around or in it
  std::string raw;  // as it was typed
};

// Splits a line at spaces. '...' and "..." keep spaces together, also in the middle of a word; a backslash takes the next character as
// it is, except between single quotes. An open quote is refused.
Result<std::vector<Word>> split_words(std::string_view line);

// Commands take from it what they know and then call finish(), which refuses the rest. Options may stand anywhere before "--".
class Words {
public:
  explicit Words(std::vector<Word> words);
  // As they come from main(): quotes are ordinary characters.
  explicit Words(const std::vector<std::string>& arguments);

  // Whether an option is there, without taking it.
  bool has(std::string_view name) const;
  // Takes an option without a value, such as "--json". Whether it was there.
  bool flag(std::string_view name);
  // Takes "--name VALUE" or "--name=VALUE". The last one counts. An Error when the value is missing.
  Result<std::optional<std::string>> option(std::string_view name);

  // The same for a count from 1 to 10^9, and how many it is without the option.
  Result<std::uint64_t> count(std::string_view name, std::uint64_t otherwise);

  // Takes the next plain word, nullopt when there is none. An option that was not taken before is no plain word; "-5" is one.
  std::optional<std::string> next();
  // The same without taking it.
  std::optional<std::string> peek() const;
  // Takes the first plain word that is no value of one of the options named in `with_values` ("--png --by"), if `wanted` says yes to it.
  std::optional<std::string> take_first(std::string_view with_values, bool (*wanted)(const std::string&));
  // Takes all plain words, as typed and with spaces between them: for filters.
  std::string rest();

  // Refuses what nobody took: "unknown option '--x'", "'y' is one word too many".
  Result<> finish() const;

private:
  static bool is_option(const Word& word);
  std::size_t next_plain() const;

  std::vector<Word> words_;
  std::vector<Word> plain_; // behind a "--"
};

} // namespace heaptape
