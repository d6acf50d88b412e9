// The pages of a tape.
#pragma once

#include "analysis/memory/page_source.h"
#include "tape/reader.h"

namespace heaptape {

// The tape must outlive it.
class TapePages : public PageSource {
public:
  explicit TapePages(const TapeReader& tape) : tape_(tape) {}
  std::uint64_t end() const override;
  bool unpack(std::uint64_t page, PageChunk& chunk) const override;

private:
  const TapeReader& tape_;
};

} // namespace heaptape
