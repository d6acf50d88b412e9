// What language runtimes and the C library set up for themselves, once, and keep until the end: libstdc++'s memory for exceptions, the
// buffer of stdout, the tables of a garbage collector. It is in every program and nobody's leak, so that reports name it and set it
// apart.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/names/charged_function.h"
#include "report/names/stack_names.h"
#include "report/select/stack_cost.h"

namespace heaptape {

struct RuntimePool {
  std::string_view name; // "libstdc++'s emergency pool"
  Cost cost{};
};

// One thread at a time; the names must outlive it.
class RuntimePools {
public:
  explicit RuntimePools(StackNames& names) : names_(names), plumbing_(names) {}

  // Whose pool the blocks of a stack are; empty: nobody's, they are the program's.
  std::string_view of(std::span<const FrameId> frames);
  std::string_view of(StackId stack);

  // Takes pools out of `costs`. The result has them summed up, the largest first.
  std::vector<RuntimePool> take_from(std::vector<StackCost>& costs);

private:
  // What a frame's names say, so that they are read once, however many stacks it is in.
  struct Traits {
    std::string_view around{}, inside{}, runtime{}; // pools that it is a sign of; empty: of none
    bool makes_buffer = false, writes_stdout = false, makes_once = false, is_rust_stdio = false, starts_rust = false;
    bool is_loader = false, known = false;
  };
  const Traits& traits_of(FrameId frame);

  StackNames& names_;
  Plumbing plumbing_;
  std::vector<Traits> traits_;                                   // by FrameId
  std::unordered_map<std::uint32_t, std::string_view> by_stack_; // those asked for
};

Cost sum_of(std::span<const RuntimePool> pools);
// "libstdc++'s emergency pool 72.7 kB, stdout's buffer 1.02 kB": the largest few.
std::string runtime_pools_text(std::span<const RuntimePool> pools);

} // namespace heaptape
