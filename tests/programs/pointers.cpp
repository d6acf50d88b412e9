// Blocks of known size whose addresses it tells, and a lasting readiness to do what it is told, one word per line on standard input; each is
// answered with "ok":
//   grow N      allocates N blocks of 100 bytes, which stay
//   free        frees the live block
//   where WHAT  heaptape_where() of live+16, freed+8, or of a variable
//   busy        starts two threads that allocate and free without pause
//   abort       ends by abort()
// The end of input ends it with status 5.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <heaptape/heaptape.h>

namespace {

struct Widget {
  char name[777];
};

int g_variable = 7;
std::atomic<bool> g_busy{false};

// Inlined into make_widget, and to be seen in its stack all the same.
[[gnu::always_inline]] inline Widget* allocate_widget() { return static_cast<Widget*>(std::malloc(sizeof(Widget))); }

} // namespace

// Global, so that a debugger finds them by these names whatever is inlined.
[[gnu::noinline]] Widget* make_widget() {
  Widget* widget = allocate_widget();
  std::strcpy(widget->name, "widget");
  return widget;
}
[[gnu::noinline]] void drop_widget(Widget* widget) { std::free(widget); }
[[gnu::noinline]] void stop_here(Widget* live, Widget* freed) { asm volatile("" : : "r"(live), "r"(freed) : "memory"); }

int main() {
  Widget* live = make_widget();
  Widget* freed = make_widget();
  drop_widget(freed);
  std::printf("%p %p %p\n", static_cast<void*>(live), static_cast<void*>(freed), static_cast<void*>(&g_variable));
  std::fflush(stdout);
  stop_here(live, freed);

  std::thread busy[2];
  char line[256];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    char word[64] = "", what[64] = "";
    std::sscanf(line, "%63s %63s", word, what);
    int status = 0;
    if (std::strcmp(word, "grow") == 0) {
      for (int i = std::atoi(what); i > 0; --i) std::memset(std::malloc(100), 1, 100);
    } else if (std::strcmp(word, "free") == 0) {
      drop_widget(live);
    } else if (std::strcmp(word, "where") == 0) {
      const char* pointer = std::strcmp(what, "live") == 0    ? live->name + 16
                            : std::strcmp(what, "freed") == 0 ? freed->name + 8
                                                              : reinterpret_cast<const char*>(&g_variable);
      status = heaptape_where(pointer);
    } else if (std::strcmp(word, "busy") == 0) {
      g_busy = true;
      for (std::thread& thread : busy) {
        thread = std::thread([] {
          while (g_busy) std::free(std::malloc(32));
        });
      }
    } else if (std::strcmp(word, "abort") == 0) {
      std::abort();
    }
    std::printf("ok %d\n", status);
    std::fflush(stdout);
  }
  g_busy = false;
  for (std::thread& thread : busy) {
    if (thread.joinable()) thread.join();
  }
  return 5;
}
