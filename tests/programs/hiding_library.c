/* A variable of a module that may be gone before what it leads to. */
void* g_hidden;
