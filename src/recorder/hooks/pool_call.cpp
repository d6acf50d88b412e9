// What stands in the way of a call to a pool function (--alloc-fn, --free-fn): stubs, each for one definition of one function. They call the real function with the arguments
// that came, whatever these are (six integers, eight floating-point numbers, four words on the stack), and hand on whatever it returns.
#include <cstddef>
#include <cstdint>

#include "recorder/core/recorder.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/pool_functions.h"
#include "recorder/hooks/pool_names.h"

extern "C" {
[[gnu::visibility("hidden")]] extern const char heaptape_stubs[], heaptape_stubs_end[];
constinit std::uint64_t heaptape_behind_dlopen = 0, heaptape_behind_dlsym = 0, heaptape_behind_dlvsym = 0;
}

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kStubBytes = 16;
constexpr std::uint64_t kLargest = wire::kMaxSize;

PoolCall& call_of(std::uint64_t stub) noexcept {
  return g_pool_calls[(stub - as_address(heaptape_stubs)) / kStubBytes];
}

// `frame` is the stub's: its caller's frame pointer, then the return address.
Frame caller_of(const std::uint64_t* frame) noexcept { return {frame[1], as_address(frame + 1), frame[0]}; }

// An argument of 32 bits leaves the upper half of its register to chance; more than any size means that.
std::uint64_t size_in(std::uint64_t argument) noexcept {
  return argument <= kLargest ? argument : argument & 0xffff'ffff;
}

} // namespace

std::uint64_t stub_address(std::size_t index) noexcept { return as_address(heaptape_stubs) + index * kStubBytes; }

bool is_stub(std::uint64_t address) noexcept {
  return address >= as_address(heaptape_stubs) && address < as_address(heaptape_stubs_end);
}

// Before the call; the result is the real function.
extern "C" [[gnu::used, gnu::visibility("hidden")]] std::uint64_t
heaptape_pool_call_begin(std::uint64_t stub, const std::uint64_t* arguments, const std::uint64_t* frame) {
  PoolCall& call = call_of(stub);
  const unsigned freed = call.function->freed_argument;
  if (freed != 0 && arguments[freed - 1] != 0 && is_recording())
    record_pool_free(0, arguments[freed - 1], caller_of(frame));
  return call.real.load(std::memory_order_acquire); // pairs with stub_for()
}

// After it.
extern "C" [[gnu::used, gnu::visibility("hidden")]] void heaptape_pool_call_end(std::uint64_t stub,
                                                                                const std::uint64_t* arguments,
                                                                                const std::uint64_t* frame,
                                                                                std::uint64_t result) {
  PoolFunction& function = *call_of(stub).function;
  if (function.pool == nullptr || result == 0 || !is_recording()) return;
  const Frame site = caller_of(frame);
  std::uint64_t size = function.size_argument != 0 ? size_in(arguments[function.size_argument - 1]) : 0;
  if (function.count_argument != 0 &&
      __builtin_mul_overflow(size, size_in(arguments[function.count_argument - 1]), &size))
    size = kLargest;
  std::uint32_t pool = function.pool_number.load(std::memory_order_relaxed);
  if (pool == 0) {
    pool = pool_number(function.pool, wire::PoolNameKind::Function, site);
    function.pool_number.store(pool, std::memory_order_relaxed);
  }
  record_pool_block(pool, result, size < kLargest ? size : kLargest, site);
}

} // namespace heaptape::recorder

