#include "analysis/memory/edge_cursor.h"

#include <cstring>

namespace heaptape {

namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);

} // namespace

void EdgeCursor::go_to(std::uint32_t block) {
  block_ = block;
  edge_ = heap_.graph.first(block);
  end_ = heap_.graph.first(block + 1);
  piece_ = {.address = 0, .bytes = {}, .next = heap_.ranks.begin(block)};
  at_ = 0;
}

std::optional<WalkedEdge> EdgeCursor::next() {
  if (edge_ == end_) return std::nullopt;
  const PointerForm form = heap_.graph.options().form;
  const std::uint32_t target = heap_.graph.target(edge_++);
  const std::uint64_t begin = heap_.ranks.begin(block_), end = heap_.ranks.end(block_);
  while (true) {
    for (; at_ + kWord <= piece_.end(); at_ += kWord) {
      std::uint64_t word;
      std::memcpy(&word, &piece_.bytes[at_ - piece_.address], kWord);
      const bool is_plain = leads_to(word, target);
      if (!is_plain && !leads_to(form.address(word), target)) continue;
      const WalkedEdge found{.target = target,
                             .offset = at_ - begin,
                             .inside = (is_plain ? word : form.address(word)) - heap_.ranks.begin(target)};
      // A word that is disguised may lead to a second block as it is.
      if (form == PointerForm() || edge_ == end_ || heap_.graph.target(edge_) == target) at_ += kWord;
      return found;
    }
    if (piece_.next >= end) return WalkedEdge{.target = target};
    piece_ = cursor_.next_piece(piece_.next, end);
    if (piece_.bytes.empty()) piece_.next = end; // no more of the block can be read
    at_ = (piece_.address + kWord - 1) / kWord * kWord;
  }
}

} // namespace heaptape
