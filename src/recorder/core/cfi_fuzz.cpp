// Unwind instructions and expressions from arbitrary bytes: no crash, no endless loop.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "recorder/core/cfi.h"
#include "recorder/core/expression.h"

namespace {

bool read_word(void*, std::uint64_t address, std::uint64_t& word) noexcept {
  word = address * 3;
  return address % 5 != 0;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heaptape::recorder;
  if (size < 4) return 0;
  CfiContext context;
  context.code_alignment = data[0];
  context.data_alignment = static_cast<std::int8_t>(data[1]);
  context.pointer_encoding = data[2];
  CfiRow row;
  const CfiRow initial;
  (void)run_instructions(context, data + 3, data + size, 0x401000, 0x401000 + data[3], row, initial);

  std::vector<std::uint8_t> expression(data, data + size);
  if (expression.size() > 120) expression.resize(120);
  expression.insert(expression.begin(), static_cast<std::uint8_t>(expression.size()));
  const std::uint64_t registers[kRegisters] = {1, 2, 3};
  std::uint64_t result = 0;
  (void)evaluate(expression.data(), registers, true, 0x7000, read_word, nullptr, result);
  return 0;
}
