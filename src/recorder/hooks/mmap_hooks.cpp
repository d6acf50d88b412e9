// The program's own mappings, and what it does to code: generated, unloaded, sandboxed.
#include <sys/mman.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>

#include "recorder/core/cpu_profile.h"
#include "recorder/core/events.h"
#include "recorder/core/modules.h"
#include "recorder/core/readable.h"
#include "recorder/core/recorder.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/real.h"

using namespace heaptape;
using namespace heaptape::recorder;

namespace {

constexpr int kSetSeccomp = 22, kSetTsc = 26, kSeccompCall = 317;

[[gnu::always_inline]] inline void* map(void* at, std::size_t size, int protection, int flags, int fd, off_t offset,
                                        const Frame& site) {
  void* mapping = g_real.mmap(at, size, protection, flags, fd, offset);
  if (mapping == MAP_FAILED) return mapping;
  if ((protection & PROT_EXEC) != 0 && is_attached()) note_executable(as_address(mapping), size);
  if (!is_recording()) return mapping;
  const std::uint64_t size_field = protection == PROT_NONE ? size | wire::kReservedBit : size;
  (void)record((flags & MAP_ANONYMOUS) != 0 ? EventKind::MmapAnonymous : EventKind::MmapFile, as_address(mapping),
               size_field, site, true);
  return mapping;
}

} // namespace

HT_HOOK void* mmap(void* at, std::size_t size, int protection, int flags, int fd, off_t offset) {
  return map(at, size, protection, flags, fd, offset, HT_CALL_SITE());
}

HT_HOOK void* mmap64(void* at, std::size_t size, int protection, int flags, int fd, off_t offset) {
  return map(at, size, protection, flags, fd, offset, HT_CALL_SITE());
}

HT_HOOK int munmap(void* at, std::size_t size) {
  // Recorded first, as a free is; the kernel refuses only misaligned or empty ranges, and those are told apart here.
  const bool valid = (as_address(at) & 4095) == 0 && size != 0;
  if (valid && is_recording()) (void)record(EventKind::Munmap, as_address(at), size, HT_CALL_SITE(), true);
  return g_real.munmap(at, size);
}

HT_HOOK void* mremap(void* old_at, std::size_t old_size, std::size_t size, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  void* target = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : nullptr;
  va_end(arguments);
  if (g_real.mremap == nullptr) find_real_functions();
  const bool begun =
      is_recording() && record(EventKind::MremapBegin, as_address(old_at), old_size, HT_CALL_SITE(), false);
  void* mapping = g_real.mremap(old_at, old_size, size, flags, target);
  if (begun) {
    if (mapping == MAP_FAILED) {
      (void)record(EventKind::MremapFailed, as_address(old_at), 0, HT_CALL_SITE(), false);
    } else {
      (void)record(EventKind::Mremap, as_address(mapping), size, HT_CALL_SITE(), true);
    }
  }
  return mapping;
}

HT_HOOK int mprotect(void* at, std::size_t size, int protection) {
  const int result = g_real.mprotect(at, size, protection);
  if (result == 0 && (protection & PROT_EXEC) != 0) note_executable(as_address(at), size);
  return result;
}

HT_HOOK int dlclose(void* handle) {
  if (g_real.dlclose == nullptr) find_real_functions();
  const int result = g_real.dlclose(handle);
  if (is_attached()) note_unloading();
  return result;
}

// prctl and syscall are only watched for the moment when the program puts a seccomp filter on itself. They take a variable
// number of arguments and may return twice (vfork), so ours leave every register alone and jump on.
extern "C" {
// With the arguments of prctl(PR_SET_SECCOMP or PR_SET_TSC, mode) or syscall(SYS_seccomp, operation).
[[gnu::used]] void heaptape_note_sandbox(int what, long mode) {
  constexpr long kStrictByPrctl = 1, kStrictBySeccomp = 0, kTscTraps = 2;
  if (what != kSetTsc) {
    stop_cpu_profile_for_sandbox(HT_CALL_SITE());
    enter_sandbox();
  }
  // Strict mode takes the TSC away as well.
  if ((what == kSetSeccomp && mode == kStrictByPrctl) || (what == kSeccompCall && mode == kStrictBySeccomp) ||
      (what == kSetTsc && mode == kTscTraps)) {
    freeze_clock();
  }
}
[[gnu::used]] void heaptape_find_real() { find_real_functions(); }
}

// Saves and restores what a call may clobber of the six arguments, around a call into us.
#define HT_CALL_AROUND(function)                                                                                       \
  "pushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %rcx\n\tpushq %r8\n\tpushq %r9\n\tsubq $8, %rsp\n\t"                \
  "call " function "\n\t"                                                                                              \
  "addq $8, %rsp\n\tpopq %r9\n\tpopq %r8\n\tpopq %rcx\n\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n\t"

// PR_SET_SECCOMP is 22, PR_SET_TSC is 26, the system call seccomp is 317.
asm(".text\n\t.globl prctl\n\t.type prctl, @function\n"
    "prctl:\n\t"
    "cmpl $22, %edi\n\tje 3f\n\tcmpl $26, %edi\n\tjne 1f\n3:\n\t" HT_CALL_AROUND(
        "heaptape_note_sandbox") "1:\n\t"
                                 "movq heaptape_real_prctl(%rip), %rax\n\ttestq %rax, %rax\n\tjnz "
                                 "2f\n\t" HT_CALL_AROUND(
                                     "heaptape_find_real") "movq heaptape_real_prctl(%rip), %rax\n2:\n\tjmp "
                                                           "*%rax\n\t.size prctl, .-prctl\n\t"
                                                           ".globl syscall\n\t.type syscall, @function\n"
                                                           "syscall:\n\t"
                                                           "cmpq $317, %rdi\n\tjne 1f\n\t" HT_CALL_AROUND(
                                                               "heaptape_note_sandbox") "1:\n\t"
                                                                                        "movq "
                                                                                        "heaptape_real_syscall(%rip), "
                                                                                        "%rax\n\ttestq %rax, "
                                                                                        "%rax\n\tjnz "
                                                                                        "2f\n\t" HT_CALL_AROUND(
                                                                                            "heaptape_find_real") "movq"
                                                                                                                  " hea"
                                                                                                                  "ptap"
                                                                                                                  "e_"
                                                                                                                  "real"
                                                                                                                  "_sys"
                                                                                                                  "call"
                                                                                                                  "(%"
                                                                                                                  "rip)"
                                                                                                                  ", "
                                                                                                                  "%rax"
                                                                                                                  "\n2:"
                                                                                                                  "\n\t"
                                                                                                                  "jmp "
                                                                                                                  "*%"
                                                                                                                  "rax"
                                                                                                                  "\n\t"
                                                                                                                  ".siz"
                                                                                                                  "e "
                                                                                                                  "sysc"
                                                                                                                  "all,"
                                                                                                                  " .-"
                                                                                                                  "sysc"
                                                                                                                  "all"
                                                                                                                  "\n");
