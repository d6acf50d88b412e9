// exec and posix_spawn. The program that the recorded process becomes goes on being recorded: the recorder is put into its environment. A
// followed program passes it on to its children, too; here it is taken out again for programs that would not start with it. Everything lies on the stack: a child of vfork runs in its parent's memory and must leave no
// trace there.
#include "recorder/hooks/exec_hooks.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "recorder/core/readable.h"
#include "recorder/core/recorder.h"
#include "recorder/hooks/environment.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/limit_hooks.h"
#include "recorder/hooks/lineage.h"
#include "recorder/hooks/program_file.h"
#include "recorder/hooks/real.h"

namespace heaptape::recorder {

namespace {

constinit const char* g_library = nullptr; // our entry in LD_PRELOAD; null: not yet
constinit bool g_follows = false;          // children too

// A copy of the pointers goes onto the stack. Nobody has that many; whoever does passes the recorder on unchecked, or not at all.
constexpr std::size_t kMostVariables = 16 * 1024;

using Variables = char* const*;

// What becomes of the recorder in the environment of the next program.
enum class Pass : std::uint8_t {
  AsItIs,   // it is not there, or may stay
  TakenOut, // the program would not start with it
  PutIn,    // with the way back to the collector
};

bool is_left_out(ProgramFit fit) noexcept { return fit == ProgramFit::Foreign || fit == ProgramFit::Unknown; }

// For a program that this process becomes, or a child of vfork or fork. A followed program has the recorder in its environment; that of
// another was restored, and programs that cannot be recorded must find it like that.
Pass way_for(Variables environment, const char* connection, ProgramFit fit) noexcept {
  const bool has_it = g_follows && has_recorder(environment, g_library);
  if (has_it && is_left_out(fit)) return Pass::TakenOut;
  if (connection == nullptr || fit == ProgramFit::Missing) return Pass::AsItIs;
  if (has_it) return Pass::PutIn;
  // Without --follow only the recorded process itself goes on being recorded; with it, also where it has cleared its environment.
  const bool is_meant = is_recorded_process() || is_meant_child();
  return is_meant && fit == ProgramFit::Fits ? Pass::PutIn : Pass::AsItIs;
}

// Calls act(environment) with the environment that the next program is to have, and gives its result. Inlined, so that a copy lives in the
// hook's frame.
template <class Act>
[[gnu::always_inline]] inline int with_fitting(Variables environment, Pass pass, const char* connection,
                                               Act act) noexcept {
  if (pass == Pass::AsItIs) return act(environment);
  const PassedOn passed{g_library, options_for_next(), connection, g_follows};
  const std::size_t count = count_with_recorder(environment, passed);
  if (count > kMostVariables) return act(environment);
  auto** copy = static_cast<char**>(__builtin_alloca(count * sizeof(char*)));
  auto* preload = static_cast<char*>(__builtin_alloca(preload_bytes(environment, passed)));
  if (pass == Pass::PutIn) {
    copy_with_recorder(environment, passed, copy, preload);
  } else {
    if (is_attached()) count_loss(wire::Loss::NotFollowed);
    copy_without_recorder(environment, g_library, copy, preload);
  }
  return act(copy);
}

// What all of exec do: check() looks at the program's file, which `name` names, act(environment) is the real function.
template <class Check, class Act>
[[gnu::always_inline]] inline int exec(Variables environment, const char* name, Check check, Act act) noexcept {
  if (g_real.execve == nullptr) find_real_functions();
  // A filter may forbid us to look; and without cause we do not.
  if (in_sandbox() || (g_library == nullptr && !limits_are_raised())) return act(environment);
  const ProgramFit fit = check();
  const LimitsForNextProgram limits(fit != ProgramFit::Missing);
  if (g_library == nullptr) return act(environment);
  const char* const connection = connection_for_next();
  const Pass pass = way_for(environment, connection, fit);
  if (pass == Pass::PutIn && !g_follows) forget_child();
  if (pass == Pass::PutIn || fit == ProgramFit::Missing) return with_fitting(environment, pass, connection, act);
  const NotedProgram noted(name);
  return with_fitting(environment, pass, connection, act);
}

template <class Check, class Act>
[[gnu::always_inline]] inline int spawn(pid_t* child, Variables environment, const char* name, Check check,
                                        Act act) noexcept {
  if (g_real.posix_spawn == nullptr) find_real_functions();
  const bool follows = g_follows && has_recorder(environment, g_library);
  const bool leave_out = follows && !in_sandbox() && is_left_out(check());
  const char* const connection = connection_for_child();
  const Pass pass = leave_out ? Pass::TakenOut : follows && connection != nullptr ? Pass::PutIn : Pass::AsItIs;
  pid_t spawned = 0;
  const int result =
      with_fitting(environment, pass, connection, [&](Variables passed) { return act(&spawned, passed); });
  if (result != 0) return result;
  if (child != nullptr) *child = spawned;
  if (!follows || leave_out) note_started(static_cast<std::uint32_t>(spawned), name);
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

// libc starts it without passing by our hooks. In the environment of a followed program it finds the recorder.
void note_shell() noexcept {
  if (g_library != nullptr && !g_follows) note_started(wire::kUnknownPid, "sh");
}

// The kernel takes a null pointer for an empty list; libc's headers promise compilers that there is none.
const char* first_of(char* const* arguments) noexcept {
  asm("" : "+r"(arguments));
  return arguments != nullptr ? arguments[0] : nullptr;
}

} // namespace

void pass_recorder_on(const char* library, bool follow) noexcept {
  g_library = library;
  g_follows = follow;
}

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
      environment, path, [&] { return fit_of_file(AT_FDCWD, path); },
      [&](Variables passed) { return g_real.execve(path, arguments, passed); });
}

