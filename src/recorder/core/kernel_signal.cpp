#include "recorder/core/kernel_signal.h"

// Where a handler returns to. Debuggers and unwinders know it by these very bytes and by having no unwind information, and so must the byte
// in front, which they look at.
asm(".text\n\t.p2align 4\n\t.hidden heaptape_return_from_signal\n\t.globl heaptape_return_from_signal\n\tnop\n\t.type "
    "heaptape_return_from_signal, @function\n"
    "heaptape_return_from_signal:\n\t"
    "movq $15, %rax\n\tsyscall\n\t" // rt_sigreturn
    ".size heaptape_return_from_signal, .-heaptape_return_from_signal\n");
