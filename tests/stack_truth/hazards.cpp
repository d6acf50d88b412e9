// Everything that makes unwinding hard, at random, in several threads: each step allocates and frees, so each is a capture.
// Usage: hazards SEED ROUNDS
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <thread>
#include <ucontext.h>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace {

thread_local std::uint64_t t_random = 0;

std::uint64_t random_number() {
  t_random ^= t_random << 13;
  t_random ^= t_random >> 7;
  t_random ^= t_random << 17;
  return t_random;
}

NOINLINE void touch() {
  void* block = std::malloc(random_number() % 200);
  asm volatile("" : : "r"(block) : "memory");
  std::free(block);
}

NOINLINE int descend(int depth);

NOINLINE int variable_array(int depth) {
  volatile char array[random_number() % 200 + 1];
  array[0] = static_cast<char>(depth);
  touch();
  const int below = descend(depth - 1);
  touch();
  return below + array[0];
}

NOINLINE int growing_frame(int depth) {
  int sum = 0;
  for (int i = 0; i < 3; ++i) {
    volatile char* more = static_cast<char*>(alloca(random_number() % 300 + 16));
    more[0] = static_cast<char>(i);
    if (random_number() % 2 == 0) sum += descend(depth - 1);
    touch();
  }
  return sum;
}

NOINLINE __attribute__((target("avx2"))) int realigned(int depth) {
  alignas(64) volatile char array[128];
  volatile char* more = static_cast<char*>(alloca(random_number() % 100 + 32));
  array[0] = static_cast<char>(depth);
  more[1] = 2;
  touch();
  const int below = descend(depth - 1);
  touch();
  return below + array[0] + more[1];
}

NOINLINE __attribute__((optimize("no-omit-frame-pointer"))) int framed(int depth) {
  touch();
  const volatile int below = descend(depth - 1);
  touch();
  return below;
}

NOINLINE int thrower(int depth) {
  touch();
  if (random_number() % 5 == 0) throw depth;
  return descend(depth - 1);
}

NOINLINE int catcher(int depth) {
  try {
    return thrower(depth - 1);
  } catch (int) {
    touch();
    return 1;
  }
}

NOINLINE int jumper(int depth) {
  std::jmp_buf back;
  if (setjmp(back) == 0) {
    volatile int below = descend(depth - 1);
    touch();
    if (random_number() % 2 == 0) std::longjmp(back, 1);
    return below;
  }
  touch();
  return 1;
}

NOINLINE int uses_rbx(int depth) {
  const std::uint64_t kept = random_number();
  asm volatile("" : : "b"(kept));
  touch();
  const int below = descend(depth - 1);
  asm volatile("" : : "b"(kept));
  return below;
}

int descend(int depth) {
  if (depth <= 0) {
    touch();
    return 0;
  }
  switch (random_number() % 8) {
  case 0: return variable_array(depth) + 1;
  case 1: return growing_frame(depth) + 1;
  case 2: return realigned(depth) + 1;
  case 3: return framed(depth) + 1;
  case 4: return catcher(depth) + 1;
  case 5: return jumper(depth) + 1;
  case 6: return uses_rbx(depth) + 1;
  default: touch(); return descend(depth - 1) + 2;
  }
}

constexpr std::size_t kStackBytes = std::size_t{256} << 10;
struct Coroutine {
  ucontext_t self;
  ucontext_t back;
  void* stack = nullptr;
};
thread_local Coroutine t_coroutines[3];
thread_local std::size_t t_current = 0;

void run_coroutine() {
  for (;;) {
    descend(static_cast<int>(random_number() % 10));
    Coroutine& coroutine = t_coroutines[t_current];
    swapcontext(&coroutine.self, &coroutine.back);
  }
}

void resume_some_coroutine() {
  t_current = random_number() % 3;
  Coroutine& coroutine = t_coroutines[t_current];
  if (coroutine.stack == nullptr) {
    coroutine.stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    getcontext(&coroutine.self);
    coroutine.self.uc_stack.ss_sp = coroutine.stack;
    coroutine.self.uc_stack.ss_size = kStackBytes;
    coroutine.self.uc_link = nullptr;
    makecontext(&coroutine.self, run_coroutine, 0);
  }
  swapcontext(&coroutine.back, &coroutine.self);
}

void on_signal(int) { touch(); }

void run(std::uint64_t seed, int rounds) {
  t_random = seed * 0x9e3779b97f4a7c15u + 1;
  std::vector<char> alternate(64 << 10);
  stack_t stack{};
  stack.ss_sp = alternate.data();
  stack.ss_size = alternate.size();
  sigaltstack(&stack, nullptr);
  for (int i = 0; i < rounds; ++i) {
    descend(static_cast<int>(5 + random_number() % 12));
    resume_some_coroutine();
    if (i % 20 == 0) std::raise(SIGUSR1);  // on this stack
    if (i % 20 == 10) std::raise(SIGUSR2); // on the alternate one
  }
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
}

} // namespace

int main(int argc, char** argv) {
  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 100;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, nullptr);
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, nullptr);
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 3; ++i) threads.emplace_back(run, seed + i, rounds);
  run(seed + 100, rounds);
  for (std::thread& thread : threads) thread.join();
  std::puts("done");
}
