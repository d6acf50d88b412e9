// Makes and frees one block of a size of its own at each stage of a process's life, from before main to after it.
#include <cstdlib>

#include <pthread.h>

extern "C" void lifetime_library_needed();

namespace {

void one_block(std::size_t size) {
  void* volatile block = std::malloc(size);
  std::free(block);
}

struct Global {
  Global() { one_block(1004); }
  ~Global() { one_block(1010); }
} global;

struct ThreadLocal {
  std::size_t size_at_end = 1008;
  ~ThreadLocal() { one_block(size_at_end); }
};
thread_local ThreadLocal per_thread;

void before_everything() { one_block(1001); }
__attribute__((section(".preinit_array"), used)) void (*const preinit)() = before_everything;
__attribute__((constructor)) void constructor() { one_block(1002); }
__attribute__((destructor)) void destructor() { one_block(1011); }

pthread_key_t key;
void end_of_key(void*) { one_block(1014); }

void* thread(void*) {
  one_block(1006);
  per_thread.size_at_end = 1007;
  pthread_setspecific(key, &key);
  return nullptr;
}

} // namespace

int main(int argc, char**) {
  lifetime_library_needed();
  one_block(1005);
  per_thread.size_at_end = 1008;
  std::atexit([] { one_block(1009); });
  std::at_quick_exit([] { one_block(1012); });
  pthread_key_create(&key, end_of_key);
  pthread_t id;
  pthread_create(&id, nullptr, thread, nullptr);
  pthread_join(id, nullptr);
  if (argc > 1) std::quick_exit(0);
  return 0;
}
