// Any bytes as unwind tables, and as the expressions in them.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "symbols/unwind_expression.h"
#include "symbols/unwind_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heaptape;
  const ByteSpan bytes = std::as_bytes(std::span(data, size));
  UnwindTable table;
  table.add(UnwindTable::Kind::EhFrame, bytes, 0x1000);
  table.add(UnwindTable::Kind::DebugFrame, bytes, 0);
  const std::vector<std::uint64_t> registers(kUnwindRegisters, 0x1000);
  const ReadWord read = [](std::uint64_t address) {
    return address % 3 == 0 ? std::optional<std::uint64_t>() : address ^ 0xff;
  };
  const auto go_through = [&](std::uint64_t address) {
    const std::optional<UnwindRow> row = table.find(address);
    if (!row) return;
    (void)evaluate_expression(row->cfa_expression, registers, std::nullopt, read);
    for (const RegisterRule& rule : row->registers) (void)evaluate_expression(rule.expression, registers, 0x2000, read);
  };
  for (std::uint64_t address = 0; address < 0x2000; address += 0x101) go_through(address);
  // Addresses that the bytes name.
  for (std::size_t at = 0; at + 8 <= size && at < 256; at += 4) {
    std::uint64_t address = 0;
    for (std::size_t i = 8; i-- > 0;) address = address << 8 | data[at + i];
    go_through(address);
  }
  (void)evaluate_expression(bytes, registers, 0x3000, read);
  return 0;
}