HT_HOOK int execv(const char* path, char* const* arguments) {
  return exec(
      environ, path, [&] { return fit_of_file(AT_FDCWD, path); },
      [&](Variables passed) { return g_real.execve(path, arguments, passed); });
}

HT_HOOK int execvpe(const char* name, char* const* arguments, char* const* environment) {
  return exec(
      environment, name, [&] { return fit_of_name(name, search_path()); },
      [&](Variables passed) { return g_real.execvpe(name, arguments, passed); });
}

HT_HOOK int execvp(const char* name, char* const* arguments) {
  return exec(
      environ, name, [&] { return fit_of_name(name, search_path()); },
      [&](Variables passed) { return g_real.execvpe(name, arguments, passed); });
}

HT_HOOK int execl(const char* path, const char* first, ...) {
  HT_ARGUMENTS(arguments, first, further);
  va_end(further);
  return exec(
      environ, path, [&] { return fit_of_file(AT_FDCWD, path); },
      [&](Variables passed) { return g_real.execve(path, arguments, passed); });
}

HT_HOOK int execle(const char* path, const char* first, ...) {
  HT_ARGUMENTS(arguments, first, further);
  char* const* environment = va_arg(further, char* const*);
  va_end(further);
  return exec(
      environment, path, [&] { return fit_of_file(AT_FDCWD, path); },
      [&](Variables passed) { return g_real.execve(path, arguments, passed); });
}

HT_HOOK int execlp(const char* name, const char* first, ...) {
  HT_ARGUMENTS(arguments, first, further);
  va_end(further);
  return exec(
      environ, name, [&] { return fit_of_name(name, search_path()); },
      [&](Variables passed) { return g_real.execvpe(name, arguments, passed); });
}

HT_HOOK int fexecve(int fd, char* const* arguments, char* const* environment) {
  return exec(
      environment, first_of(arguments), [&] { return fit_of_descriptor(fd); },
      [&](Variables passed) { return g_real.fexecve(fd, arguments, passed); });
}

HT_HOOK int execveat(int directory, const char* path, char* const* arguments, char* const* environment, int flags) {
  const bool by_descriptor = (flags & AT_EMPTY_PATH) != 0 && path[0] == 0;
  return exec(
      environment, by_descriptor ? first_of(arguments) : path,
      [&] { return by_descriptor ? fit_of_descriptor(directory) : fit_of_file(directory, path); },
      [&](Variables passed) { return g_real.execveat(directory, path, arguments, passed, flags); });
}

HT_HOOK int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                        const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  return spawn(
      child, environment, path, [&] { return fit_of_file(AT_FDCWD, path); },
      [&](pid_t* spawned, Variables passed) {
        return g_real.posix_spawn(spawned, path, actions, attributes, arguments, passed);
      });
}

HT_HOOK int posix_spawnp(pid_t* child, const char* name, const posix_spawn_file_actions_t* actions,
                         const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  return spawn(
      child, environment, name, [&] { return fit_of_name(name, search_path()); },
      [&](pid_t* spawned, Variables passed) {
        return g_real.posix_spawnp(spawned, name, actions, attributes, arguments, passed);
      });
}

HT_HOOK int system(const char* command) {
  if (g_real.system == nullptr) find_real_functions();
  if (command != nullptr && !in_sandbox()) note_shell();
  return g_real.system(command);
}

HT_HOOK FILE* popen(const char* command, const char* type) {
  if (g_real.popen == nullptr) find_real_functions();
  if (!in_sandbox()) note_shell();
  return g_real.popen(command, type);
}
