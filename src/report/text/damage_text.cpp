#include "report/text/damage_text.h"

#include <fmt/format.h>

#include "base/number_text.h"

namespace heaptape {

std::vector<std::string> damage_sentences(const std::vector<Damage>& damage) {
  constexpr std::size_t kListed = 10;
  std::vector<std::string> sentences;
  std::uint64_t unlisted_bytes = 0;
  for (std::size_t i = 0; i < damage.size(); ++i) {
    if (i < kListed) {
      sentences.push_back(fmt::format("{} skipped at offset {}: {}", count_of(damage[i].bytes, "byte"),
                                      damage[i].offset, damage[i].reason));
    } else {
      unlisted_bytes += damage[i].bytes;
    }
  }
  if (damage.size() > kListed) {
    sentences.push_back(fmt::format("{} skipped in {}", count_of(unlisted_bytes, "byte"),
                                    count_of(damage.size() - kListed, "further place")));
  }
  return sentences;
}

} // namespace heaptape
