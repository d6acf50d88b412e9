#include "options/option_list.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "base/near_word.h"
#include "base/number_text.h"

namespace heaptape {
namespace {

// "-o,--output FILE", "--cpu[=HZ]", "--svg [FILE]" in their parts.
struct Form {
  std::string names; // "-o,--output"
  std::string value_name;
  OptionValue value = OptionValue::None;

  explicit Form(std::string_view form) {
    const std::size_t end = std::min(form.find_first_of(" ["), form.size());
    names = form.substr(0, end);
    form.remove_prefix(end);
    if (form.starts_with("[=")) {
      value = OptionValue::Attached;
      value_name = form.substr(2, form.size() - 3);
    } else if (form.starts_with(' ')) {
      value = form.starts_with(" [") ? OptionValue::MayBe : OptionValue::Next;
      value_name = form.substr(1);
    }
  }
};

// What CLI11 reports for a flag whose value was left out. Nobody types it.
constexpr const char* kLeftOut = "\x01";

// A whole number, or one with decimals; nullopt: neither, or too many digits.
template <class Value>
std::optional<Value> parse_number(const std::string& text) {
  Value value{};
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc{} || rest != end) return std::nullopt;
  return value;
}

template <class Value>
CLI::Option* add(CLI::App& app, std::string_view text, Value& value) {
  const Form form(text);
  CLI::Option* const option = app.add_option(form.names, value);
  if (!form.value_name.empty()) option->type_name(form.value_name);
  return option;
}

} // namespace

Option& Option::one_of(std::initializer_list<std::string_view> words) {
  choices.assign(words.begin(), words.end());
  return *this;
}

Option& Option::also(std::initializer_list<std::string_view> words) {
  also_.assign(words.begin(), words.end());
  return *this;
}

Option& Option::between(std::uint64_t least, std::uint64_t most) {
  least_ = least;
  most_ = most;
  return *this;
}

Option& Option::required() {
  parsed_->required();
  return *this;
}

Option& Option::hidden() {
  is_hidden = true;
  return *this;
}

Option& Option::excludes(const std::string& name) {
  parsed_->excludes(name);
  return *this;
}

Option& Option::needs(const std::string& name) {
  parsed_->needs(name);
  return *this;
}

OptionList::OptionList(std::string command)
    : command_(std::move(command)), app_(std::make_unique<CLI::App>("", command_)) {}

OptionList::~OptionList() = default;

Option& OptionList::declare(std::string_view text, CLI::Option* parsed, std::string_view help) {
  const Form form(text);
  Option& option = options_.emplace_back();
  option.parsed_ = parsed;
  if (!parsed->get_snames().empty()) option.short_name = "-" + parsed->get_snames().front();
  if (!parsed->get_lnames().empty()) option.long_name = "--" + parsed->get_lnames().front();
  option.is_word = parsed->get_positional();
  option.value_name = option.is_word ? form.names.substr(0, form.names.find(',')) : form.value_name;
  option.value = form.value;
  option.help = help;
  return option;
}

Option& OptionList::flag(std::string_view form, bool& value, std::string_view help) {
  return declare(form, app_->add_flag(std::string(form), value), help);
}

Option& OptionList::text(std::string_view form, std::string& value, std::string_view help) {
  return declare(form, add(*app_, form, value), help);
}

// CLI11 takes an empty text for none, so it does not get the optional itself.
Option& OptionList::text(std::string_view form, std::optional<std::string>& value, std::string_view help) {
  Optional& optional = optionals_.emplace_back();
  optional.value = &value;
  CLI::Option* const option = add(*app_, form, optional.text);
  optional.option = option;
  return declare(form, option, help);
}

Option& OptionList::optional_text(std::string_view text, std::optional<std::string>& value, std::string_view help) {
  const Form form(text);
  Optional& optional = optionals_.emplace_back();
  optional.value = &value;
  // What can only be attached is a flag to CLI11, which lets flags have values.
  CLI::Option* const option = form.value == OptionValue::Attached
                                  ? app_->add_flag(form.names + "{" + kLeftOut + "}", optional.text)
                                  : add(*app_, text, optional.text)->expected(0, 1);
  optional.option = option;
  return declare(text, option, help);
}

