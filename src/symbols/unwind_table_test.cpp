#include "symbols/unwind_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/byte_cursor.h"
#include "symbols/unwind_expression.h"

namespace heaptape {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::uint64_t kSection = 0x5000;

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// Puts an entry's length in front of it, and fills it up as compilers do.
void append_entry(Bytes& section, Bytes body) {
  while (body.size() % 4 != 0) body.push_back(std::byte{0});
  ByteWriter writer(section);
  writer.u32(static_cast<std::uint32_t>(body.size()));
  writer.bytes(body);
}

// A common part: CFA = rsp + 8, the return address below it. Then one function.
Bytes eh_frame(std::uint64_t begin, std::uint32_t size, const Bytes& instructions, bool signal_frame = false) {
  Bytes section;
  Bytes common = bytes_of({0, 0, 0, 0, /*version*/ 1, 'z', 'R'});
  if (signal_frame) common.push_back(std::byte{'S'});
  const Bytes rest = bytes_of({0, /*code alignment*/ 1, /*data alignment -8*/ 0x78, /*return address*/ 16, 1, 0x1b,
                               /*def_cfa rsp 8*/ 0x0c, 7, 8, /*offset 16, 1*/ 0x90, 1});
  common.insert(common.end(), rest.begin(), rest.end());
  append_entry(section, common);
  Bytes body;
  ByteWriter writer(body);
  const std::uint64_t body_at = section.size() + 4;
  writer.u32(static_cast<std::uint32_t>(body_at));
  writer.u32(static_cast<std::uint32_t>(begin - (kSection + body_at + 4)));
  writer.u32(size);
  writer.u8(0);
  writer.bytes(instructions);
  append_entry(section, body);
  ByteWriter(section).u32(0);
  return section;
}

UnwindTable table_of(const Bytes& section) {
  UnwindTable table;
  table.add(UnwindTable::Kind::EhFrame, section, kSection);
  return table;
}

// push %rbp (1 byte); mov %rsp, %rbp (3 bytes); …
const Bytes kWithFramePointer = bytes_of({0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6});

TEST(UnwindTable, ARowHoldsFromItsInstructionToTheNext) {
  const Bytes section = eh_frame(0x1000, 0x40, kWithFramePointer);
  const UnwindTable table = table_of(section);
  const auto at_start = table.find(0x1000), pushed = table.find(0x1001), moved = table.find(0x103f);
  ASSERT_TRUE(at_start && pushed && moved);
  EXPECT_EQ(at_start->cfa_register, kUnwindRsp);
  EXPECT_EQ(at_start->cfa_offset, 8);
  EXPECT_EQ(at_start->registers[kUnwindRbp].from, RegisterFrom::Same);
  EXPECT_EQ(pushed->cfa_offset, 16);
  EXPECT_EQ(pushed->registers[kUnwindRbp].from, RegisterFrom::Saved);
  EXPECT_EQ(pushed->registers[kUnwindRbp].value, -16);
  EXPECT_EQ(moved->cfa_register, kUnwindRbp);
  EXPECT_EQ(moved->registers[kUnwindReturn].value, -8);
  EXPECT_FALSE(moved->signal_frame);
}

TEST(UnwindTable, NothingIsSaidOfAddressesOutsideOfFunctions) {
  const Bytes section = eh_frame(0x1000, 0x40, kWithFramePointer);
  const UnwindTable table = table_of(section);
  EXPECT_FALSE(table.find(0xfff));
  EXPECT_FALSE(table.find(0x1040));
}

TEST(UnwindTable, AHandlersReturnIsKnownToBeOne) {
  const Bytes section = eh_frame(0x1000, 9, bytes_of({0x0f, 3, 0x77, 0xa0, 1}), true); // CFA: breg7 + 160
  const UnwindTable table = table_of(section);
  const auto row = table.find(0x1000);
  ASSERT_TRUE(row);
  EXPECT_TRUE(row->signal_frame);
  std::vector<std::uint64_t> registers(kUnwindRegisters);
  registers[kUnwindRsp] = 0x8000;
  const ReadWord no_memory = [](std::uint64_t) { return std::nullopt; };
  EXPECT_EQ(evaluate_expression(row->cfa_expression, registers, std::nullopt, no_memory), 0x80a0U);
}

TEST(UnwindTable, DebugFrameCountsFromItsBeginAndNamesWholeAddresses) {
  Bytes section;
  append_entry(section,
               bytes_of({0xff, 0xff, 0xff, 0xff, /*version*/ 4, 0, /*address bytes*/ 8, 0, 1, 0x78, 16, 0x0c, 7, 8}));
  Bytes body;
  ByteWriter writer(body);
  writer.u32(0); // the common part's offset
  writer.u64(0x40'0000);
  writer.u64(0x10);
  writer.bytes(bytes_of({0x44, 0x0e, 32}));
  append_entry(section, body);
  UnwindTable table;
  table.add(UnwindTable::Kind::DebugFrame, section, 0);
  EXPECT_EQ(table.find(0x40'0003)->cfa_offset, 8);
  EXPECT_EQ(table.find(0x40'0004)->cfa_offset, 32);
  EXPECT_FALSE(table.find(0x40'0010));
}

TEST(UnwindTable, WhatIsRememberedComesBack) {
  // def_cfa_offset 32; advance 4; remember; def_cfa_offset 8; advance 4; restore
  const Bytes section = eh_frame(0x1000, 0x40, bytes_of({0x0e, 32, 0x44, 0x0a, 0x0e, 8, 0x44, 0x0b}));
  const UnwindTable table = table_of(section);
  EXPECT_EQ(table.find(0x1000)->cfa_offset, 32);
  EXPECT_EQ(table.find(0x1004)->cfa_offset, 8);
  EXPECT_EQ(table.find(0x1008)->cfa_offset, 32);
}

TEST(UnwindTable, InstructionsThatMakeNoSenseSayNothing) {
  const Bytes unknown = eh_frame(0x1000, 0x40, bytes_of({0x3f})), unbalanced = eh_frame(0x1000, 0x40, bytes_of({0x0b}));
  EXPECT_FALSE(table_of(unknown).find(0x1010));
  EXPECT_FALSE(table_of(unbalanced).find(0x1010));
  const Bytes section = eh_frame(0x1000, 0x40, kWithFramePointer);
  for (std::size_t size = 0; size < section.size(); ++size) {
    const Bytes cut(section.begin(), section.begin() + static_cast<std::ptrdiff_t>(size));
    (void)table_of(cut).find(0x1010);
  }
}

TEST(UnwindExpression, TheRowsOfProcedureLinkageTablesAreWorkedOut) {
  // As linkers write it: rsp + 8 + ((rip & 15) >= 11) << 3
  const Bytes expression = bytes_of({0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
  std::vector<std::uint64_t> registers(kUnwindRegisters);
  registers[kUnwindRsp] = 0x7000;
  registers[kUnwindReturn] = 0x102a;
  const ReadWord no_memory = [](std::uint64_t) { return std::nullopt; };
  EXPECT_EQ(evaluate_expression(expression, registers, std::nullopt, no_memory), 0x7008U);
  registers[kUnwindReturn] = 0x102b;
  EXPECT_EQ(evaluate_expression(expression, registers, std::nullopt, no_memory), 0x7010U);
}

TEST(UnwindExpression, MemoryThatIsNotKnownAndLoopsWithoutEndGiveNothing) {
  const std::vector<std::uint64_t> registers(kUnwindRegisters);
  const ReadWord no_memory = [](std::uint64_t) { return std::nullopt; };
  EXPECT_FALSE(evaluate_expression(bytes_of({0x30, 0x06}), registers, std::nullopt, no_memory));
  EXPECT_FALSE(evaluate_expression(bytes_of({0x2f, 0xfd, 0xff}), registers, 1, no_memory));
  EXPECT_FALSE(evaluate_expression({}, registers, std::nullopt, no_memory));
  const ReadWord memory = [](std::uint64_t address) { return address + 1; };
  EXPECT_EQ(evaluate_expression(bytes_of({0x06}), registers, 41, memory), 42U);
}

} // namespace
} // namespace heaptape
