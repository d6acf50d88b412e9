#include "recorder/hooks/real.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "recorder/core/events.h"
#include "recorder/core/machine.h"

namespace heaptape::recorder {

namespace {

// Looking a function up may allocate. Such a request, made by the thread that is looking while there is no real function
// yet, gets memory that is never given back.
constexpr std::size_t kEarlyBytes = 64 * 1024;
alignas(16) constinit char g_early[kEarlyBytes];
constinit std::atomic<std::size_t> g_early_used{0};
constinit std::atomic<bool> g_found{false};
thread_local constinit bool t_looking [[gnu::tls_model("initial-exec")]] = false;

bool is_early(const void* block) noexcept { return block >= g_early && block < g_early + kEarlyBytes; }

void* take_early(std::size_t size) noexcept {
  const std::size_t rounded = (size + 31) & ~std::size_t{15}; // 16 bytes in front hold the size
  const std::size_t offset = g_early_used.fetch_add(rounded, std::memory_order_relaxed);
  if (offset + rounded > kEarlyBytes) return nullptr;
  std::memcpy(g_early + offset, &size, sizeof size);
  return g_early + offset + 16;
}

void* early_malloc(std::size_t size) {
  if (t_looking) return take_early(size);
  find_real_functions();
  return g_real.malloc(size);
}
void* early_calloc(std::size_t count, std::size_t size) {
  if (t_looking) return take_early(count * size); // fresh memory is zero
  find_real_functions();
  return g_real.calloc(count, size);
}
void* early_realloc(void* block, std::size_t size) {
  if (!t_looking) {
    find_real_functions();
    return g_real.realloc(block, size);
  }
  void* moved = take_early(size);
  if (moved != nullptr && is_early(block)) {
    std::size_t old_size = 0;
    std::memcpy(&old_size, static_cast<char*>(block) - 16, sizeof old_size);
    std::memcpy(moved, block, old_size < size ? old_size : size);
  }
  return moved;
}
void early_free(void* block) {
  if (t_looking || is_early(block)) return;
  find_real_functions();
  g_real.free(block);
}
void* early_memalign(std::size_t alignment, std::size_t size) {
  find_real_functions();
  return g_real.memalign(alignment, size);
}
int early_posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  find_real_functions();
  return g_real.posix_memalign(block, alignment, size);
}
void* early_aligned_alloc(std::size_t alignment, std::size_t size) {
  find_real_functions();
  return g_real.aligned_alloc(alignment, size);
}
void* early_valloc(std::size_t size) {
  find_real_functions();
  return g_real.valloc(size);
}
void* early_pvalloc(std::size_t size) {
  find_real_functions();
  return g_real.pvalloc(size);
}
void* early_reallocarray(void* block, std::size_t count, std::size_t size) {
  find_real_functions();
  return g_real.reallocarray(block, count, size);
}

std::size_t early_malloc_usable_size(void* block) {
  find_real_functions();
  return g_real.malloc_usable_size != nullptr && !is_early(block) ? g_real.malloc_usable_size(block) : 0;
}

// For the mapping functions the kernel itself will do until the real ones are known.
long with_errno(long result) noexcept {
  if (result >= 0 || result <= -4096) return result;
  *__errno_location() = static_cast<int>(-result);
  return -1;
}
void* early_mmap(void* at, std::size_t size, int protection, int flags, int fd, off_t offset) {
  return reinterpret_cast<void*>(with_errno(
      system_call(SYS_mmap, as_long(static_cast<char*>(at)), static_cast<long>(size), protection, flags, fd, offset)));
}
int early_vasprintf(char** text, const char* format, va_list arguments) {
  find_real_functions();
  return g_real.vasprintf(text, format, arguments);
}
int early_vasprintf_chk(char** text, int flag, const char* format, va_list arguments) {
  find_real_functions();
  return g_real.vasprintf_chk(text, flag, format, arguments);
}
int early_munmap(void* at, std::size_t size) {
  return as_libc_result(system_call(SYS_munmap, as_long(static_cast<char*>(at)), static_cast<long>(size)));
}
int early_mprotect(void* at, std::size_t size, int protection) {
  return as_libc_result(
      system_call(SYS_mprotect, as_long(static_cast<char*>(at)), static_cast<long>(size), protection));
}

// Frees of early blocks can come at any time later; the real free must not see them.
constinit decltype(RealFunctions::free) g_libc_free = nullptr;
constinit decltype(RealFunctions::realloc) g_libc_realloc = nullptr;
void careful_free(void* block) {
  if (!is_early(block)) g_libc_free(block);
}
void* careful_realloc(void* block, std::size_t size) {
  if (!is_early(block)) return g_libc_realloc(block, size);
  std::size_t old_size = 0;
  std::memcpy(&old_size, static_cast<char*>(block) - 16, sizeof old_size);
  void* moved = g_real.malloc(size);
  if (moved != nullptr) std::memcpy(moved, block, old_size < size ? old_size : size);
  return moved;
}

// The same functions of an allocator that is not libc's, whose own calls of malloc and friends come back to our hooks.
constinit RealFunctions g_foreign{};
void* foreign_calloc(std::size_t count, std::size_t size) {
  const Suppressed suppressed;
  return g_foreign.calloc(count, size);
}
void* foreign_realloc(void* block, std::size_t size) {
  const Suppressed suppressed;
  return g_foreign.realloc(block, size);
}
void* foreign_memalign(std::size_t alignment, std::size_t size) {
  const Suppressed suppressed;
  return g_foreign.memalign(alignment, size);
}
int foreign_posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  const Suppressed suppressed;
  return g_foreign.posix_memalign(block, alignment, size);
}
void* foreign_aligned_alloc(std::size_t alignment, std::size_t size) {
  const Suppressed suppressed;
  return g_foreign.aligned_alloc(alignment, size);
}
void* foreign_valloc(std::size_t size) {
  const Suppressed suppressed;
  return g_foreign.valloc(size);
}
void* foreign_pvalloc(std::size_t size) {
  const Suppressed suppressed;
  return g_foreign.pvalloc(size);
}

