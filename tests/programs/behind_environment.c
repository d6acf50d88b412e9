// Looks for the environment and the auxiliary vector where the kernel has put them, behind the arguments, as runtimes do that know
// no libc (Go's for one), and compares them with what libc and /proc say. With an argument, prints the environment as well.
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char** environ;

int main(int argc, char** argv) {
  char** variable = argv + argc + 1;
  printf("the environment is %s\n", variable == environ ? "behind the arguments" : "elsewhere");
  for (; *variable != NULL; ++variable) {
    if (strchr(*variable, '=') == NULL || argc > 1) printf("%s\n", *variable);
  }

  Elf64_auxv_t truth[64];
  const int file = open("/proc/self/auxv", O_RDONLY);
  const ssize_t bytes = read(file, truth, sizeof truth);
  const Elf64_auxv_t* expected = truth;
  const Elf64_auxv_t* found = (const Elf64_auxv_t*)(variable + 1);
  int same = 0;
  for (; bytes > 0 && expected->a_type != AT_NULL; ++expected, ++found) {
    while (found->a_type == AT_IGNORE) ++found;
    if (found->a_type != expected->a_type || found->a_un.a_val != expected->a_un.a_val) break;
    ++same;
  }
  printf("the auxiliary vector is %s\n", same > 10 && found->a_type == AT_NULL ? "behind the environment" : "lost");
  return 0;
}
