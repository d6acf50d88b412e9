// A library with an allocator of its own on top of malloc: what --alloc-fn and --free-fn watch.
#include <stdarg.h>
#include <stdlib.h>

void* wrapped_alloc(size_t size) { return malloc(size); }
void* wrapped_array(const void* unused, size_t count, size_t size) {
  (void)unused;
  return calloc(count, size);
}
void wrapped_free(const void* unused, void* block) {
  (void)unused;
  free(block);
}
void* wrapped_resize(void* block, size_t size) { return realloc(block, size); }

// Functions that call the ones above, through the offset table.
void* wrapped_outer(size_t size) { return wrapped_alloc(size); }
void* wrapped_outer_resize(void* block, size_t size) { return wrapped_resize(block, size); }
void wrapped_outer_free(void* block) { wrapped_free(NULL, block); }

// Many arguments of all sorts, some on the stack; the result must be right.
void* wrapped_odd(int a, double b, long c, float d, short e, long f, long g, double h, long i, long j, int size) {
  const int good =
      a == 1 && b == 2.5 && c == 3 && d == 4.5f && e == 5 && f == 6 && g == 7 && h == 8.5 && i == 9 && j == 10;
  return good ? malloc((size_t)size) : NULL;
}

// Behind "...", which needs the count of floating-point arguments.
void* wrapped_list(size_t size, ...) {
  va_list list;
  va_start(list, size);
  const double first = va_arg(list, double);
  const int second = va_arg(list, int);
  va_end(list);
  return first == 1.5 && second == 7 ? malloc(size) : NULL;
}

double wrapped_number(double x) { return x * 2; }