// Puts the wrappers above in front of those functions that are not libc's.
void wrap_foreign(RealFunctions& found) noexcept {
  g_foreign = found;
  const auto wrap = [](auto& function, auto wrapper) {
    if (!is_libc_function(reinterpret_cast<const void*>(function))) function = wrapper;
  };
  wrap(found.calloc, foreign_calloc);
  wrap(found.realloc, foreign_realloc);
  wrap(found.memalign, foreign_memalign);
  wrap(found.posix_memalign, foreign_posix_memalign);
  wrap(found.aligned_alloc, foreign_aligned_alloc);
  wrap(found.valloc, foreign_valloc);
  wrap(found.pvalloc, foreign_pvalloc);
}

template <class F>
void look_up(F& slot, const char* name) noexcept {
  if (void* found = find_next(name); found != nullptr) slot = reinterpret_cast<F>(found);
}

} // namespace

constinit RealFunctions g_real{
    .malloc = early_malloc,
    .calloc = early_calloc,
    .realloc = early_realloc,
    .free = early_free,
    .memalign = early_memalign,
    .posix_memalign = early_posix_memalign,
    .aligned_alloc = early_aligned_alloc,
    .valloc = early_valloc,
    .pvalloc = early_pvalloc,
    .reallocarray = early_reallocarray,
    .malloc_usable_size = early_malloc_usable_size,
    .mmap = early_mmap,
    .munmap = early_munmap,
    .mremap = nullptr,
    .mprotect = early_mprotect,
    .dlclose = nullptr,
    .pthread_create = nullptr,
    .thrd_create = nullptr,
    .pthread_cancel = nullptr,
    .vasprintf = early_vasprintf,
    .vasprintf_chk = early_vasprintf_chk,
    .execve = nullptr,
    .execvpe = nullptr,
    .fexecve = nullptr,
    .execveat = nullptr,
    .posix_spawn = nullptr,
    .posix_spawnp = nullptr,
    .system = nullptr,
    .popen = nullptr,
    .getrlimit = nullptr,
    .setrlimit = nullptr,
    .prlimit = nullptr,
    .exit_now = nullptr,
    .sigaction = nullptr,
    .signal = nullptr,
    .sysv_signal = nullptr,
    .sigset = nullptr,
    .sigaltstack = nullptr,
};

extern "C" {
constinit void* heaptape_real_prctl = nullptr;
constinit void* heaptape_real_syscall = nullptr;
constinit void* heaptape_real_dlopen = nullptr;
}

bool is_libc_function(const void* function) noexcept {
  Dl_info info;
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return false;
  const char* slash = std::strrchr(info.dli_fname, '/');
  return std::strncmp(slash != nullptr ? slash + 1 : info.dli_fname, "libc.so", 7) == 0;
}

int as_libc_result(long result) noexcept { return static_cast<int>(with_errno(result)); }

void* find_next(const char* name) noexcept { return dlsym(RTLD_NEXT, name); }

