// Prints what the allocation functions answer when asked something odd. The text must not depend on who is watching.
#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

// The compiler must neither see nor fold the odd sizes.
static size_t opaque(size_t value) {
  volatile size_t copy = value;
  return copy;
}

static const size_t alignments[] = {0, 1, 2, 3, 4, 8, 16, 24, 64, 4096, 5000, 1 << 20, SIZE_MAX / 2 + 1, SIZE_MAX};
static const size_t sizes[] = {0, 1, 24, 25, 100, 4095, 4096, 200000};
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void show(const char* what, void* block) {
  const int error = errno;
  printf("%-34s %s usable %zu errno %d\n", what, block != NULL ? "block" : "NULL", malloc_usable_size(block), error);
  errno = 77;
}

// For aligned blocks: how much room is left behind them depends on where the heap happens to begin.
static void show_aligned(const char* what, void* block, size_t size) {
  const int error = errno;
  printf("%-34s %s large enough %d errno %d\n", what, block != NULL ? "block" : "NULL",
         block != NULL && malloc_usable_size(block) >= size, error);
  errno = 77;
}

static void zero_and_huge_sizes(void) {
  errno = 77;
  void* zero = malloc(opaque(0));
  show("malloc(0)", zero);
  free(zero);
  show("calloc(0, 5)", zero = calloc(opaque(0), 5));
  free(zero);
  show("calloc(5, 0)", zero = calloc(5, opaque(0)));
  free(zero);
  show("realloc(NULL, 0)", zero = realloc(NULL, opaque(0)));
  show("realloc(block, 0)", realloc(zero, opaque(0)));
  show("reallocarray(NULL, 0, 9)", zero = reallocarray(NULL, opaque(0), 9));
  show("reallocarray(block, 9, 0)", reallocarray(zero, 9, opaque(0)));
  show("malloc(PTRDIFF_MAX)", malloc(opaque(PTRDIFF_MAX)));
  show("malloc(PTRDIFF_MAX + 1)", malloc(opaque((size_t)PTRDIFF_MAX + 1)));
  show("malloc(SIZE_MAX)", malloc(opaque(SIZE_MAX)));
  show("calloc overflow", calloc(opaque(SIZE_MAX / 2), 3));
  show("calloc huge", calloc(opaque(SIZE_MAX / 4), 3));
  show("reallocarray(NULL) overflow", reallocarray(NULL, opaque(SIZE_MAX / 2), 3));
  show("malloc_usable_size(NULL)", NULL);
  free(NULL);
  show("free(NULL)", NULL);
}

static void a_failed_realloc_keeps_the_block(void) {
  char* block = malloc(100);
  memset(block, 'x', 100);
  show("realloc(block, SIZE_MAX)", realloc(block, opaque(SIZE_MAX)));
  show("realloc(block, PTRDIFF_MAX)", realloc(block, opaque(PTRDIFF_MAX)));
  show("reallocarray(block) overflow", reallocarray(block, opaque(SIZE_MAX / 2), 4));
  int intact = 1;
  for (int i = 0; i != 100; ++i) intact &= block[i] == 'x';
  printf("the block is %s\n", intact ? "intact" : "damaged");
  block = realloc(block, 100000);
  for (int i = 0; i != 100; ++i) intact &= block[i] == 'x';
  block = realloc(block, 50);
  for (int i = 0; i != 50; ++i) intact &= block[i] == 'x';
  printf("and %s after growing and shrinking\n", intact ? "intact" : "damaged");
  free(block);
}

