#include "report/crash/fault.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace heaptape {
namespace {

using enum wire::AskerRegister;

void set(Crash& crash, wire::AskerRegister which, std::uint64_t value) {
  crash.registers[static_cast<std::size_t>(which)] = value;
}

// mov 0x18(%rdi), %rax
Crash load_through(std::uint64_t pointer) {
  Crash crash{.signal = SIGSEGV, .bytes = "\x48\x8b\x47\x18"};
  set(crash, Rdi, pointer);
  set(crash, Rip, 0x401000);
  set(crash, Rsp, 0x7ffc'0000'0000);
  return crash;
}

TEST(Fault, APageFaultSaysWhatWasWantedAndHow) {
  Crash crash = load_through(0);
  crash.code = SEGV_MAPERR;
  crash.address = 0x18;
  crash.error = 4;
  crash.trap = 14;
  const Fault fault = fault_of(crash, {});
  EXPECT_EQ(fault.kind, FaultKind::Memory);
  EXPECT_EQ(fault.access, AccessKind::Read);
  EXPECT_EQ(fault.address, 0x18u);
  EXPECT_EQ(fault.bytes, 8u);
  EXPECT_FALSE(fault.from_operand);
  ASSERT_TRUE(fault.operand);
  EXPECT_EQ(operand_text(*fault.operand), "rdi + 0x18");
}

TEST(Fault, WhereTheKernelHasNoAddressTheInstructionDoes) {
  Crash crash = load_through(0xbdbd'bdbd'bdbd'bdbd);
  crash.code = SI_KERNEL;
  crash.trap = 13;
  const Fault fault = fault_of(crash, {});
  EXPECT_EQ(fault.address, 0xbdbd'bdbd'bdbd'bdd5u);
  EXPECT_TRUE(fault.from_operand);
}

TEST(Fault, ACallThroughAPatternIsAWildJump) {
  Crash crash = load_through(0);
  crash.bytes = "\xff\xd0"; // call *%rax
  crash.code = SI_KERNEL;
  crash.trap = 13;
  set(crash, Rax, 0xdddd'dddd'dddd'dddd);
  const Fault fault = fault_of(crash, {});
  EXPECT_EQ(fault.kind, FaultKind::WildJump);
  EXPECT_EQ(fault.address, 0xdddd'dddd'dddd'ddddu);
}

TEST(Fault, BesideTheStackPointerTheStackHasOverflown) {
  Crash crash{.signal = SIGSEGV, .code = SEGV_MAPERR, .thread = ThreadId(1), .bytes = "\x55"}; // push %rbp
  crash.address = 0x7ffc'0000'0ff8;
  crash.error = 6;
  crash.trap = 14;
  set(crash, Rsp, 0x7ffc'0000'1000);
  std::vector<Thread> threads(1);
  threads[0].id = ThreadId(1);
  threads[0].stack_top = 0x7ffc'0080'0000;
  const Fault fault = fault_of(crash, threads);
  EXPECT_EQ(fault.kind, FaultKind::StackOverflow);
  EXPECT_EQ(fault.stack_bytes, 0x7ff000u);
  EXPECT_EQ(fault_of(crash, {}).kind, FaultKind::Memory) << "the thread's stack is not known";
}

TEST(Fault, ASignalThatWasSentHasNoAddressButASender) {
  Crash crash{.signal = SIGSEGV, .code = SI_USER, .address = 1000ULL << 32 | 4711};
  const Fault fault = fault_of(crash, {});
  EXPECT_EQ(fault.kind, FaultKind::Sent);
  EXPECT_EQ(fault.sender, 4711u);
  EXPECT_FALSE(fault.address);
  crash.signal = SIGABRT;
  crash.code = SI_TKILL;
  EXPECT_EQ(fault_of(crash, {}).kind, FaultKind::Abort);
}

TEST(Fault, OtherSignalsSaySo) {
  EXPECT_EQ(fault_of({.signal = SIGFPE, .code = FPE_INTDIV}, {}).kind, FaultKind::Division);
  EXPECT_EQ(fault_of({.signal = SIGILL, .code = ILL_ILLOPN}, {}).kind, FaultKind::IllegalInstruction);
  EXPECT_EQ(fault_of({.signal = SIGBUS, .code = BUS_ADRERR, .address = 0x1000}, {}).kind, FaultKind::FileEnd);
  EXPECT_EQ(fault_of({.signal = 200, .code = 77}, {}).kind, FaultKind::Other);
}

} // namespace
} // namespace heaptape