namespace {

// Who defines the first `name` in the program's search order; null when that is us, or nobody.
const link_map* owner_before_ours(const char* name) noexcept {
  Dl_info found;
  void* symbol = nullptr;
  const void* address = dlsym(RTLD_DEFAULT, name);
  if (address == nullptr || dladdr1(address, &found, &symbol, RTLD_DL_SYMENT) == 0) return nullptr;
  // An executable that is not position independent answers with the address of its jump to ours, under a symbol that it
  // does not define.
  if (symbol == nullptr || static_cast<const ElfW(Sym)*>(symbol)->st_shndx == SHN_UNDEF) return nullptr;
  Dl_info ours;
  if (dladdr(&g_real, &ours) == 0 || found.dli_fbase == ours.dli_fbase) return nullptr;
  void* owner = nullptr;
  if (dladdr1(address, &found, &owner, RTLD_DL_LINKMAP) == 0) return nullptr;
  return static_cast<const link_map*>(owner);
}

} // namespace

bool defined_before_ours(const char* name) noexcept { return owner_before_ours(name) != nullptr; }

bool defined_by_program(const char* name) noexcept {
  const link_map* owner = owner_before_ours(name);
  return owner != nullptr && owner->l_prev == nullptr; // the executable is the first of all objects
}

const char* reason_to_stay_off() noexcept {
  const char* reason = nullptr;
  for (const char* name : {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init", "__lsan_init_common"}) {
    if (dlsym(RTLD_DEFAULT, name) != nullptr)
      reason = "a sanitizer is built into this program, which replaces malloc itself";
  }
  if (reason == nullptr && defined_by_program("malloc")) {
    reason = "an allocator is linked into this program, so its allocations do not pass by here (link it dynamically)";
  }
  (void)dlerror(); // the program must not find our failed look-ups there
  return reason;
}

void find_real_functions() noexcept {
  if (g_found.load(std::memory_order_acquire)) return;
  t_looking = true;
  RealFunctions found = g_real;
  look_up(found.malloc, "malloc");
  look_up(found.calloc, "calloc");
  look_up(found.realloc, "realloc");
  look_up(found.free, "free");
  look_up(found.memalign, "memalign");
  look_up(found.posix_memalign, "posix_memalign");
  look_up(found.aligned_alloc, "aligned_alloc");
  look_up(found.valloc, "valloc");
  look_up(found.pvalloc, "pvalloc");
  look_up(found.reallocarray, "reallocarray");
  look_up(found.malloc_usable_size, "malloc_usable_size");
  look_up(found.mmap, "mmap");
  look_up(found.munmap, "munmap");
  look_up(found.mremap, "mremap");
  look_up(found.mprotect, "mprotect");
  look_up(found.dlclose, "dlclose");
  look_up(found.pthread_create, "pthread_create");
  look_up(found.thrd_create, "thrd_create");
  look_up(found.pthread_cancel, "pthread_cancel");
  look_up(found.vasprintf, "vasprintf");
  look_up(found.vasprintf_chk, "__vasprintf_chk");
  look_up(found.execve, "execve");
  look_up(found.execvpe, "execvpe");
  look_up(found.fexecve, "fexecve");
  look_up(found.execveat, "execveat");
  look_up(found.posix_spawn, "posix_spawn");
  look_up(found.posix_spawnp, "posix_spawnp");
  look_up(found.system, "system");
  look_up(found.popen, "popen");
  look_up(found.getrlimit, "getrlimit");
  look_up(found.setrlimit, "setrlimit");
  look_up(found.prlimit, "prlimit");
  look_up(found.exit_now, "_exit");
  look_up(found.sigaction, "sigaction");
  look_up(found.signal, "signal");
  look_up(found.sysv_signal, "__sysv_signal");
  look_up(found.sigset, "sigset");
  look_up(found.sigaltstack, "sigaltstack");
  look_up(heaptape_real_prctl, "prctl");
  look_up(heaptape_real_syscall, "syscall");
  look_up(heaptape_real_dlopen, "dlopen");
  if (!is_libc_function(reinterpret_cast<const void*>(found.malloc))) wrap_foreign(found);
  choose_checks(found);
  t_looking = false;
  if (g_early_used.load(std::memory_order_relaxed) != 0) {
    g_libc_free = found.free;
    g_libc_realloc = found.realloc;
    found.free = careful_free;
    found.realloc = careful_realloc;
  }
  g_real = found;
  g_found.store(true, std::memory_order_release);
}

} // namespace heaptape::recorder
