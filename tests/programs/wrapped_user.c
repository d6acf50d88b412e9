// A plugin that calls the library of wrapped_alloc.
#include <stddef.h>

void* wrapped_alloc(size_t size);
void* wrapped_user(int size) { return wrapped_alloc((size_t)size); }
