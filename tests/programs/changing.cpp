// Changes its heap step by step and keeps its memory after each: changing STEP...
//
// A snapshot of the name "start" comes first, then one after each step, named after it:
//   grow     300 orders more in the cache, which has 100 at the start: each a block of 200 bytes, a node and a share of the buckets
//   renew    the table is filled anew: a fresh one with 40 routes is swapped with the old one, which goes
//   ring     5 links in a ring, of which a variable holds one
//   lose     a ring of 3 links that nobody knows any more
//   share    one badge that two variables hold, by their holders
//   none     nothing
#include <cstring>
#include <map>
#include <string_view>
#include <unordered_map>

#include <heaptape/heaptape.h>

struct Order {
  char text[200];
};
struct Cache {
  long hits = 0;
  std::unordered_map<unsigned, Order*> entries;
};
struct Route {
  char text[96];
};
struct Link {
  Link* next;
  char rest[56];
};
struct Badge {
  char text[120];
};
struct Desk {
  Badge* badge = nullptr;
  char rest[72];
};

Cache* g_cache;
std::map<unsigned, Route*> g_routes;
Link* g_ring;
Desk *g_left, *g_right;

namespace {

// What a call leaves on the stack or in registers must hold nothing.
__attribute__((noinline)) void scrub() {
  volatile char over[4096];
  for (volatile char& each : over) each = 0;
}

__attribute__((noinline)) void add_orders(unsigned count) {
  const auto first = static_cast<unsigned>(g_cache->entries.size());
  for (unsigned i = 0; i < count; ++i) g_cache->entries.emplace(first + i, new Order());
}

__attribute__((noinline)) void fill_routes() {
  auto* const fresh = new std::map<unsigned, Route*>();
  for (unsigned i = 0; i < 40; ++i) fresh->emplace(i, new Route());
  g_routes.swap(*fresh);
  for (const auto& [number, route] : *fresh) delete route;
  delete fresh;
}

__attribute__((noinline)) Link* make_ring(int count) {
  Link* const first = new Link();
  Link* last = first;
  for (int i = 1; i < count; ++i) last = last->next = new Link();
  last->next = first;
  return first;
}

__attribute__((noinline)) void lose_ring() {
  Link* volatile ring = make_ring(3);
  if (ring->next != nullptr) ring = nullptr;
}

__attribute__((noinline)) void share_badge() { g_left->badge = g_right->badge = new Badge(); }

void take(std::string_view step) {
  if (step == "grow") add_orders(300);
  if (step == "renew") fill_routes();
  if (step == "ring") g_ring = make_ring(5);
  if (step == "lose") lose_ring();
  if (step == "share") share_badge();
}

} // namespace

int main(int count, char** steps) {
  g_cache = new Cache();
  g_left = new Desk();
  g_right = new Desk();
  add_orders(100);
  fill_routes();
  scrub();
  if (heaptape_contents("start") < 0) return 1;
  for (int i = 1; i < count; ++i) {
    take(steps[i]);
    scrub();
    if (heaptape_contents(steps[i]) < 0) return 1;
  }
  return 0;
}
