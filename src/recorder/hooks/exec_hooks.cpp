// exec and posix_spawn. A followed program passes the recorder on in its environment; here it is taken out again for programs
// that would not start with it. Everything lies on the stack: a child of vfork runs in its parent's memory and must leave no
// trace there.
#include "recorder/hooks/exec_hooks.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>
#include <cstring>

#include "recorder/core/readable.h"
#include "recorder/core/recorder.h"
#include "recorder/hooks/environment.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/limit_hooks.h"
#include "recorder/hooks/program_file.h"
#include "recorder/hooks/real.h"

namespace heaptape::recorder {

namespace {

constinit const char* g_followed_by = nullptr; // our entry in LD_PRELOAD; null: programs are not followed

// A copy of the pointers goes onto the stack. Nobody has that many; whoever does passes the recorder on unchecked.
constexpr std::size_t kMostVariables = 16 * 1024;

using Variables = char* const*;

bool passes_recorder_on(Variables environment) noexcept {
  return g_followed_by != nullptr && has_recorder(environment, g_followed_by);
}

bool is_left_out(ProgramFit fit) noexcept { return fit == ProgramFit::Foreign || fit == ProgramFit::Unknown; }

// Calls act(environment) with `environment`, or with a copy without the recorder, and gives its result. Inlined, so that the copy lives
// in the hook's frame.
template <class Act>
[[gnu::always_inline]] inline int with_fitting(Variables environment, bool leave_out, Act act) noexcept {
  if (!leave_out) return act(environment);
  const std::size_t count = count_variables(environment);
  if (count > kMostVariables) return act(environment);
  if (is_attached()) count_loss(wire::Loss::NotFollowed);
  auto** copy = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));
  auto* preload = static_cast<char*>(__builtin_alloca(std::strlen(preload_entry(environment)) + 1));
  copy_without_recorder(environment, g_followed_by, copy, preload);
  return act(copy);
}

// What all of exec do: check() looks at the program's file, act(environment) is the real function.
template <class Check, class Act>
[[gnu::always_inline]] inline int exec(Variables environment, Check check, Act act) noexcept {
  if (g_real.execve == nullptr) find_real_functions();
  // A filter may forbid us to look; and without cause we do not.
  const bool follows = passes_recorder_on(environment);
  if (in_sandbox() || (!follows && !limits_are_raised())) return act(environment);
  const ProgramFit fit = check();
  const LimitsForNextProgram limits(fit != ProgramFit::Missing);
  return with_fitting(environment, follows && is_left_out(fit), act);
}

template <class Check, class Act>
[[gnu::always_inline]] inline int spawn(pid_t* child, Variables environment, Check check, Act act) noexcept {
  if (g_real.posix_spawn == nullptr) find_real_functions();
  const bool follows = passes_recorder_on(environment);
  const bool leave_out = follows && !in_sandbox() && is_left_out(check());
  pid_t spawned = 0;
  const int result = with_fitting(environment, leave_out, [&](Variables passed) { return act(&spawned, passed); });
  if (result != 0) return result;
  if (child != nullptr) *child = spawned;
  // A recorder that is in it as well holds the same space as we do.
  if ((!follows || leave_out) && !in_sandbox()) lower_limits_of(spawned);
  return result;
}

const char* search_path() noexcept { return environ != nullptr ? find_variable(environ, "PATH") : nullptr; }

std::size_t count_further(va_list further) noexcept {
  std::size_t count = 0;
  while (va_arg(further, char*) != nullptr) ++count;
  return count;
}

} // namespace

void follow_programs(const char* library) noexcept { g_followed_by = library; }

} // namespace heaptape::recorder

using namespace heaptape::recorder;

// The arguments of execl and its like as an array in the hook's frame. Leaves `further` behind the null.
#define HT_ARGUMENTS(arguments, first, further)                                                                        \
  va_list further;                                                                                                     \
  va_start(further, first);                                                                                            \
  const std::size_t count = 1 + count_further(further);                                                                \
  va_end(further);                                                                                                     \
  auto** arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));                               \
  arguments[0] = const_cast<char*>(first);                                                                             \
  va_start(further, first);                                                                                            \
  for (std::size_t i = 1; i <= count; ++i) (arguments)[i] = va_arg(further, char*)

HT_HOOK int execve(const char* path, char* const* arguments, char* const* environment) {
  return exec(
      environment, [&] { return fit_of_file(AT_FDCWD, path); },
      [&](Variables passed) { return g_real.execve(path, arguments, passed); });
}

HT_HOOK int execv(const char* path, char* const* arguments) {
  return exec(
      environ, [&] { return fit_of_file(AT_FDCWD, path); },
      [&](Variables passed) { return g_real.execve(path, arguments, passed); });
}

HT_HOOK int execvpe(const char* name, char* const* arguments, char* const* environment) {
  return exec(
      environment, [&] { return fit_of_name(name, search_path()); },
      [&](Variables passed) { return g_real.execvpe(name, arguments, passed); });
}

HT_HOOK int execvp(const char* name, char* const* arguments) {
  return exec(
      environ, [&] { return fit_of_name(name, search_path()); },
      [&](Variables passed) { return g_real.execvpe(name, arguments, passed); });
}

HT_HOOK int execl(const char* path, const char* first, ...) {
  HT_ARGUMENTS(arguments, first, further);
  va_end(further);
  return exec(
      environ, [&] { return fit_of_file(AT_FDCWD, path); },
      [&](Variables passed) { return g_real.execve(path, arguments, passed); });
}

HT_HOOK int execle(const char* path, const char* first, ...) {
  HT_ARGUMENTS(arguments, first, further);
  char* const* environment = va_arg(further, char* const*);
  va_end(further);
  return exec(
      environment, [&] { return fit_of_file(AT_FDCWD, path); },
      [&](Variables passed) { return g_real.execve(path, arguments, passed); });
}

HT_HOOK int execlp(const char* name, const char* first, ...) {
  HT_ARGUMENTS(arguments, first, further);
  va_end(further);
  return exec(
      environ, [&] { return fit_of_name(name, search_path()); },
      [&](Variables passed) { return g_real.execvpe(name, arguments, passed); });
}

HT_HOOK int fexecve(int fd, char* const* arguments, char* const* environment) {
  return exec(
      environment, [&] { return fit_of_descriptor(fd); },
      [&](Variables passed) { return g_real.fexecve(fd, arguments, passed); });
}

HT_HOOK int execveat(int directory, const char* path, char* const* arguments, char* const* environment, int flags) {
  const bool by_descriptor = (flags & AT_EMPTY_PATH) != 0 && path[0] == 0;
  return exec(
      environment, [&] { return by_descriptor ? fit_of_descriptor(directory) : fit_of_file(directory, path); },
      [&](Variables passed) { return g_real.execveat(directory, path, arguments, passed, flags); });
}

HT_HOOK int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                        const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  return spawn(
      child, environment, [&] { return fit_of_file(AT_FDCWD, path); },
      [&](pid_t* spawned, Variables passed) {
        return g_real.posix_spawn(spawned, path, actions, attributes, arguments, passed);
      });
}

HT_HOOK int posix_spawnp(pid_t* child, const char* name, const posix_spawn_file_actions_t* actions,
                         const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  return spawn(
      child, environment, [&] { return fit_of_name(name, search_path()); },
      [&](pid_t* spawned, Variables passed) {
        return g_real.posix_spawnp(spawned, name, actions, attributes, arguments, passed);
      });
}
