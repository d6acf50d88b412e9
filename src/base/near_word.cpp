#include "base/near_word.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

namespace heaptape {
namespace {

constexpr std::size_t kLongest = 64;
constexpr std::size_t kFar = std::numeric_limits<std::size_t>::max();

char lower(char letter) { return static_cast<char>(std::tolower(static_cast<unsigned char>(letter))); }

// Short words differ from everything by little, so they must be hit better.
std::size_t most_apart(std::size_t letters) {
  return letters <= 2 ? 0 : letters <= 4 ? 1 : std::min<std::size_t>(letters / 3, 3);
}

} // namespace

// Rows of the usual table of distances between beginnings; three of them, for a swap looks two rows back.
std::size_t letters_apart(std::string_view a, std::string_view b) {
  if (a.size() > kLongest || b.size() > kLongest) return kFar;
  using Row = std::array<std::size_t, kLongest + 1>;
  std::array<Row, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    Row& row = rows[i % 3];
    const Row& above = rows[(i - 1) % 3];
    const Row& second = rows[(i + 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], second[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::string near_word(std::string_view word, std::span<const std::string_view> known) {
  std::string_view nearest, beginning;
  std::size_t least = kFar, beginnings = 0;
  for (const std::string_view one : known) {
    if (const std::size_t apart = letters_apart(word, one); apart < least) {
      least = apart;
      nearest = one;
    }
    if (word.size() >= 2 && one.starts_with(word)) {
      beginning = one;
      ++beginnings;
    }
  }
  if (least <= most_apart(std::max(word.size(), nearest.size()))) return std::string(nearest);
  return beginnings == 1 ? std::string(beginning) : std::string();
}

std::string near_word(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  return near_word(word, std::span(views));
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  const std::string near = near_word(word, known);
  return near.empty() ? std::string() : "; did you mean '" + near + "'?";
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  return did_you_mean(word, std::span(views));
}

std::string listed(const std::vector<std::string>& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) text += i + 1 == words.size() ? " " + std::string(last) + " " : ", ";
    text += words[i];
  }
  return text;
}

} // namespace heaptape
