// Prints what operator new and delete do when memory is short or the request is odd. Built twice: as it is, and with
// REPLACE_SCALAR, where the program replaces the scalar operators and the library's other forms must go through them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <new>

#include <malloc.h>
#include <sys/resource.h>

#ifdef REPLACE_SCALAR
static int own_news;
static int own_deletes;

void* operator new(std::size_t size) {
  ++own_news;
  if (size > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* block) noexcept {
  ++own_deletes;
  std::free(block);
}
#endif

namespace {

constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max() / 2 - 4096;

std::size_t opaque(std::size_t value) {
  volatile std::size_t copy = value;
  return copy;
}

template <class Call>
void try_to(const char* what, Call call) {
  try {
    void* block = call();
    std::printf("%s: %s\n", what, block != nullptr ? "block" : "null");
  } catch (const std::bad_alloc& error) {
    std::printf("%s: threw %s\n", what, error.what());
  } catch (int number) {
    std::printf("%s: threw the handler's %d\n", what, number);
  }
}

int handler_calls = 0;

void removes_itself_at_third_call() {
  std::printf("  handler call %d\n", ++handler_calls);
  if (handler_calls == 3) std::set_new_handler(nullptr);
}
void throws_bad_alloc() { throw std::bad_alloc(); }
void throws_a_number() { throw 42; }

// No new memory to be had until the handler lifts the limit: the second attempt must succeed.
void set_address_space(rlim_t soft) {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
  setrlimit(RLIMIT_AS, &limit);
}
void lifts_the_limit() {
  std::printf("  handler lifts the limit\n");
  set_address_space(RLIM_INFINITY);
}

struct Thrower {
  Thrower() { throw 7; }
  long fields[10];
};

void every_huge_request() {
  constexpr std::align_val_t wide{128};
  const std::size_t huge = opaque(kHuge);
  try_to("new", [&] { return ::operator new(huge); });
  try_to("new[]", [&] { return ::operator new[](huge); });
  try_to("new aligned", [&] { return ::operator new(huge, wide); });
  try_to("new[] aligned", [&] { return ::operator new[](huge, wide); });
  try_to("new nothrow", [&] { return ::operator new(huge, std::nothrow); });
  try_to("new[] nothrow", [&] { return ::operator new[](huge, std::nothrow); });
  try_to("new aligned nothrow", [&] { return ::operator new(huge, wide, std::nothrow); });
  try_to("new[] aligned nothrow", [&] { return ::operator new[](huge, wide, std::nothrow); });
}

void ordinary_requests() {
  for (std::size_t alignment = 1; alignment <= 65536; alignment *= 4) {
    void* block = ::operator new (opaque(10), std::align_val_t{alignment});
    void* array = ::operator new[](opaque(10), std::align_val_t{alignment}, std::nothrow);
    const bool aligned = reinterpret_cast<std::uintptr_t>(block) % alignment == 0 &&
                         reinterpret_cast<std::uintptr_t>(array) % alignment == 0;
    std::printf("alignment %zu: %d\n", alignment, aligned);
    ::operator delete (block, std::align_val_t{alignment});
    ::operator delete[](array, std::align_val_t{alignment});
  }
  try_to("alignment that is no power of two", [] { return ::operator new (opaque(10), std::align_val_t{opaque(3)}); });
  void* zero = ::operator new(opaque(0));
  void* other = ::operator new[](opaque(0));
  std::printf("zero bytes: %d, usable %zu\n", zero != nullptr && zero != other, malloc_usable_size(zero));
  ::operator delete(zero);
  ::operator delete[](other);
  ::operator delete(nullptr);
  ::operator delete[](nullptr);
  int* ints = new int[opaque(100)]();
  delete[] ints;
}

} // namespace

int main() {
  every_huge_request();
  std::set_new_handler(removes_itself_at_third_call);
  every_huge_request();
  handler_calls = 0;
  std::set_new_handler(throws_bad_alloc);
  every_huge_request();
  std::set_new_handler(throws_a_number);
  try_to("new", [] { return ::operator new(opaque(kHuge)); });
  std::set_new_handler(lifts_the_limit);
  set_address_space(1);
  try_to("new after more room was made", [] {
    void* block = ::operator new(opaque(std::size_t{64} << 20));
    ::operator delete(block);
    return block;
  });
  set_address_space(RLIM_INFINITY);
  std::set_new_handler(nullptr);
  ordinary_requests();
  try {
    const std::size_t count = opaque(std::numeric_limits<std::size_t>::max() / 2);
    delete[] new long[count];
  } catch (const std::bad_array_new_length& error) {
    std::printf("too many elements: %s\n", error.what());
  }
  try {
    delete new Thrower;
  } catch (int number) {
    std::printf("a constructor threw %d\n", number);
  }
#ifdef REPLACE_SCALAR
  std::printf("own operator new called %d times, delete %d times\n", own_news, own_deletes);
#endif
  return 0;
}
