// The functions behind ours: the next ones in the program's search order, so a preloaded or linked allocator stays in use.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <threads.h>

#include <cstdarg>
#include <cstddef>
#include <cstdio>

namespace heaptape::recorder {

using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                  char* const*);

struct RealFunctions {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
  void* (*memalign)(std::size_t, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  void* (*reallocarray)(void*, std::size_t, std::size_t);
  std::size_t (*malloc_usable_size)(void*);
  void* (*mmap)(void*, std::size_t, int, int, int, off_t);
  int (*munmap)(void*, std::size_t);
  void* (*mremap)(void*, std::size_t, std::size_t, int, ...);
  int (*mprotect)(void*, std::size_t, int);
  int (*dlclose)(void*);
  int (*pthread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  int (*thrd_create)(thrd_t*, thrd_start_t, void*);
  int (*pthread_cancel)(pthread_t);
  int (*vasprintf)(char**, const char*, va_list);
  int (*vasprintf_chk)(char**, int, const char*, va_list);
  int (*execve)(const char*, char* const*, char* const*);
  int (*execvpe)(const char*, char* const*, char* const*);
  int (*fexecve)(int, char* const*, char* const*);
  int (*execveat)(int, const char*, char* const*, char* const*, int); // null where libc has none
  Spawn* posix_spawn;
  Spawn* posix_spawnp;
  int (*system)(const char*);
  FILE* (*popen)(const char*, const char*);
  int (*getrlimit)(int, rlimit*);
  int (*setrlimit)(int, const rlimit*);
  int (*prlimit)(pid_t, int, const rlimit*, rlimit*);
  void (*exit_now)(int); // _exit
  int (*sigaction)(int, const struct sigaction*, struct sigaction*);
  sighandler_t (*signal)(int, sighandler_t);
  sighandler_t (*sysv_signal)(int, sighandler_t);
  sighandler_t (*sigset)(int, sighandler_t);
  int (*sigaltstack)(const stack_t*, stack_t*);
};

// Before they have been looked up, the entries lead to functions that look them up.
extern constinit RealFunctions g_real;

// Jumped to from assembly; null until looked up.
extern "C" {
extern constinit void* heaptape_real_prctl;
extern constinit void* heaptape_real_syscall;
extern constinit void* heaptape_real_dlopen;
}

// A system call's result as libc gives it: -1, and errno, when it failed.
int as_libc_result(long result) noexcept;

// Whether a function is libc's own.
[[nodiscard]] bool is_libc_function(const void* function) noexcept;

// Looks all of them up, once. Safe to call again.
void find_real_functions() noexcept;

// Puts the allocator that checks in the place of the real one, when the program's environment asks for it (check_start.cpp). To be called
// with the functions that were found, before anybody else calls them.
void choose_checks(RealFunctions& found) noexcept;

// Whether the program's search order finds a definition of `name`, which we define too, before ours; and whether that is
// the executable's. A library in front of us is taken for a wrapper that calls the next one, which is us.
[[nodiscard]] bool defined_before_ours(const char* name) noexcept;
[[nodiscard]] bool defined_by_program(const char* name) noexcept;

// Programs in which we can only be in the way. Null: go ahead.
[[nodiscard]] const char* reason_to_stay_off() noexcept;

// The next definition of `name` after ours, null if there is none.
void* find_next(const char* name) noexcept;

} // namespace heaptape::recorder
