// Leaves one block behind per call of asprintf (1501 to 1510 bytes) and of vasprintf (2501 to 2510 bytes).
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int format_into(char** text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vasprintf(text, format, arguments);
  va_end(arguments);
  return length;
}

int main(void) {
  for (int i = 0; i != 10; ++i) {
    char* text = NULL;
    if (asprintf(&text, "%*d", 1500 + i, i) != 1500 + i) return 1;
    if (format_into(&text, "%*d", 2500 + i, i) != 2500 + i) return 1;
  }
  return 0;
}
