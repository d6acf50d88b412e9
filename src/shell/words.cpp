#include "shell/words.h"

#include <algorithm>
#include <charconv>

namespace heaptape {

Result<std::vector<Word>> split_words(std::string_view line) {
  std::vector<Word> words;
  Word word;
  bool inside = false;
  char quote = 0;
  const auto end_word = [&] {
    if (inside) words.push_back(std::move(word));
    word = {};
    inside = false;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && (c == ' ' || c == '\t')) {
      end_word();
      continue;
    }
    inside = true;
    word.raw += c;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      word.text += line[++i];
      word.raw += line[i];
    } else {
      word.text += c;
    }
  }
  if (quote != 0) return Error{ErrorCode::Usage, std::string("a quote ") + quote + " is not closed"};
  end_word();
  return words;
}

Words::Words(std::vector<Word> words) : words_(std::move(words)) {
  const auto behind = std::find_if(words_.begin(), words_.end(), [](const Word& word) { return word.raw == "--"; });
  if (behind == words_.end()) return;
  plain_.assign(behind + 1, words_.end());
  words_.erase(behind, words_.end());
}

namespace {

std::vector<Word> as_words(const std::vector<std::string>& arguments) {
  std::vector<Word> words;
  for (const std::string& argument : arguments) words.push_back({argument, argument});
  return words;
}

} // namespace

Words::Words(const std::vector<std::string>& arguments) : Words(as_words(arguments)) {}

bool Words::is_option(const Word& word) {
  return word.raw.size() > 1 && word.raw[0] == '-' &&
         (word.raw[1] == '-' || (word.raw[1] >= 'a' && word.raw[1] <= 'z'));
}

bool Words::has(std::string_view name) const {
  return std::any_of(words_.begin(), words_.end(), [&](const Word& word) {
    return word.raw == name ||
           (word.text.starts_with(name) && word.text.size() > name.size() && word.text[name.size()] == '=');
  });
}

bool Words::flag(std::string_view name) {
  return std::erase_if(words_, [&](const Word& word) { return word.raw == name; }) != 0;
}

Result<std::optional<std::string>> Words::option(std::string_view name) {
  std::optional<std::string> value;
  for (std::size_t i = 0; i < words_.size();) {
    const std::string& text = words_[i].text;
    const auto at = words_.begin() + static_cast<std::ptrdiff_t>(i);
    if (words_[i].raw == name) {
      if (i + 1 == words_.size()) return Error{ErrorCode::Usage, std::string(name) + " needs a value"};
      value = words_[i + 1].text;
      words_.erase(at, at + 2);
    } else if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=') {
      value = text.substr(name.size() + 1);
      words_.erase(at);
    } else {
      ++i;
    }
  }
  return value;
}

Result<std::uint64_t> Words::count(std::string_view name, std::uint64_t otherwise) {
  const Result<std::optional<std::string>> given = option(name);
  if (!given) return given.error();
  if (!given.value()) return otherwise;
  const std::string& text = *given.value();
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc{} || rest != end || number == 0 || number > 1'000'000'000) {
    return Error{ErrorCode::Usage, std::string(name) + " needs a number from 1 to 1,000,000,000, not '" + text + "'"};
  }
  return number;
}

std::size_t Words::next_plain() const {
  const auto found = std::find_if(words_.begin(), words_.end(), [](const Word& word) { return !is_option(word); });
  return static_cast<std::size_t>(found - words_.begin());
}

std::optional<std::string> Words::peek() const {
  if (const std::size_t at = next_plain(); at != words_.size()) return words_[at].text;
  if (!plain_.empty()) return plain_.front().text;
  return std::nullopt;
}

std::optional<std::string> Words::next() {
  std::optional<std::string> text = peek();
  if (const std::size_t at = next_plain(); at != words_.size())
    words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(at));
  else if (!plain_.empty())
    plain_.erase(plain_.begin());
  return text;
}

std::optional<std::string> Words::take_first(std::string_view with_values, bool (*wanted)(const std::string&)) {
  const auto takes_value = [&](const std::string& option) {
    for (std::size_t at = with_values.find(option); at != with_values.npos; at = with_values.find(option, at + 1)) {
      const std::size_t end = at + option.size();
      if ((at == 0 || with_values[at - 1] == ' ') && (end == with_values.size() || with_values[end] == ' '))
        return true;
    }
    return false;
  };
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (is_option(words_[i])) {
      if (takes_value(words_[i].text)) ++i;
      continue;
    }
    if (!wanted(words_[i].text)) return std::nullopt;
    std::string text = words_[i].text;
    words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(i));
    return text;
  }
  return std::nullopt;
}

std::string Words::rest() {
  std::string all;
  const auto take = [&](std::vector<Word>& from, bool options_too) {
    std::erase_if(from, [&](const Word& word) {
      if (!options_too && is_option(word)) return false;
      all += (all.empty() ? "" : " ") + word.raw;
      return true;
    });
  };
  take(words_, false);
  take(plain_, true);
  return all;
}

Result<> Words::finish() const {
  for (const Word& word : words_) {
    if (is_option(word)) return Error{ErrorCode::Usage, "unknown option '" + word.text + "'"};
  }
  if (const auto word = peek()) return Error{ErrorCode::Usage, "'" + *word + "' is one word too many"};
  return Unit{};
}

} // namespace heaptape
