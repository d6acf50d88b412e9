// The known word that a mistyped one was meant to be.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heaptape {

// How many letters must be inserted, left out, replaced or swapped with their neighbour to get from one word to the
// other; upper and lower case are the same. Words of more than 64 letters are infinitely far from all others.
std::size_t letters_apart(std::string_view a, std::string_view b);

// The nearest of the known words, if it is near enough to be meant: a third of the letters may differ, or it is the
// only one that begins like this. Empty: none is. Of several that are equally near, the first.
std::string near_word(std::string_view word, std::span<const std::string_view> known);
std::string near_word(std::string_view word, const std::vector<std::string>& known);

// "; did you mean 'leaks'?", to be put behind a sentence. Empty when there is no near word.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

// "peak, live or allocated"
std::string listed(const std::vector<std::string>& words, std::string_view last = "or");

} // namespace heaptape
