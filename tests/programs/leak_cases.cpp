// Blocks whose class depends on how others lead to them. `leak_cases cases|trees|rings` prints "ready" and waits for the end of its input. Every block
// is made by a function that is named after its class as memcheck counts: 32 bytes each.
//
//   cases   all ways over at most one other block, each reference to the start of a block or to its middle
//   trees   binary trees: held, held by a part, lost at the top, lost below a held node, and lost with two ways to one leaf
//   rings   rings, alone, with tails, through each other, held and held in the middle
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

constexpr std::size_t kBytes = 32;

struct Node {
  Node* left;
  Node* right;
  long rest[2];
};
static_assert(sizeof(Node) == kBytes);

// With external linkage, so that no compiler leaves out what is written to it.
void* g_held[64];

namespace {

int g_count = 0;

void hold(void* pointer) { g_held[g_count++] = pointer; }

// The name keeps compilers from making one function of all.
#define MAKER(name)                                                                                                    \
  [[gnu::noinline]] Node* name() {                                                                                     \
    void* block = std::calloc(1, kBytes);                                                                              \
    asm volatile("# " #name : "+r"(block));                                                                            \
    return static_cast<Node*>(block);                                                                                  \
  }
MAKER(reachable)
MAKER(possibly)
MAKER(definitely)
MAKER(indirectly)

Node* middle(Node* node) { return reinterpret_cast<Node*>(reinterpret_cast<char*>(node) + 12); }

Node* to(Node* node, Node* left, Node* right = nullptr) {
  node->left = left;
  node->right = right;
  asm volatile("" : : "r"(node) : "memory"); // writing to what is lost counts
  return node;
}

[[gnu::noinline]] void make_cases() {
  hold(reachable());                                // variable -> block
  hold(to(reachable(), reachable()));               // variable -> a -> block
  definitely();                                     // block
  to(definitely(), indirectly());                   // a -> block
  hold(middle(possibly()));                         // variable -?-> block
  hold(to(reachable(), middle(possibly())));        // variable -> a -?-> block
  hold(middle(to(possibly(), possibly())));         // variable -?-> a -> block
  hold(middle(to(possibly(), middle(possibly())))); // variable -?-> a -?-> block
  to(definitely(), middle(indirectly()));           // a -?-> block
  // Two ways: the better one counts.
  Node* const both = reachable();
  hold(middle(both));
  hold(both);
  Node* const later = reachable();
  hold(middle(to(possibly(), later)));
  hold(to(reachable(), later));
}

[[gnu::noinline]] void make_trees() {
  // Held at the top.
  hold(to(reachable(), to(reachable(), reachable(), reachable()), reachable()));
  // Lost at the top: one cause, six below it.
  to(definitely(), to(indirectly(), indirectly(), indirectly()), to(indirectly(), indirectly(), indirectly()));
  // Lost at the top, but a variable holds the left part.
  Node* const part = to(reachable(), reachable(), reachable());
  hold(part);
  to(definitely(), part, indirectly());
  // A held node gave up its right part.
  hold(to(reachable(), reachable(), nullptr));
  to(definitely(), indirectly());
  // Two lost tops share a leaf, which counts once.
  Node* const leaf = indirectly();
  to(definitely(), leaf);
  to(definitely(), leaf);
  // A middle reference from the tree's top spoils all below.
  hold(to(reachable(), middle(to(possibly(), possibly(), possibly()))));
}

[[gnu::noinline]] void make_rings() {
  // One block that leads to itself.
  Node* const self = definitely();
  to(self, self);
  // Two, and a tail.
  Node* const first = definitely();
  to(first, to(indirectly(), first), to(indirectly(), nullptr));
  // Something lost leads into a ring: it is the cause, whatever the addresses.
  Node* const ring = indirectly();
  to(ring, to(indirectly(), ring));
  to(definitely(), ring);
  // Two rings, the first leads to the second.
  Node* const second = indirectly();
  to(second, to(indirectly(), second));
  Node* const leading = definitely();
  to(leading, to(indirectly(), leading), second);
  // A list that is linked both ways, held at one node.
  Node *const a = reachable(), *const b = reachable(), *const c = reachable();
  to(a, c, b), to(b, a, c), to(c, b, a);
  hold(b);
  // The same, held in the middle of a node only.
  Node *const d = possibly(), *const e = possibly();
  to(d, e, e), to(e, d, d);
  hold(middle(e));
}

// What the calls before have left on the stack and in registers.
[[gnu::noinline]] void wipe() {
  volatile char room[16384];
  for (volatile char& byte : room) byte = 0;
  if (__builtin_cpu_supports("avx")) asm volatile("vzeroall" : : : "memory");
}

} // namespace

int main(int count, char** arguments) {
  const char* const what = count > 1 ? arguments[1] : "";
  if (std::strcmp(what, "cases") == 0) make_cases();
  if (std::strcmp(what, "trees") == 0) make_trees();
  if (std::strcmp(what, "rings") == 0) make_rings();
  wipe();
  // Without the buffers of stdio, so that there are no other blocks.
  if (write(1, "ready\n", 6) != 6) return 1;
  wipe();
  char byte;
  while (read(0, &byte, 1) > 0) {}
  return 0;
}
