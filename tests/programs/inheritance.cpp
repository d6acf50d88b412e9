// Forks a child that forks a grandchild; each releases some of what it inherited. Prints what it made and did:
//   parent PID, child PID, grandchild PID, then the addresses of the blocks.
// Blocks: ten of 1000 bytes, of which the parent frees three before the fork and all others after it. The child frees
// two, reallocates one, makes one of 77 bytes; the grandchild frees the 77 bytes and one of the first ten.
//   inheritance [exec]   the child does nothing but become another program
//   inheritance wait     the child waits for the end of its input before it forks
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kBlocks = 10;
char* g_blocks[kBlocks];
char* g_own;

[[gnu::noinline]] char* make_for_children(std::size_t size) {
  auto* block = static_cast<char*>(std::malloc(size));
  std::memset(block, 1, size);
  return block;
}
[[gnu::noinline]] char* make_in_child() {
  auto* block = static_cast<char*>(std::malloc(77));
  std::memset(block, 2, 77);
  return block;
}
[[gnu::noinline]] void drop_inherited(char* block) { std::free(block); }

void print_process(const char* name) {
  char line[64];
  const int size = std::snprintf(line, sizeof line, "%s %d\n", name, ::getpid());
  (void)!::write(1, line, static_cast<std::size_t>(size));
}

[[noreturn]] void grandchild() {
  print_process("grandchild");
  drop_inherited(g_own);
  drop_inherited(g_blocks[6]);
  ::_exit(0);
}

[[noreturn]] void child(bool waits) {
  print_process("child");
  drop_inherited(g_blocks[3]);
  drop_inherited(g_blocks[4]);
  g_blocks[5] = static_cast<char*>(std::realloc(g_blocks[5], 5000));
  g_own = make_in_child();
  char line[64];
  const int size = std::snprintf(line, sizeof line, "own %p\n", static_cast<void*>(g_own));
  (void)!::write(1, line, static_cast<std::size_t>(size));
  char byte = 0;
  while (waits && ::read(0, &byte, 1) > 0) {}
  const pid_t pid = ::fork();
  if (pid == 0) grandchild();
  int status = 0;
  ::waitpid(pid, &status, 0);
  ::_exit(status == 0 ? 0 : 1);
}

} // namespace

int main(int argc, char** argv) {
  for (char*& block : g_blocks) block = make_for_children(1000);
  for (int i = 0; i < 3; ++i) std::free(g_blocks[i]);
  print_process("parent");
  for (char* block : g_blocks) std::printf("block %p\n", static_cast<void*>(block));
  std::fflush(stdout);
  const bool only_exec = argc > 1 && std::strcmp(argv[1], "exec") == 0;
  const bool waits = argc > 1 && std::strcmp(argv[1], "wait") == 0;
  const pid_t pid = ::fork();
  if (pid == 0 && only_exec) {
    ::execl("/bin/true", "true", nullptr);
    ::_exit(1);
  }
  if (pid == 0) child(waits);
  // At once, so that the moment of the fork must be known well.
  for (int i = 3; i < kBlocks; ++i) std::free(g_blocks[i]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status == 0 ? 0 : 1;
}
