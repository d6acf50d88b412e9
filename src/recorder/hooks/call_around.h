// For hooks that leave every register alone and jump on to the real function: what that sees is the program's own call, its return address too.
#pragma once

// Saves and restores what a call may clobber of the six arguments, around a call into us.
#define HT_CALL_AROUND(function)                                                                                       \
  "pushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %rcx\n\tpushq %r8\n\tpushq %r9\n\tsubq $8, %rsp\n\t"                \
  "call " function "\n\t"                                                                                              \
  "addq $8, %rsp\n\tpopq %r9\n\tpopq %r8\n\tpopq %rcx\n\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n\t"
