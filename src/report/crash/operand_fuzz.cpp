// Any bytes as an instruction: no crash, never longer than what is there, and what comes out can be told.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "report/crash/fault.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heaptape;
  const std::optional<Instruction> found = decode_instruction({data, size});
  if (!found) return 0;
  HT_CHECK(found->length >= 1 && found->length <= size && found->length <= 15);
  const std::array<std::uint64_t, wire::kAskerRegisters> registers{};
  for (const auto& operand : found->operands) {
    if (!operand) continue;
    HT_CHECK(operand->scale == 1 || operand->scale == 2 || operand->scale == 4 || operand->scale == 8);
    HT_CHECK(!operand_text(*operand).empty());
    (void)address_of(*operand, registers, found->length);
  }
  return 0;
}
