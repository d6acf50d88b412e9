// Libraries that are opened with RTLD_DEEPBIND look for functions in themselves and what they need before they look at the rest of the program,
// so they find libc's malloc and not ours. From the first such dlopen on, the tables in which the loader finds libc's functions, and those
// of the C++ library, say where ours are:
//
//   plugin.so ── malloc? ──► plugin.so: no ──► libc.so.6: its symbol table, in memory: st_value of malloc ──► ours ──► g_real.malloc: libc's
//
// The dlopen itself is the program's own, from its own return address: the search by the caller's RPATH, the handle and dlclose are as they
// were, and what the library's constructors allocate is recorded too. Only where libc's functions stand right behind ours: elsewhere
// such a library uses another heap than the program, as it does without us.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "recorder/core/machine.h"
#include "recorder/core/readable.h"
#include "recorder/core/recorder.h"
#include "recorder/hooks/call_around.h"
#include "recorder/hooks/new_hooks.h"
#include "recorder/hooks/pool_objects.h"
#include "recorder/hooks/real.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kPage = 4096;

constexpr const char* kLibcNames[] = {"malloc",
                                      "calloc",
                                      "realloc",
                                      "reallocarray",
                                      "free",
                                      "cfree",
                                      "free_sized",
                                      "memalign",
                                      "posix_memalign",
                                      "aligned_alloc",
                                      "valloc",
                                      "pvalloc",
                                      "free_aligned_sized",
                                      "mmap",
                                      "mmap64",
                                      "munmap",
                                      "mremap"};

struct Found {
  LoadedObject ours, libc, cxx;
  int libc_protection = 0, cxx_protection = 0; // of the pages with its symbols; 0: there is no such library
};

bool holds(const LoadedObject& object, std::uint64_t address) noexcept {
  return address >= object.begin && address < object.end;
}

int protection_of(const dl_phdr_info& info, std::uint64_t address) noexcept {
  for (std::size_t i = 0; i < info.dlpi_phnum; ++i) {
    const Elf64_Phdr& segment = info.dlpi_phdr[i];
    const std::uint64_t begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || address < begin || address >= begin + segment.p_memsz) continue;
    return ((segment.p_flags & PF_R) != 0 ? PROT_READ : 0) | ((segment.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
           ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
  }
  return 0;
}

int look_at(dl_phdr_info* info, std::size_t, void* given) noexcept {
  Found& found = *static_cast<Found*>(given);
  LoadedObject object;
  if (!read_object(*info, object)) return 0;
  const int protection = protection_of(*info, reinterpret_cast<std::uint64_t>(object.symbols));
  if (holds(object, reinterpret_cast<std::uint64_t>(&g_real))) found.ours = object;
  if (holds(object, reinterpret_cast<std::uint64_t>(g_real.malloc))) {
    found.libc = object;
    found.libc_protection = protection;
  }
  if (holds(object, operator_new_behind_ours())) {
    found.cxx = object;
    found.cxx_protection = protection;
  }
  return 0;
}

// The loader may read it at any time.
void redirect(const LoadedObject& object, int protection, const LoadedObject& ours, const char* name) noexcept {
  const std::uint64_t target = find_definition(ours, name);
  const std::uint32_t index = find_symbol(object, name);
  if (target == 0 || index == 0) return;
  auto* const symbol = const_cast<Elf64_Sym*>(object.symbols + index);
  auto& value = reinterpret_cast<std::uint64_t&>(symbol->st_value);
  const auto place = reinterpret_cast<std::uint64_t>(&value);
  const long page = static_cast<long>(place & ~(kPage - 1));
  if (system_call(SYS_mprotect, page, kPage, protection | PROT_WRITE) != 0) return;
  std::atomic_ref<std::uint64_t>(value).store(target - object.bias, std::memory_order_release);
  (void)system_call(SYS_mprotect, page, kPage, protection);
}

void redirect_all() noexcept {
  Found found;
  (void)dl_iterate_phdr(look_at, &found);
  if (found.ours.symbols == nullptr) return;
  if (found.libc_protection != 0) {
    for (const char* name : kLibcNames) redirect(found.libc, found.libc_protection, found.ours, name);
  }
  if (found.cxx_protection != 0) {
    each_operator_behind_ours(
        [](const char* name, void* given) {
          const Found& all = *static_cast<const Found*>(given);
          redirect(all.cxx, all.cxx_protection, all.ours, name);
        },
        &found);
  }
}

} // namespace

extern "C" {
// Before each dlopen with RTLD_DEEPBIND.
[[gnu::used]] void heaptape_note_deepbind() {
  static constinit std::atomic<bool> s_done{false};
  if (!is_attached() || in_sandbox() || !is_libc_function(reinterpret_cast<const void*>(g_real.malloc))) return;
  if (!s_done.exchange(true, std::memory_order_acq_rel)) redirect_all();
}
}

static_assert(RTLD_DEEPBIND == 8);
asm(".text\n\t.globl dlopen\n\t.type dlopen, @function\n"
    "dlopen:\n\t"
    "testl $8, %esi\n\tjz 1f\n\t" HT_CALL_AROUND(
        "heaptape_note_deepbind") "1:\n\t"
                                  "movq heaptape_real_dlopen(%rip), %rax\n\ttestq %rax, %rax\n\tjnz "
                                  "2f\n\t" HT_CALL_AROUND(
                                      "heaptape_find_real") "movq heaptape_real_dlopen(%rip), %rax\n2:\n\tjmp "
                                                            "*%rax\n\t.size dlopen, .-dlopen\n");

} // namespace heaptape::recorder