// The saved registers of a call, below its frame pointer: at -64 the six integer arguments, then rax (how many floating-point arguments) and r10; at -72 the
// stub; from -208 xmm0 .. xmm7, and after the call what it returned.
asm(R"(
  .text
  .balign 16
  .hidden heaptape_stubs
  .globl heaptape_stubs
heaptape_stubs:
  .cfi_startproc
  .rept 64
  .balign 16
0:
  leaq 0b(%rip), %r11
  jmp heaptape_pool_call
  .endr
  .balign 16
  .cfi_endproc
  .hidden heaptape_stubs_end
  .globl heaptape_stubs_end
heaptape_stubs_end:

  .type heaptape_pool_call, @function
heaptape_pool_call:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  subq $208, %rsp
  movq %rdi, -64(%rbp)
  movq %rsi, -56(%rbp)
  movq %rdx, -48(%rbp)
  movq %rcx, -40(%rbp)
  movq %r8, -32(%rbp)
  movq %r9, -24(%rbp)
  movq %rax, -16(%rbp)
  movq %r10, -8(%rbp)
  movq %r11, -72(%rbp)
  movups %xmm0, -208(%rbp)
  movups %xmm1, -192(%rbp)
  movups %xmm2, -176(%rbp)
  movups %xmm3, -160(%rbp)
  movups %xmm4, -144(%rbp)
  movups %xmm5, -128(%rbp)
  movups %xmm6, -112(%rbp)
  movups %xmm7, -96(%rbp)
  movq %r11, %rdi
  leaq -64(%rbp), %rsi
  movq %rbp, %rdx
  call heaptape_pool_call_begin
  movq %rax, %r11
  movq -64(%rbp), %rdi
  movq -56(%rbp), %rsi
  movq -48(%rbp), %rdx
  movq -40(%rbp), %rcx
  movq -32(%rbp), %r8
  movq -24(%rbp), %r9
  movq -16(%rbp), %rax
  movq -8(%rbp), %r10
  movups -208(%rbp), %xmm0
  movups -192(%rbp), %xmm1
  movups -176(%rbp), %xmm2
  movups -160(%rbp), %xmm3
  movups -144(%rbp), %xmm4
  movups -128(%rbp), %xmm5
  movups -112(%rbp), %xmm6
  movups -96(%rbp), %xmm7
  pushq 40(%rbp)
  pushq 32(%rbp)
  pushq 24(%rbp)
  pushq 16(%rbp)
  call *%r11
  addq $32, %rsp
  movq %rax, -208(%rbp)
  movq %rdx, -200(%rbp)
  movups %xmm0, -192(%rbp)
  movups %xmm1, -176(%rbp)
  movq -72(%rbp), %rdi
  leaq -64(%rbp), %rsi
  movq %rbp, %rdx
  movq %rax, %rcx
  call heaptape_pool_call_end
  movq -208(%rbp), %rax
  movq -200(%rbp), %rdx
  movups -192(%rbp), %xmm0
  movups -176(%rbp), %xmm1
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size heaptape_pool_call, .-heaptape_pool_call
)");

// The loader's functions look at who called them, so these go on by a jump, with every argument in its place.
#define HT_LOADER_STUB(name)                                                                                           \
  asm(".text\n\t.hidden heaptape_stub_" name "\n\t.globl heaptape_stub_" name "\n\t.type heaptape_stub_" name          \
      ", @function\nheaptape_stub_" name ":\n\t.cfi_startproc\n\t"                                                     \
      "pushq %rdi\n\t.cfi_adjust_cfa_offset 8\n\tpushq %rsi\n\t.cfi_adjust_cfa_offset 8\n\t"                           \
      "pushq %rdx\n\t.cfi_adjust_cfa_offset 8\n\tcall heaptape_look_for_objects\n\t"                                   \
      "popq %rdx\n\t.cfi_adjust_cfa_offset -8\n\tpopq %rsi\n\t.cfi_adjust_cfa_offset -8\n\t"                           \
      "popq %rdi\n\t.cfi_adjust_cfa_offset -8\n\tjmp *heaptape_behind_" name "(%rip)\n\t.cfi_endproc\n\t"              \
      ".size heaptape_stub_" name ", .-heaptape_stub_" name "\n")
HT_LOADER_STUB("dlopen");
HT_LOADER_STUB("dlsym");
HT_LOADER_STUB("dlvsym");
