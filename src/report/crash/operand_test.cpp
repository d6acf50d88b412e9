#include "report/crash/operand.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptape {
namespace {

using enum wire::AskerRegister;
using Code = std::vector<std::uint8_t>;

struct Row {
  const char* text; // as an assembler writes it
  Code code;
  MemoryOperand operand;
  unsigned bytes;
};

// Encodings as GNU as makes them.
const std::vector<Row>& rows() {
  static const std::vector<Row> kRows{
      {"mov 0x18(%rdi), %rax", {0x48, 0x8b, 0x47, 0x18}, {.base = Rdi, .displacement = 0x18}, 8},
      {"mov (%rax), %eax", {0x8b, 0x00}, {.base = Rax}, 4},
      {"mov %al, (%r8)", {0x41, 0x88, 0x00}, {.base = R8}, 1},
      {"mov %ax, -8(%rbp)", {0x66, 0x89, 0x45, 0xf8}, {.base = Rbp, .displacement = -8}, 2},
      {"mov (%rsp), %rbx", {0x48, 0x8b, 0x1c, 0x24}, {.base = Rsp}, 8},
      {"mov 0x10(%r12), %rcx", {0x49, 0x8b, 0x4c, 0x24, 0x10}, {.base = R12, .displacement = 0x10}, 8},
      {"mov 0(%r13), %rcx", {0x49, 0x8b, 0x4d, 0x00}, {.base = R13}, 8},
      {"mov 8(%rax,%rcx,4), %edx",
       {0x8b, 0x54, 0x88, 0x08},
       {.base = Rax, .index = Rcx, .scale = 4, .displacement = 8},
       4},
      {"mov (%r9,%r10,8), %r11", {0x4f, 0x8b, 0x1c, 0xd1}, {.base = R9, .index = R10, .scale = 8}, 8},
      {"mov 0x0(,%rax,8), %rax", {0x48, 0x8b, 0x04, 0xc5, 0, 0, 0, 0}, {.index = Rax, .scale = 8}, 8},
      {"mov 0x1000, %eax", {0x8b, 0x04, 0x25, 0x00, 0x10, 0, 0}, {.displacement = 0x1000}, 4},
      {"mov 0x7a1(%rip), %rax",
       {0x48, 0x8b, 0x05, 0xa1, 0x07, 0, 0},
       {.displacement = 0x7a1, .relative_to_rip = true},
       8},
      {"movb $1, 0x7a1(%rip)",
       {0xc6, 0x05, 0xa1, 0x07, 0, 0, 0x01},
       {.displacement = 0x7a1, .relative_to_rip = true},
       1},
      {"movl $0, -0x80(%rsi)", {0xc7, 0x46, 0x80, 0, 0, 0, 0}, {.base = Rsi, .displacement = -0x80}, 4},
      {"movl $0, 0x12345678(%rsi)",
       {0xc7, 0x86, 0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0},
       {.base = Rsi, .displacement = 0x12345678},
       4},
      {"mov (%eax), %ebx", {0x67, 0x8b, 0x18}, {.base = Rax, .short_address = true}, 4},
      {"mov %fs:0x28, %rax", {0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}, {.displacement = 0x28, .segment = true}, 8},
      {"movzbl (%rdx), %eax", {0x0f, 0xb6, 0x02}, {.base = Rdx}, 1},
      {"movswl 2(%rdx), %eax", {0x0f, 0xbf, 0x42, 0x02}, {.base = Rdx, .displacement = 2}, 2},
      {"movslq (%rdx), %rax", {0x48, 0x63, 0x02}, {.base = Rdx}, 4},
      {"lock cmpxchg %ecx, (%rdx)", {0xf0, 0x0f, 0xb1, 0x0a}, {.base = Rdx}, 4},
      {"lock incl 4(%rbx)", {0xf0, 0xff, 0x43, 0x04}, {.base = Rbx, .displacement = 4}, 4},
      {"addl $1, 4(%rbx)", {0x83, 0x43, 0x04, 0x01}, {.base = Rbx, .displacement = 4}, 4},
      {"cmpb $0, (%rdi)", {0x80, 0x3f, 0x00}, {.base = Rdi}, 1},
      {"testl $1, (%rdi)", {0xf7, 0x07, 1, 0, 0, 0}, {.base = Rdi}, 4},
      {"push 8(%rax)", {0xff, 0x70, 0x08}, {.base = Rax, .displacement = 8}, 8},
      {"call *0x30(%rax)", {0xff, 0x50, 0x30}, {.base = Rax, .displacement = 0x30}, 8},
      {"jmp *(%rdi,%rax,8)", {0xff, 0x24, 0xc7}, {.base = Rdi, .index = Rax, .scale = 8}, 8},
      {"push %rbp", {0x55}, {.base = Rsp, .displacement = -8}, 8},
      {"call 0x1234", {0xe8, 0x34, 0x12, 0, 0}, {.base = Rsp, .displacement = -8}, 8},
      {"ret", {0xc3}, {.base = Rsp}, 8},
      {"rep movsb", {0xf3, 0xa4}, {.base = Rdi}, 1},
      {"rep stos %rax", {0xf3, 0x48, 0xab}, {.base = Rdi}, 8},
      {"movups 8(%rax,%rcx,4), %xmm0",
       {0x0f, 0x10, 0x44, 0x88, 0x08},
       {.base = Rax, .index = Rcx, .scale = 4, .displacement = 8},
       16},
      {"movss (%rdi), %xmm0", {0xf3, 0x0f, 0x10, 0x07}, {.base = Rdi}, 4},
      {"movsd (%rdi), %xmm0", {0xf2, 0x0f, 0x10, 0x07}, {.base = Rdi}, 8},
      {"movaps %xmm0, 0x10(%rsp)", {0x0f, 0x29, 0x44, 0x24, 0x10}, {.base = Rsp, .displacement = 0x10}, 16},
      {"movdqa (%rsi), %xmm1", {0x66, 0x0f, 0x6f, 0x0e}, {.base = Rsi}, 16},
      {"vmovdqu (%rsi), %ymm0", {0xc5, 0xfe, 0x6f, 0x06}, {.base = Rsi}, 32},
      {"vmovdqu 0x20(%r9), %ymm0", {0xc4, 0xc1, 0x7e, 0x6f, 0x41, 0x20}, {.base = R9, .displacement = 0x20}, 32},
      {"vmovss (%rax), %xmm0", {0xc5, 0xfa, 0x10, 0x00}, {.base = Rax}, 4},
      {"vmovdqu64 0x40(%rsi), %zmm16",
       {0x62, 0xe1, 0xfe, 0x48, 0x6f, 0x46, 0x01},
       {.base = Rsi, .displacement = 0x40},
       64},
      {"flds (%rax)", {0xd9, 0x00}, {.base = Rax}, 0},
  };
  return kRows;
}

TEST(Operand, IsFoundInEveryEncoding) {
  for (const Row& row : rows()) {
    const std::optional<Instruction> found = decode_instruction(row.code);
    ASSERT_TRUE(found) << row.text;
    EXPECT_EQ(found->length, row.code.size()) << row.text;
    ASSERT_TRUE(found->operands[0]) << row.text;
    EXPECT_EQ(*found->operands[0], row.operand) << row.text;
    EXPECT_EQ(found->bytes, row.bytes) << row.text;
  }
}

TEST(Operand, WhatComesBehindTheInstructionDoesNotMatter) {
  for (const Row& row : rows()) {
    Code code = row.code;
    code.resize(16, 0xcc);
    const std::optional<Instruction> found = decode_instruction(code);
    ASSERT_TRUE(found) << row.text;
    EXPECT_EQ(found->length, row.code.size()) << row.text;
  }
}

TEST(Operand, CutInstructionsAreNotDecoded) {
  for (const Row& row : rows()) {
    for (std::size_t size = 0; size < row.code.size(); ++size) {
      const auto found = decode_instruction(std::span(row.code).first(size));
      EXPECT_LE(found ? found->length : 0, size) << row.text; // never what is not there
    }
  }
}

TEST(Operand, RegistersAreNoMemory) {
  const std::optional<Instruction> found = decode_instruction(Code{0x48, 0x89, 0xc3}); // mov %rax, %rbx
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->operands[0]);
  const std::optional<Instruction> lea = decode_instruction(Code{0x48, 0x8d, 0x47, 0x08}); // lea 8(%rdi), %rax
  ASSERT_TRUE(lea);
  EXPECT_FALSE(lea->operands[0]);
}

