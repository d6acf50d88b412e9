/* The names that exports.map promises. With EXTRA_EXPORT one more, with MISSING_EXPORT one less. */
#include <stddef.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void* gate_sample_malloc(size_t size) { return size == (size_t)getpid() ? NULL : (void*)size; }

#ifndef MISSING_EXPORT
EXPORT void gate_sample_free(void* block) { (void)block; }
#endif

#ifdef EXTRA_EXPORT
EXPORT int gate_sample_extra(void) { return 1; }
#endif

#ifdef USES_MATH
#include <math.h>
EXPORT void gate_sample_math(double* value) { *value = cos(*value); }
#endif
