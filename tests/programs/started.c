// Says what it finds in its environment of loaders and recorders, and ends with 9; with an argument, becomes that program instead.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char** environ;

int main(int argc, char** argv) {
  free(malloc(600));
  if (argc > 1) {
    execv(argv[1], argv + 1);
    return 1;
  }
  for (char** variable = environ; *variable != NULL; ++variable)
    if (strncmp(*variable, "LD_", 3) == 0 || strncmp(*variable, "HEAPTAPE_", 9) == 0) puts(*variable);
  puts("started");
  return 9;
}