TEST(Operand, StringInstructionsHaveTwo) {
  const std::optional<Instruction> found = decode_instruction(Code{0xf3, 0xa4});
  ASSERT_TRUE(found && found->operands[1]);
  EXPECT_EQ(found->operands[1]->base, Rsi);
  EXPECT_TRUE(found->repeats);
}

TEST(Operand, CallsThroughRegistersAndDivisionsSayWhich) {
  const std::optional<Instruction> call = decode_instruction(Code{0xff, 0xd0}); // call *%rax
  ASSERT_TRUE(call);
  EXPECT_EQ(call->operation, Operation::Call);
  EXPECT_EQ(call->target, Rax);
  const std::optional<Instruction> divide = decode_instruction(Code{0x41, 0xf7, 0xf9}); // idiv %r9d
  ASSERT_TRUE(divide);
  EXPECT_EQ(divide->operation, Operation::Divide);
  EXPECT_EQ(divide->target, R9);
  EXPECT_EQ(decode_instruction(Code{0x0f, 0x0b})->operation, Operation::Illegal);
  EXPECT_EQ(decode_instruction(Code{0xcc})->operation, Operation::Trap);
}

TEST(Operand, AddressesAreWorkedOut) {
  std::array<std::uint64_t, wire::kAskerRegisters> registers{};
  registers[static_cast<std::size_t>(Rax)] = 0x1000;
  registers[static_cast<std::size_t>(Rcx)] = ~std::uint64_t{0}; // -1
  EXPECT_EQ(address_of({.base = Rax, .index = Rcx, .scale = 8, .displacement = 0x10}, registers, 0), 0x1008u);
  EXPECT_EQ(address_of({.displacement = -16, .relative_to_rip = true}, registers, 0x2000), 0x1ff0u);
  EXPECT_EQ(address_of({.base = Rcx, .short_address = true}, registers, 0), 0xffff'ffffu);
  EXPECT_EQ(address_of({.segment = true}, registers, 0), std::nullopt);
}

} // namespace
} // namespace heaptape
