// Registering a thread_local destructor allocates, inside the allocation that touched the variable first.
// refused: imports __cxa_thread_atexit
namespace gate_sample {
struct Cache {
  constexpr Cache() = default;
  ~Cache() { depth = 0; }
  volatile int depth = 0;
};
thread_local Cache t_cache;
int read_depth() { return t_cache.depth; }
} // namespace gate_sample
