// What a library does that was opened with RTLD_DEEPBIND; one block lives from its constructor to its destructor.
#include <stdlib.h>

static void* g_block;

__attribute__((constructor)) static void begin(void) { g_block = malloc(3000); }
__attribute__((destructor)) static void end(void) { free(g_block); }

void* plugin_make(size_t size) { return malloc(size); }
void* plugin_grow(void* block, size_t size) { return realloc(block, size); }
void plugin_drop(void* block) { free(block); }
