#include "shell/call.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/check.h"

namespace heaptape {
namespace {

bool is_option(const Word& word) {
  return word.raw.size() > 1 && word.raw[0] == '-' &&
         (word.raw[1] == '-' || (word.raw[1] >= 'a' && word.raw[1] <= 'z'));
}

std::vector<std::string> split_choices(std::string_view text) {
  std::vector<std::string> choices;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    choices.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return choices;
}

} // namespace

Call::Call(std::string_view command, std::span<const CommandOption> options) : list_(std::string(command)) {
  for (const CommandOption& row : options) {
    Given& given = given_.emplace_back();
    const bool has_value = row.form.find(' ') != row.form.npos;
    Option& option =
        has_value ? list_.text(row.form, given.text, row.help) : list_.flag(row.form, given.flag, row.help);
    option.choices = split_choices(row.choices);
    given.option = &option;
  }
}

// Only the options go through the list: a filter is handed over as it was typed.
Result<OptionList::Outcome> Call::parse(std::vector<Word> words) {
  std::vector<std::string> options;
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (word->raw == "--") {
      behind_dashes_ = static_cast<std::size_t>(words.end() - word - 1);
      std::move(word + 1, words.end(), std::back_inserter(plain_));
      break;
    }
    if (!is_option(*word)) {
      plain_.push_back(std::move(*word));
      continue;
    }
    options.push_back(word->text);
    if (list_.takes_next_word(word->text) && word + 1 != words.end()) options.push_back((++word)->text);
  }
  return list_.parse(std::move(options));
}

const Call::Given& Call::given(std::string_view name) const {
  const auto found = std::find_if(given_.begin(), given_.end(), [&](const Given& one) {
    return one.option->long_name == name || one.option->short_name == name;
  });
  HT_CHECK(found != given_.end());
  return *found;
}

bool Call::flag(std::string_view name) const { return given(name).flag; }

const std::optional<std::string>& Call::option(std::string_view name) const { return given(name).text; }

Result<std::uint64_t> Call::count(std::string_view name, std::uint64_t otherwise) const {
  const std::optional<std::string>& text = option(name);
  if (!text) return otherwise;
  std::uint64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, status] = std::from_chars(text->data(), end, number);
  if (status != std::errc{} || rest != end || number == 0 || number > 1'000'000'000) {
    return Error{ErrorCode::Usage, std::string(name) + " needs a number from 1 to 1,000,000,000, not '" + *text + "'"};
  }
  return number;
}

std::optional<std::string> Call::peek() const {
  if (plain_.empty()) return std::nullopt;
  return plain_.front().text;
}

std::optional<std::string> Call::next() {
  std::optional<std::string> text = peek();
  if (text) plain_.pop_front();
  behind_dashes_ = std::min(behind_dashes_, plain_.size());
  return text;
}

std::optional<std::string> Call::next_if(bool (*wanted)(const std::string&)) {
  if (plain_.size() == behind_dashes_ || !wanted(plain_.front().text)) return std::nullopt;
  return next();
}

std::string Call::rest() {
  std::string all;
  for (const Word& word : plain_) all += (all.empty() ? "" : " ") + word.raw;
  plain_.clear();
  behind_dashes_ = 0;
  return all;
}

Result<> Call::finish() const {
  if (plain_.empty()) return Unit{};
  return Error{ErrorCode::Usage, "unexpected argument '" + plain_.front().text + "'"};
}

} // namespace heaptape
