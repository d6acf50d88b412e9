// The code addresses of a heaptrack file: which module each lies in and what it is called. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "tape/contents.h"
#include "tape/symbols.h"

namespace heaptape {

class HeaptrackPlaces {
public:
  struct Frame {
    std::uint64_t function = 0, file = 0; // numbers of texts; 0: none
    std::uint32_t line = 0;
  };

  // Texts and addresses are numbered from 1 in the order they are added.
  void add_text(std::string text) { texts_.push_back(std::move(text)); }
  bool is_text(std::uint64_t number) const { return number <= texts_.size(); } // or 0, none
  // `call` is the address of the call, `frames` are innermost first. The text numbers are good ones.
  void add_address(std::uint64_t call, std::uint64_t module, std::vector<Frame> frames);
  bool is_address(std::uint64_t number) const { return number <= places_.size(); } // or 0, none
  // As a node of a stack on a tape has it: where the call returns to.
  std::uint64_t pc_of(std::uint64_t address_number) const;

  // heaptrack does not record where a module begins and ends. One entry for each stretch of addresses that belongs to
  // one.
  std::vector<Module> modules() const;
  Symbols symbols() const;

private:
  struct Place {
    std::uint64_t pc = 0;
    std::uint64_t module = 0;
    std::vector<Frame> frames;
  };

  const std::string& text(std::uint64_t number) const;

  std::vector<std::string> texts_;
  std::vector<Place> places_;
  std::unordered_set<std::uint64_t> used_pcs_;
  std::uint64_t next_free_pc_ = std::uint64_t{0x7000} << 48; // where no code ever is
};

} // namespace heaptape
