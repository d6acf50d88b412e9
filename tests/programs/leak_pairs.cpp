// Pairs of functions: the bad one loses what it allocates, the good one releases it. Eight ways to allocate times eight ways for the pointer to go
// through the function; each bad function is called once. `leak_pairs` calls all, `leak_pairs bad|good KIND FLOW` one of them. Prints "ready" and
// waits for the end of its input.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

namespace {

struct TwoNumbers {
  long one, two;
};
class Account {
public:
  virtual ~Account() = default;
  long balance = 0;
};
class Savings final : public Account {
public:
  Savings() : history_(new long[6]()) {}
  Savings(const Savings&) = delete;
  Savings& operator=(const Savings&) = delete;
  ~Savings() override { delete[] history_; }

private:
  long* history_;
};
struct Named {
  char* name;
  long number;
};

struct Malloc {
  static constexpr std::string_view kName = "malloc";
  // Written to: what the allocator leaves in new memory may be addresses.
  static char* make() { return static_cast<char*>(std::memset(std::malloc(100), 'x', 100)); }
  static void release(char* data) { std::free(data); }
};
struct Calloc {
  static constexpr std::string_view kName = "calloc";
  static long* make() { return static_cast<long*>(std::calloc(100, sizeof(long))); }
  static void release(long* data) { std::free(data); }
};
struct Realloc {
  static constexpr std::string_view kName = "realloc";
  static wchar_t* make() {
    void* data = std::realloc(nullptr, 50 * sizeof(wchar_t));
    asm volatile("" : "+r"(data) : : "memory");
    return static_cast<wchar_t*>(std::realloc(data, 5000 * sizeof(wchar_t)));
  }
  static void release(wchar_t* data) { std::free(data); }
};
struct Strdup {
  static constexpr std::string_view kName = "strdup";
  static char* make() { return ::strdup("a text of 25 characters.."); }
  static void release(char* data) { std::free(data); }
};
struct New {
  static constexpr std::string_view kName = "new";
  static TwoNumbers* make() { return new TwoNumbers{1, 2}; }
  static void release(TwoNumbers* data) { delete data; }
};
struct NewArray {
  static constexpr std::string_view kName = "new_array";
  static Savings* make() { return new Savings[3]; } // with a count in front
  static void release(Savings* data) { delete[] data; }
};
struct Object {
  static constexpr std::string_view kName = "object";
  static Account* make() { return new Savings; }
  static void release(Account* data) { delete data; }
};
struct Struct {
  static constexpr std::string_view kName = "struct";
  static Named* make() {
    auto* const data = static_cast<Named*>(std::malloc(sizeof(Named)));
    *data = {::strdup("a name"), 5};
    return data;
  }
  static void release(Named* data) {
    std::free(data->name);
    std::free(data);
  }
};

int g_five = 5; // not a constant, so that both ways stay in the program

// The compiler must not know what happens to it.
template <class T>
void use(T& data) {
  asm volatile("" : "+r"(data) : : "memory");
}

struct Plain {
  static constexpr std::string_view kName = "plain";
  template <class Kind>
  static void run(bool release) {
    auto* data = Kind::make();
    use(data);
    if (release) Kind::release(data);
  }
};
struct Condition {
  static constexpr std::string_view kName = "condition";
  template <class Kind>
  static void run(bool release) {
    decltype(Kind::make()) data = nullptr;
    if (g_five == 5) data = Kind::make();
    use(data);
    if (g_five == (release ? 5 : 6)) Kind::release(data);
  }
};
struct Switch {
  static constexpr std::string_view kName = "switch";
  template <class Kind>
  static void run(bool release) {
    decltype(Kind::make()) data = nullptr;
    switch (g_five + 1) {
    case 6: data = Kind::make(); break;
    default: break;
    }
    use(data);
    switch (release ? g_five + 2 : g_five) {
    case 7: Kind::release(data); break;
    default: break;
    }
  }
};
struct Goto {
  static constexpr std::string_view kName = "goto";
  template <class Kind>
  static void run(bool release) {
    auto* data = Kind::make();
    if (!release) goto end;
    Kind::release(data);
    return;
  end:
    use(data);
  }
};
struct Loop {
  static constexpr std::string_view kName = "loop";
  template <class Kind>
  static void run(bool release) {
    decltype(Kind::make()) data = nullptr;
    for (int i = 0; i < g_five; ++i) { // each pass forgets the one before
      data = Kind::make();
      use(data);
      if (release || i != 2) Kind::release(data);
    }
  }
};
struct Callback {
  static constexpr std::string_view kName = "callback";
  template <class Kind>
  static void run(bool release) {
    using Data = decltype(Kind::make());
    void (*sink)(Data) = release ? [](Data data) { Kind::release(data); } : [](Data data) { use(data); };
    use(sink);
    sink(Kind::make());
  }
};
struct Container {
  static constexpr std::string_view kName = "container";
  template <class Kind>
  static void run(bool release) {
    std::map<int, std::vector<decltype(Kind::make())>> held;
    held[2].push_back(Kind::make());
    if (release) Kind::release(held[2].front());
  }
};
struct Destructor {
  static constexpr std::string_view kName = "destructor";
  template <class Kind>
  struct Owner {
    explicit Owner(bool release) : release_(release) {}
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    ~Owner() {
      if (release_) Kind::release(data_);
    }
    bool release_;
    decltype(Kind::make()) data_ = Kind::make();
  };
  template <class Kind>
  static void run(bool release) {
    auto* owner = new Owner<Kind>(release);
    use(owner);
    delete owner;
  }
};

// A call stack of its own for each.
template <class Kind, class Flow>
[[gnu::noinline]] void bad() {
  Flow::template run<Kind>(false);
  asm volatile("");
}
template <class Kind, class Flow>
[[gnu::noinline]] void good() {
  Flow::template run<Kind>(true);
  asm volatile("");
}

// What the calls before have left on the stack and in registers.
[[gnu::noinline]] void wipe() {
  volatile char room[16384];
  for (volatile char& byte : room) byte = 0;
  asm volatile("xor %%r8d, %%r8d\n xor %%r9d, %%r9d\n xor %%r10d, %%r10d\n xor %%r11d, %%r11d"
               :
               :
               : "r8", "r9", "r10", "r11", "cc");
  if (__builtin_cpu_supports("avx")) asm volatile("vzeroall" : : : "memory");
}

struct Wish {
  std::string_view half, kind, flow; // empty: all
};

template <class Kind, class Flow>
void pair(const Wish& wish) {
  if ((!wish.kind.empty() && wish.kind != Kind::kName) || (!wish.flow.empty() && wish.flow != Flow::kName)) return;
  if (wish.half != "good") bad<Kind, Flow>();
  if (wish.half != "bad") good<Kind, Flow>();
}
template <class Kind>
void pairs(const Wish& wish) {
  pair<Kind, Plain>(wish);
  pair<Kind, Condition>(wish);
  pair<Kind, Switch>(wish);
  pair<Kind, Goto>(wish);
  pair<Kind, Loop>(wish);
  pair<Kind, Callback>(wish);
  pair<Kind, Container>(wish);
  pair<Kind, Destructor>(wish);
}

} // namespace

int main(int count, char** arguments) {
  const auto word = [&](int number) {
    return number < count ? std::string_view(arguments[number]) : std::string_view();
  };
  const Wish wish{word(1), word(2), word(3)};
  pairs<Malloc>(wish);
  pairs<Calloc>(wish);
  pairs<Realloc>(wish);
  pairs<Strdup>(wish);
  pairs<New>(wish);
  pairs<NewArray>(wish);
  pairs<Object>(wish);
  pairs<Struct>(wish);
  if (wish.half.empty()) wipe();
  if (write(1, "ready\n", 6) != 6) return 1;
  char byte;
  while (read(0, &byte, 1) > 0) {}
  return 0;
}