// CLI11 wraps negative numbers around and says little about wrong ones, so it gets a text.
Option& OptionList::add_number(std::string_view form, std::function<void(double, std::uint64_t)> take,
                               std::string_view help) {
  Number& number = numbers_.emplace_back();
  number.take = std::move(take);
  Option& option = declare(form, add(*app_, form, number.text), help);
  number.option = &option;
  return option;
}

Option& OptionList::number(std::string_view form, std::uint64_t& value, std::string_view help) {
  return add_number(
      form, [&value](double, std::uint64_t whole) { value = whole; }, help);
}

Option& OptionList::number(std::string_view form, std::optional<std::uint64_t>& value, std::string_view help) {
  return add_number(
      form, [&value](double, std::uint64_t whole) { value = whole; }, help);
}

Option& OptionList::number(std::string_view form, std::uint32_t& value, std::string_view help) {
  Option& option = add_number(
      form, [&value](double, std::uint64_t whole) { value = static_cast<std::uint32_t>(whole); }, help);
  return option.between(0, std::numeric_limits<std::uint32_t>::max());
}

Option& OptionList::number(std::string_view form, double& value, std::string_view help) {
  Option& option = add_number(
      form, [&value](double exact, std::uint64_t) { value = exact; }, help);
  numbers_.back().whole = false;
  return option;
}

// Without allow_extra_args(false) CLI11 would go on taking words, a tape's name among them.
Option& OptionList::repeated(std::string_view form, std::vector<std::string>& values, std::string_view help) {
  return declare(form, add(*app_, form, values)->allow_extra_args(false), help);
}

Option& OptionList::each(std::string_view form, std::function<void(const std::string&)> take, std::string_view help) {
  Each& each = each_.emplace_back();
  each.take = std::move(take);
  Option& option = repeated(form, each.values, help);
  each.option = option.parsed_;
  return option;
}

Option& OptionList::series(std::string_view form, std::vector<std::string>& values, int least, std::string_view help) {
  constexpr int kMost = 1000;
  Option& option = declare(form, add(*app_, form, values)->expected(least, kMost), help);
  option.value = OptionValue::Series;
  return option;
}

Option& OptionList::word(const std::string& name, std::string& value) {
  return declare(name, app_->add_option(name, value), "");
}

Option& OptionList::word(const std::string& name, int& value) {
  return declare(name, app_->add_option(name, value), "");
}

Option& OptionList::words(const std::string& name, std::vector<std::string>& values) {
  return declare(name, app_->add_option(name, values), "");
}

// CLI11 knows an exact number of words or any number, not "at most"; parse() counts them.
Option& OptionList::each_word(const std::string& name, std::size_t most, std::function<void(const std::string&)> take) {
  Each& each = each_.emplace_back();
  each.take = std::move(take);
  each.most = most;
  CLI::Option* const option = app_->add_option(name, each.values);
  each.option = option;
  return declare(name, option, "");
}

// CLI11's sentences in ours. Those not expected here are shown as they are.
std::string OptionList::sentence_for(const std::string& what, int exit_code) const {
  const std::size_t colon = what.find(": ");
  if (colon == what.npos) return what;
  switch (static_cast<CLI::ExitCodes>(exit_code)) {
  case CLI::ExitCodes::ExtrasError: {
    const std::vector<std::string> extras = app_->remaining();
    const std::string extra = extras.empty() ? what.substr(colon + 2) : extras.front();
    if (!extra.starts_with('-')) return "unexpected argument '" + printable(extra) + "'";
    std::vector<std::string> known{"--help"};
    for (const Option& option : options_) {
      if (!option.is_word && !option.is_hidden && !option.long_name.empty()) known.push_back(option.long_name);
    }
    const std::string name = extra.substr(0, extra.find('='));
    return "unknown option " + printable(name) + did_you_mean(name, known);
  }
  case CLI::ExitCodes::ArgumentMismatch: {
    const bool too_many = what.compare(colon, 9, ": At Most") == 0;
    return what.substr(0, colon) + (too_many ? " may be given only once" : " needs a value");
  }
  default: return what;
  }
}

