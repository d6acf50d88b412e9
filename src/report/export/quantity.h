// Which of a stack's costs an export is about.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/index/findings.h"
#include "report/export/export_input.h"

namespace heaptape {

enum class Quantity : std::uint8_t { Peak, Live, Allocated, Temporary };
inline constexpr std::array kQuantities{Quantity::Peak, Quantity::Live, Quantity::Allocated, Quantity::Temporary};

constexpr Cost cost_of(const Figures& figures, Quantity quantity) {
  switch (quantity) {
  case Quantity::Peak: return figures.at_peak;
  case Quantity::Live: return figures.live();
  case Quantity::Allocated: return figures.allocated;
  case Quantity::Temporary: return figures.temporary;
  }
  return {};
}

// A stack's cost, by id of the stack.
struct CostOfStack {
  StackId stack;
  Cost cost;
};
// Those that are not 0.
std::vector<CostOfStack> costs_of(const Findings& findings, Quantity quantity);
// What was live after this event; needs no more than one seek.
std::vector<CostOfStack> costs_at(const ExportInput& input, std::uint64_t event);
// What was live after an event minus what was live after an earlier one: costs modulo 2^64, without those that are 0.
std::vector<CostOfStack> change_between(const ExportInput& input, std::uint64_t earlier, std::uint64_t later);

} // namespace heaptape
