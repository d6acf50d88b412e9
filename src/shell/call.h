// One call of a command: what was typed behind its name, parsed by the options that the command declares.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "options/option_list.h"
#include "shell/words.h"

namespace heaptape {

// An option, as a row of the command's table.
struct CommandOption {
  std::string_view form; // "--by ORDER" or "--json", as OptionList takes it
  std::string_view help;
  std::string_view choices = {}; // what the value may be, separated by spaces; empty: anything
};
inline constexpr CommandOption kJsonOption[] = {{"--json", "as JSON"}};

class Call {
public:
  Call(std::string_view command, std::span<const CommandOption> options);

  // Who has options besides the command's own declares them here, before parsing.
  OptionList& options() { return list_; }
  const OptionList& options() const { return list_; }
  // Options may stand anywhere before "--"; everything else is a plain word. "-5" is one, too. To be called once.
  Result<OptionList::Outcome> parse(std::vector<Word> words);

  // After parsing. The names are those that the command declares.
  bool flag(std::string_view name) const;
  const std::optional<std::string>& option(std::string_view name) const;
  // The option's value as a count from 1 to 10^9, and how many it is without the option.
  Result<std::uint64_t> count(std::string_view name, std::uint64_t otherwise) const;

  // Takes the next plain word, nullopt when there is none.
  std::optional<std::string> next();
  // The same without taking it.
  std::optional<std::string> peek() const;
  // Takes the next plain word if it stands before a "--" and `wanted` says yes to it.
  std::optional<std::string> next_if(bool (*wanted)(const std::string&));
  // Takes all plain words, as typed and with spaces between them: for filters.
  std::string rest();
  // Refuses the words that nobody took: "unexpected argument 'y'".
  Result<> finish() const;

  // The answer is that something is not as it should be: the status of 'heaptape NAME' says so.
  void note_problems() { has_problems_ = true; }
  bool has_problems() const { return has_problems_; }

private:
  struct Given {
    const Option* option = nullptr;
    bool flag = false;
    std::optional<std::string> text{};
  };
  const Given& given(std::string_view name) const;

  OptionList list_;
  std::deque<Given> given_; // a deque, for the list refers to it
  std::deque<Word> plain_;
  std::size_t behind_dashes_ = 0; // how many of them, at the end
  bool has_problems_ = false;
};

} // namespace heaptape
