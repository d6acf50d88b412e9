// pairs MODE DEPTH PAIRS [LIVE]: malloc/free pairs below DEPTH real call frames.
//   fixed   one size, freed at once, the stack unchanged: the recorder's best case
//   sizes   random sizes, otherwise as fixed
//   walk    one pair per leaf of a call tree: the six innermost frames change from pair to pair
//   live    a live set of LIVE blocks: each step replaces a random block by one of a random size
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "keep.h"

namespace {

using bench::keep;
using bench::Random;

struct Work {
  enum Mode { Fixed, Sizes, Walk, Live } mode;
  std::uint64_t pairs;
  std::uint64_t live;
};

std::size_t random_size(Random& random) {
  // Mostly small, as in most programs: 16..143, one in sixteen up to 4 KiB.
  return random.below(16) == 0 ? 16 + random.below(4080) : 16 + random.below(128);
}

void one_pair(std::size_t size) {
  void* block = std::malloc(size);
  keep(block);
  std::free(block);
}

void run_fixed(std::uint64_t pairs) {
  for (std::uint64_t i = 0; i < pairs; ++i) {
    void* block = std::malloc(48);
    keep(block);
    std::free(block);
  }
}

void run_sizes(std::uint64_t pairs) {
  Random random(1);
  for (std::uint64_t i = 0; i < pairs; ++i) {
    void* block = std::malloc(random_size(random));
    keep(block);
    std::free(block);
  }
}

struct WalkState {
  Random random{2};
  std::uint64_t left;
};

template <unsigned Branch>
[[gnu::noinline]] void branch(WalkState& state, unsigned levels);

void fan_out(WalkState& state, unsigned levels) {
  for (int i = 0; i < 2 && state.left > 0; ++i) {
    switch (state.random.below(3)) {
    case 0: branch<0>(state, levels); break;
    case 1: branch<1>(state, levels); break;
    default: branch<2>(state, levels); break;
    }
  }
}

template <unsigned Branch>
[[gnu::noinline]] void branch(WalkState& state, unsigned levels) {
  if (levels > 1) {
    fan_out(state, levels - 1);
  } else {
    one_pair(32 + 16 * Branch);
    --state.left;
  }
  keep(&state);
}

void run_walk(std::uint64_t pairs) {
  WalkState state;
  state.left = pairs;
  while (state.left > 0) fan_out(state, 6);
}

void run_live(std::uint64_t pairs, std::uint64_t live) {
  Random random(3);
  std::vector<void*> blocks(live, nullptr);
  for (void*& block : blocks) block = std::malloc(random_size(random));
  for (std::uint64_t i = 0; i < pairs; ++i) {
    void*& block = blocks[random.below(live)];
    std::free(block);
    block = std::malloc(random_size(random));
    keep(block);
  }
  for (void* block : blocks) std::free(block);
}

void run(const Work& work) {
  switch (work.mode) {
  case Work::Fixed: return run_fixed(work.pairs);
  case Work::Sizes: return run_sizes(work.pairs);
  case Work::Walk: return run_walk(work.pairs);
  case Work::Live: return run_live(work.pairs, work.live);
  }
}

[[gnu::noinline]] unsigned descend(unsigned depth, const Work& work) {
  if (depth == 0) {
    run(work);
    return 0;
  }
  return 1 + descend(depth - 1, work);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  Work work{};
  const char* names[] = {"fixed", "sizes", "walk", "live"};
  bool known = false;
  for (int i = 0; i < 4; ++i) {
    if (std::strcmp(argv[1], names[i]) == 0) {
      work.mode = static_cast<Work::Mode>(i);
      known = true;
    }
  }
  if (!known) return 2;
  const auto depth = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  work.pairs = std::strtoull(argv[3], nullptr, 10);
  work.live = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 10'000;
  return descend(depth, work) == depth ? 0 : 1;
}