static void alignment_of_every_kind(void) {
  for (size_t i = 0; i != COUNT_OF(alignments); ++i) {
    const size_t alignment = opaque(alignments[i]);
    for (size_t j = 0; j != COUNT_OF(sizes); ++j) {
      char label[80];
      void* block = (void*)1;
      errno = 77;
      const int result = posix_memalign(&block, alignment, sizes[j]);
      snprintf(label, sizeof label, "posix_memalign(%zx, %zu)", alignment, sizes[j]);
      printf("%s = %d, %s, errno %d\n", label, result, block == (void*)1 ? "untouched" : "stored", errno);
      if (result == 0) {
        printf("  aligned: %d\n", (uintptr_t)block % alignment == 0);
        free(block);
      }
      snprintf(label, sizeof label, "memalign(%zx, %zu)", alignment, sizes[j]);
      show_aligned(label, block = memalign(alignment, sizes[j]), sizes[j]);
      free(block);
      snprintf(label, sizeof label, "aligned_alloc(%zx, %zu)", alignment, sizes[j]);
      show_aligned(label, block = aligned_alloc(alignment, sizes[j]), sizes[j]);
      free(block);
    }
  }
  void* block = NULL;
  printf("posix_memalign huge = %d\n", posix_memalign(&block, 64, opaque(SIZE_MAX - 4096)));
  show("memalign(64, SIZE_MAX)", memalign(64, opaque(SIZE_MAX)));
  show("aligned_alloc(64, SIZE_MAX)", aligned_alloc(64, opaque(SIZE_MAX)));
  show_aligned("valloc(0)", block = valloc(opaque(0)), 0);
  free(block);
  show("valloc(SIZE_MAX)", valloc(opaque(SIZE_MAX)));
  show_aligned("pvalloc(1)", block = pvalloc(1), 4096);
  printf("  aligned: %d\n", (uintptr_t)block % 4096 == 0);
  free(block);
  show("pvalloc(SIZE_MAX)", pvalloc(opaque(SIZE_MAX)));
}

static int format_into(char** text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vasprintf(text, format, arguments);
  va_end(arguments);
  return length;
}

static void strings(void) {
  char* text = strdup("");
  printf("strdup: \"%s\"\n", text);
  free(text);
  text = strndup("abcdef", 3);
  printf("strndup: \"%s\"\n", text);
  free(text);
  text = strndup("abc", opaque(SIZE_MAX));
  printf("strndup: \"%s\"\n", text);
  free(text);
  const int lengths[] = {0, 1, 63, 99, 100, 101, 127, 128, 255, 4000, 100000};
  for (size_t i = 0; i != COUNT_OF(lengths); ++i) {
    const int a = asprintf(&text, "%*s", lengths[i], "");
    printf("asprintf = %d, strlen %zu\n", a, strlen(text));
    free(text);
    const int b = format_into(&text, "%d:%*s:%c%c", i, lengths[i], "x", 0, 'y');
    printf("vasprintf = %d, strlen %zu, last '%c'\n", b, strlen(text), text[b - 1]);
    free(text);
  }
  const int some = asprintf(&text, "%2$s %1$d %3$.3f %%", 42, "forty-two", 42.0);
  printf("%d %s\n", some, text);
  free(text);
  // A wide character the C locale cannot hold: the call must fail, whatever it does to the pointer.
  errno = 77;
  const int failed = asprintf(&text, "%ls", L"\u20ac");
  printf("asprintf of a bad character = %d, errno %d\n", failed, errno);
  wchar_t* wide = wcsdup(L"wide");
  printf("%ls %zu\n", wide, malloc_usable_size(wide));
  free(wide);
}

static void functions_that_allocate(void) {
  char* path = realpath("/usr/../usr/.", NULL);
  printf("realpath: %s\n", path);
  free(path);
  char* text = NULL;
  size_t length = 0;
  FILE* stream = open_memstream(&text, &length);
  for (int i = 0; i != 5000; ++i) fprintf(stream, "%d,", i);
  fclose(stream);
  printf("open_memstream: %zu bytes\n", length);
  FILE* lines = fmemopen(text, length, "r");
  char* line = NULL;
  size_t capacity = 0;
  printf("getdelim: %zd", getdelim(&line, &capacity, '7', lines));
  printf(" %s\n", line);
  printf("getline: %zd\n", getline(&line, &capacity, lines));
  free(line);
  fclose(lines);
  free(text);
}

int main(void) {
  setlocale(LC_ALL, "C");
  zero_and_huge_sizes();
  a_failed_realloc_keeps_the_block();
  alignment_of_every_kind();
  strings();
  functions_that_allocate();
  return 0;
}
