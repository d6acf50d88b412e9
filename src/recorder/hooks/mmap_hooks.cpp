// The program's own mappings, and what it does to code: generated, unloaded, sandboxed.
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>

#include "recorder/core/cpu_profile.h"
#include "recorder/core/events.h"
#include "recorder/core/generated_code.h"
#include "recorder/core/machine.h"
#include "recorder/core/modules.h"
#include "recorder/core/readable.h"
#include "recorder/core/recorder.h"
#include "recorder/hooks/call_around.h"
#include "recorder/hooks/crash_hook.h"
#include "recorder/hooks/failed_calls.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/real.h"

using namespace heaptape;
using namespace heaptape::recorder;

namespace {

constexpr int kSetSeccomp = 22, kSetTsc = 26, kSeccompCall = 317;

[[gnu::always_inline]] inline void* map(void* at, std::size_t size, int protection, int flags, int fd, off_t offset,
                                        const Frame& site) {
  void* mapping = g_real.mmap(at, size, protection, flags, fd, offset);
  const EventKind kind = (flags & MAP_ANONYMOUS) != 0 ? EventKind::MmapAnonymous : EventKind::MmapFile;
  if (mapping == MAP_FAILED) [[unlikely]] {
    record_failed(kind, size, 0, site.pc, site.slot, site.rbp);
    return mapping;
  }
  if (is_attached()) {
    note_remapping(as_address(mapping), size);
    const bool sealed = (protection & PROT_WRITE) == 0 && (flags & MAP_SHARED) == 0;
    if ((protection & PROT_EXEC) != 0) note_executable(as_address(mapping), size, sealed);
  }
  if (!is_recording()) return mapping;
  const std::uint64_t size_field = protection == PROT_NONE ? size | wire::kReservedBit : size;
  (void)record(kind, as_address(mapping), size_field, site, true);
  return mapping;
}

template <class Real>
int protect(void* at, std::size_t size, int protection, Real real) {
  if (is_attached()) note_protecting(as_address(at), size);
  const int result = real();
  if (result == 0 && (protection & PROT_EXEC) != 0) {
    note_executable(as_address(at), size, (protection & PROT_WRITE) == 0);
  }
  return result;
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
  if (valid && is_attached()) note_remapping(as_address(at), size);
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
      const Frame site = HT_CALL_SITE();
      (void)record(EventKind::MremapFailed, as_address(old_at), 0, site, false);
      record_failed(EventKind::Mremap, size, 0, site.pc, site.slot, site.rbp);
    } else {
      (void)record(EventKind::Mremap, as_address(mapping), size, HT_CALL_SITE(), true);
    }
  }
  return mapping;
}

HT_HOOK int mprotect(void* at, std::size_t size, int protection) {
  return protect(at, size, protection, [&] { return g_real.mprotect(at, size, protection); });
}

HT_HOOK int pkey_mprotect(void* at, std::size_t size, int protection, int key) {
  return protect(at, size, protection, [&] {
    if (key == -1) return g_real.mprotect(at, size, protection);
    return as_libc_result(
        system_call(SYS_pkey_mprotect, as_long(static_cast<char*>(at)), static_cast<long>(size), protection, key));
  });
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
    arrange_crash_handlers_for_sandbox();
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

#define HT_GO_ON_TO(real)                                                                                              \
  "movq " real "(%rip), %rax\n\ttestq %rax, %rax\n\tjnz 2f\n\t" HT_CALL_AROUND(                                        \
      "heaptape_find_real") "movq " real "(%rip), %rax\n2:\n\tjmp *%rax\n\t"

// PR_SET_SECCOMP is 22, PR_SET_TSC is 26.
asm(".text\n\t.globl prctl\n\t.type prctl, @function\nprctl:\n\t"
    "cmpl $22, %edi\n\tje 3f\n\tcmpl $26, %edi\n\tjne 1f\n"
    "3:\n\t" HT_CALL_AROUND("heaptape_note_sandbox") //
    "1:\n\t" HT_GO_ON_TO("heaptape_real_prctl") ".size prctl, .-prctl\n");
// The system call seccomp is 317, exit_group is 231.
asm(".text\n\t.globl syscall\n\t.type syscall, @function\nsyscall:\n\t"
    "cmpq $231, %rdi\n\tje heaptape_exit_by_system_call\n\t"
    "cmpq $317, %rdi\n\tjne 1f\n\t" HT_CALL_AROUND("heaptape_note_sandbox") //
    "1:\n\t" HT_GO_ON_TO("heaptape_real_syscall") ".size syscall, .-syscall\n");
