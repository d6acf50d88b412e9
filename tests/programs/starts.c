// Becomes another program in every way there is, or starts it and ends with its status.
//
// usage: starts WAY PROGRAM
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static int status_of(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* way = argv[1];
  char* path = argv[2];
  char** arguments = argv + 2;
  free(malloc(500));
  // For the functions that search; the program's folder is in PATH.
  const char* slash = strrchr(path, '/');
  const char* name = slash != NULL ? slash + 1 : path;
#define WAY(word) (strcmp(way, word) == 0)
  if (WAY("execve")) execve(path, arguments, environ);
  if (WAY("execv")) execv(path, arguments);
  if (WAY("execvp")) execvp(name, arguments);
  if (WAY("execvpe")) execvpe(name, arguments, environ);
  if (WAY("execl")) execl(path, path, NULL);
  if (WAY("execlp")) execlp(name, path, NULL);
  if (WAY("execle")) execle(path, path, NULL, environ);
  if (WAY("fexecve")) fexecve(open(path, O_RDONLY), arguments, environ);
  if (WAY("fexecve-path")) fexecve(open(path, O_PATH), arguments, environ);
  if (WAY("execveat")) execveat(AT_FDCWD, path, arguments, environ, 0);
  if (WAY("vfork")) {
    const pid_t child = vfork();
    if (child == 0) {
      execv(path, arguments);
      _exit(1);
    }
    return status_of(child);
  }
  if (WAY("posix_spawn") || WAY("posix_spawnp")) {
    pid_t child = 0;
    const int failed = WAY("posix_spawn") ? posix_spawn(&child, path, NULL, NULL, arguments, environ)
                                          : posix_spawnp(&child, name, NULL, NULL, arguments, environ);
    return failed != 0 ? 1 : status_of(child);
  }
  return 1;
}
