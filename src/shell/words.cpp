#include "shell/words.h"

#include <fmt/format.h>

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
  if (quote != 0) return Error{ErrorCode::Usage, fmt::format("a quote {} is not closed", quote)};
  end_word();
  return words;
}

std::vector<Word> as_words(const std::vector<std::string>& arguments) {
  std::vector<Word> words;
  for (const std::string& argument : arguments) words.push_back({argument, argument});
  return words;
}

} // namespace heaptape
