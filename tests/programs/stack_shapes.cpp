// Allocates at known depths: the block made under D frames of descend() has 10000 + D bytes, whatever happened to the
// stack before. Each shape prints how many blocks it made.
//
// usage: stack_shapes exceptions|longjmp|coroutines|alloca|deep [DEPTH]
#include <alloca.h>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <ucontext.h>

namespace {

enum class Leave { Return, Throw, Longjmp, Yield };

int blocks_made = 0;
unsigned random_state = 12345;
std::jmp_buf jump_target;
ucontext_t main_context;
ucontext_t coroutine_contexts[4];
char coroutine_stacks[4][256 * 1024];
int current_coroutine = 0;

unsigned next_random() { return random_state = random_state * 1664525u + 1013904223u; }

} // namespace

extern "C" {

__attribute__((noinline)) void make_block(unsigned depth) {
  void* volatile block = std::malloc(10000 + depth);
  std::free(block);
  ++blocks_made;
}

// Frames of a size the compiler does not know, so that the frame pointer is needed to leave them.
__attribute__((noinline)) void descend_with_alloca(unsigned depth, unsigned deepest) {
  char* volatile room = static_cast<char*>(alloca(16 + next_random() % 500));
  room[0] = static_cast<char>(depth);
  make_block(depth);
  if (depth != deepest) descend_with_alloca(depth + 1, deepest);
  make_block(depth);
}

__attribute__((noinline)) void descend(unsigned depth, unsigned deepest, Leave leave) {
  make_block(depth);
  if (depth == deepest) {
    if (leave == Leave::Throw) throw 1;
    if (leave == Leave::Longjmp) std::longjmp(jump_target, 1);
    if (leave == Leave::Yield) swapcontext(&coroutine_contexts[current_coroutine], &main_context);
  } else {
    descend(depth + 1, deepest, leave);
  }
  make_block(depth);
}

__attribute__((noinline)) void coroutine() {
  for (;;) descend(1, 1 + next_random() % 20, Leave::Yield);
}
}

namespace {

void exceptions() {
  for (int i = 0; i != 300; ++i) {
    try {
      descend(1, 1 + next_random() % 30, Leave::Throw);
    } catch (int) {
      make_block(0);
    }
  }
}

void long_jumps() {
  static int round; // survives the jump
  for (round = 0; round != 300; ++round) {
    if (setjmp(jump_target) == 0) descend(1, 1 + next_random() % 30, Leave::Longjmp);
    make_block(0);
  }
}

void coroutines() {
  for (int i = 0; i != 4; ++i) {
    getcontext(&coroutine_contexts[i]);
    coroutine_contexts[i].uc_stack.ss_sp = coroutine_stacks[i];
    coroutine_contexts[i].uc_stack.ss_size = sizeof coroutine_stacks[i];
    coroutine_contexts[i].uc_link = &main_context;
    makecontext(&coroutine_contexts[i], coroutine, 0);
  }
  for (int i = 0; i != 600; ++i) {
    current_coroutine = static_cast<int>(next_random() >> 16) % 4;
    swapcontext(&main_context, &coroutine_contexts[current_coroutine]);
    make_block(0);
  }
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view shape = argc > 1 ? argv[1] : "";
  const unsigned depth = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 40;
  if (shape == "exceptions")
    exceptions();
  else if (shape == "longjmp")
    long_jumps();
  else if (shape == "coroutines")
    coroutines();
  else if (shape == "alloca")
    for (int i = 0; i != 200; ++i) descend_with_alloca(1, 1 + next_random() % 30);
  else if (shape == "deep")
    descend(1, depth, Leave::Return);
  else
    return 2;
  std::printf("%d blocks\n", blocks_made);
  return 0;
}
