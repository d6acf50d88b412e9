// The options of one command: declared once, like a table, then parsed, listed by --help and offered by completion.
//
//   OptionList list("dump");
//   list.text("--from POSITION", from, "first event to print");
//   list.number("-n,--rows N", rows, "rows of the table (default: 20)");
//   list.flag("--json", json, "one JSON object per line");
//   list.word("TAPE", tape);
//
// CLI11 does the parsing. Its header takes many seconds to compile, so only option_list.cpp includes it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace heaptape {

// The word that asks a command for its options as a table: for the manual and for completion.
inline constexpr std::string_view kTableOption = "--list-options";

// Where an option's value stands.
enum class OptionValue : std::uint8_t {
  None,     // a flag
  Next,     // in the next word, or behind "="
  MayBe,    // the same, and it may be left out: "--svg [FILE]"
  Attached, // behind "=" or nowhere: "--cpu[=HZ]"
  Series,   // in the words up to the next option
};

// One row of the table. Its limits are added when it is declared: list.flag("--perf", ...).excludes("--debugger").
class Option {
public:
  std::string short_name; // "-o" or empty
  std::string long_name;  // "--output" or empty
  std::string value_name; // "FILE"; of a word: its name
  std::string help;
  std::vector<std::string> choices; // what the value may be; empty: anything
  OptionValue value = OptionValue::None;
  bool is_word = false; // not an option but a plain word such as TAPE
  bool is_hidden = false;

  // What the value may be: offered by completion, and everything else is refused.
  Option& one_of(std::initializer_list<std::string_view> words);
  // Words that are accepted besides the choices and offered nowhere: older names of the same.
  Option& also(std::initializer_list<std::string_view> words);
  Option& between(std::uint64_t least, std::uint64_t most); // of a number; without it: from 0 to 10^12
  Option& required();
  Option& hidden(); // --help does not list it
  // By the names of options that have been declared before.
  Option& excludes(const std::string& name);
  Option& needs(const std::string& name);

private:
  friend class OptionList;
  CLI::Option* parsed_ = nullptr;
  std::vector<std::string> also_;
  std::uint64_t least_ = 0, most_ = 1'000'000'000'000;
};

class OptionList {
public:
  explicit OptionList(std::string command);
  OptionList(const OptionList&) = delete;
  OptionList& operator=(const OptionList&) = delete;
  ~OptionList();

  // An option's form is its names and its value's name: "-o,--output FILE". The variables must live until parse() has
  // returned; they keep what they hold when the option is not given. Everything but repeated(), each() and series() is
  // given once at most.
  Option& flag(std::string_view form, bool& value, std::string_view help);
  Option& text(std::string_view form, std::string& value, std::string_view help);
  Option& text(std::string_view form, std::optional<std::string>& value, std::string_view help);
  // The value may be left out and is empty then: "--cpu[=HZ]" or "--svg [FILE]".
  Option& optional_text(std::string_view form, std::optional<std::string>& value, std::string_view help);
  Option& number(std::string_view form, std::uint64_t& value, std::string_view help);
  Option& number(std::string_view form, std::optional<std::uint64_t>& value, std::string_view help);
  Option& number(std::string_view form, std::uint32_t& value, std::string_view help);
  Option& number(std::string_view form, double& value, std::string_view help);
  // May be given again and again, with one value each time.
  Option& repeated(std::string_view form, std::vector<std::string>& values, std::string_view help);
  // The same, for options whose order matters: after parsing, `take` gets each value in the order of the command line.
  Option& each(std::string_view form, std::function<void(const std::string&)> take, std::string_view help);
  // Takes all words up to the next option, `least` or more. The caller must make sure that no tape is among them.
  Option& series(std::string_view form, std::vector<std::string>& values, int least, std::string_view help);

  // Plain words, in the order of their declaration.
  Option& word(const std::string& name, std::string& value);
  Option& word(const std::string& name, int& value);
  Option& words(const std::string& name, std::vector<std::string>& values); // all that are left
  // At most `most` of them; `take` gets each in its turn among the values of each().
  Option& each_word(const std::string& name, std::size_t most, std::function<void(const std::string&)> take);

  enum class Outcome : std::uint8_t { GoOn, WantsHelp, WantsTable };
  // Fills the variables. The Error's sentence names the wrong word, and the one that was probably meant. To be called
  // once. WantsTable: the only word is kTableOption.
  Result<Outcome> parse(std::vector<std::string> words);
  // After parsing: whether the option was given; false also when there is no such option.
  bool given(const std::string& name) const;

  // Whether there is an option of that name.
  bool knows(const std::string& name) const;
  // Whether the option, "--output" or "-o", has a value that may be the next word.
  bool takes_next_word(const std::string& name) const;
  const std::string& command() const { return command_; }
  const std::deque<Option>& options() const { return options_; }

private:
  std::string sentence_for(const std::string& what, int exit_code) const;
  Result<> check_values();
  Option& add_number(std::string_view form, std::function<void(double, std::uint64_t)> take, std::string_view help);
  Option& declare(std::string_view form, CLI::Option* parsed, std::string_view help);

  struct Optional { // of optional_text() and text()
    const CLI::Option* option = nullptr;
    std::string text{};
    std::optional<std::string>* value = nullptr;
  };
  struct Number { // of number(): a double is given both ways
    const Option* option = nullptr;
    std::string text{};
    std::function<void(double, std::uint64_t)> take{};
    bool whole = true;
  };
  struct Each { // of each()
    const CLI::Option* option = nullptr;
    std::vector<std::string> values{};
    std::function<void(const std::string&)> take{};
    std::size_t most = ~std::size_t{0};
  };

  std::string command_;
  std::unique_ptr<CLI::App> app_;
  // Deques, for CLI11 and callers keep references to what is in them.
  std::deque<Option> options_;
  std::deque<Optional> optionals_;
  std::deque<Number> numbers_;
  std::deque<Each> each_;
};

} // namespace heaptape
