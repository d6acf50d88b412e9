// Suppressions from any bytes, applied to a few stacks.
#include "report/names/stacks_for_test.h"
#include "report/select/suppressions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heaptape;
  test::Stacks program;
  program.add_function("_ZN5Cache6insertEi", "/src/cache.cpp", 12);
  std::vector<StackCost> costs;
  costs.push_back({.stack = program.stack({"main", "run", "_ZN5Cache6insertEi"}), .cost = {100, 2}});
  costs.push_back({.stack = program.stack({"main", "main", "main", "xmalloc"}), .cost = {10, 1}});
  costs.push_back({.stack = StackId(), .cost = {1, 1}});
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  Suppressions suppressions;
  (void)suppressions.add({reinterpret_cast<const char*>(data), size}, "fuzz.supp").ok();
  // Errors at the same stacks; each counts once, or not at all.
  std::uint64_t known = 0;
  for (const StackCost& cost : costs) {
    for (const SuppressionOf of :
         {SuppressionOf::Accesses, SuppressionOf::Releases, SuppressionOf::Mismatches, SuppressionOf::Nothing})
      known += suppressions.suppress(names, {.of = of, .stacks = {cost.stack, StackId()}, .called = "free"}) ? 1 : 0;
  }
  for (const Suppression& entry : suppressions.entries()) known -= entry.errors;
  if (known != 0) __builtin_trap();
  suppressions.apply(names, costs);
  Cost sum = suppressions.suppressed();
  for (const StackCost& cost : costs) sum += cost.cost;
  if (sum != Cost{111, 4}) __builtin_trap();
  return 0;
}
