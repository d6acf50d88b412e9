// Prints what a program can see of the process it runs in: environment, descriptors, signals, limits, threads, terminal.
// When descriptor 9 is open, it is printed there.
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char** environ;

static void descriptors(void) {
  int open_ones[64];
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  for (struct dirent* entry; (entry = readdir(folder)) != NULL && count != 64;) {
    const int number = atoi(entry->d_name);
    if (entry->d_name[0] != '.' && number != dirfd(folder)) open_ones[count++] = number;
  }
  // Where the next descriptor lands shows whether one below it is taken.
  printf("next descriptor: %d\n", dirfd(folder));
  closedir(folder);
  for (int number = 0; number != 1024; ++number)
    for (int i = 0; i != count; ++i)
      if (open_ones[i] == number) printf("descriptor %d\n", number);
}

static void signals(void) {
  FILE* status = fopen("/proc/self/status", "r");
  char line[256];
  const char* const wanted[] = {"Threads:",    "SigPnd:",  "ShdPnd:", "SigBlk:",    "SigIgn:", "SigCgt:",
                                "NoNewPrivs:", "Seccomp:", "Umask:",  "TracerPid:", "Name:"};
  while (fgets(line, sizeof line, status) != NULL)
    for (size_t i = 0; i != sizeof wanted / sizeof wanted[0]; ++i)
      if (strncmp(line, wanted[i], strlen(wanted[i])) == 0) fputs(line, stdout);
  fclose(status);
}

int main(int argc, char** argv) {
  FILE* chosen = fdopen(9, "w");
  if (chosen != NULL) stdout = chosen;
  for (int i = 0; i != argc; ++i) printf("argument %s\n", argv[i]);
  for (char** variable = environ; *variable != NULL; ++variable) printf("variable %s\n", *variable);
  descriptors();
  signals();
  for (int resource = 0; resource != RLIM_NLIMITS; ++resource) {
    struct rlimit limit;
    getrlimit((__rlimit_resource_t)resource, &limit);
    printf("limit %d: %lx %lx\n", resource, (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
  }
  for (int i = 0; i != 3; ++i) printf("terminal %d: %d\n", i, isatty(i));
  printf("group leader %d session leader %d in the terminal's group %d\n", getpgrp() == getpid(), getsid(0) == getpid(),
         tcgetpgrp(0) == getpgrp());
  printf("group %d session %d\n", (int)getpgrp(), (int)getsid(0));
  int subreaper = 0;
  prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  printf("subreaper %d dumpable %d nice %d\n", subreaper, prctl(PR_GET_DUMPABLE), getpriority(PRIO_PROCESS, 0));
  char* folder = get_current_dir_name();
  printf("folder %s\n", folder);
  free(folder);
  return 0;
}
