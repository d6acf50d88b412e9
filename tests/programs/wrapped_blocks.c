// Makes 25 blocks of 654 bytes for counting_preload.c to see.
#include <stdlib.h>

int main(void) {
  for (int i = 0; i != 25; ++i) {
    void* volatile block = malloc(654);
    free(block);
  }
  return 0;
}