// Choices and numbers: what is wrong, what may be given, and what was probably meant.
Result<> OptionList::check_values() {
  const auto name_of = [](const Option& option) {
    return option.is_word ? option.value_name : option.long_name.empty() ? option.short_name : option.long_name;
  };
  for (const Option& option : options_) {
    if (option.choices.empty() || option.parsed_->count() == 0) continue;
    for (const std::string& word : option.parsed_->results()) {
      const auto is_in = [&](const std::vector<std::string>& words) {
        return std::find(words.begin(), words.end(), word) != words.end();
      };
      if (word == kLeftOut || is_in(option.choices) || is_in(option.also_)) continue;
      return Error{ErrorCode::Usage, name_of(option) + " must be " + listed(option.choices) + ", not '" +
                                         printable(word) + "'" + did_you_mean(word, option.choices)};
    }
  }
  for (const Number& number : numbers_) {
    const Option& option = *number.option;
    if (option.parsed_->count() == 0) continue;
    const auto whole = number.whole ? parse_number<std::uint64_t>(number.text) : std::optional<std::uint64_t>(0);
    const auto exact = number.whole ? std::optional(0.0) : parse_number<double>(number.text);
    const auto least = static_cast<double>(option.least_), most = static_cast<double>(option.most_);
    const bool fits = number.whole ? whole && *whole >= option.least_ && *whole <= option.most_
                                   : exact && *exact >= least && *exact <= most;
    if (!fits)
      return Error{ErrorCode::Usage, name_of(option) + " must be a number from " + with_separators(option.least_) +
                                         " to " + with_separators(option.most_) + ", not '" + printable(number.text) +
                                         "'"};
    number.take(*exact, *whole);
  }
  return Unit{};
}

Result<OptionList::Outcome> OptionList::parse(std::vector<std::string> words) {
  if (words.size() == 1 && words.front() == kTableOption) return Outcome::WantsTable;
  std::reverse(words.begin(), words.end()); // CLI11 takes them from the end
  try {
    app_->parse(words);
  } catch (const CLI::CallForHelp&) {
    return Outcome::WantsHelp;
  } catch (const CLI::ParseError& error) {
    return Error{ErrorCode::Usage, sentence_for(error.what(), error.get_exit_code())};
  }
  if (const Result<> checked = check_values(); !checked) return checked.error();
  for (const Each& each : each_) {
    const std::vector<std::string>& given = each.option->results();
    if (given.size() > each.most) return Error{ErrorCode::Usage, "unexpected argument '" + given[each.most] + "'"};
  }
  for (const Optional& optional : optionals_) {
    if (optional.option->count() != 0) *optional.value = optional.text == kLeftOut ? std::string() : optional.text;
  }
  std::map<const CLI::Option*, std::size_t> taken;
  for (const CLI::Option* option : app_->parse_order()) {
    const auto each = std::find_if(each_.begin(), each_.end(), [&](const Each& one) { return one.option == option; });
    if (each != each_.end()) each->take(option->results().at(taken[option]++));
  }
  return Outcome::GoOn;
}

bool OptionList::given(const std::string& name) const { return knows(name) && app_->get_option(name)->count() != 0; }

bool OptionList::knows(const std::string& name) const { return app_->get_option_no_throw(name) != nullptr; }

bool OptionList::takes_next_word(const std::string& name) const {
  const CLI::Option* option = app_->get_option_no_throw(name);
  return option != nullptr && option->get_items_expected_max() > 0;
}

} // namespace heaptape
