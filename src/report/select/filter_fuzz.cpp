// Filters from any bytes, bound to a small program and asked about a few events and blocks.
#include "report/names/stacks_for_test.h"
#include "report/select/filter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heaptape;
  // Repetitions and references back would only show how long the C library can be kept busy by a regular expression.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool has_pattern = text.find('~') != text.npos;
  if (size > 1024 || (has_pattern && text.find_first_of("{\\") != text.npos)) return 0;
  test::Stacks program;
  program.add_function("_ZN5Cache6insertEi", "/src/cache.cpp", 12);
  const StackId stack = program.stack({"main", "run", "_ZN5Cache6insertEi"});
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  const std::vector<Thread> threads{{.id = ThreadId(1), .tid = 700, .name = "main"},
                                    {.id = ThreadId(2), .tid = 701, .name = "worker"}};
  const auto moment = [](const std::string& name) -> Result<Moment> {
    if (name == "peak") return Moment{2, 2000};
    return Error{ErrorCode::NotFound, "no such moment"};
  };
  const auto in = [](std::uint64_t value, std::uint64_t first, std::uint64_t last) {
    return value >= first && value <= last;
  };
  for (const FilterOf of : {FilterOf::Events, FilterOf::Blocks}) {
    Result<Filter> filter = Filter::parse(text, of, FilterNames{names, threads, moment});
    if (!filter) {
      // Every sentence comes with the filter and a caret.
      if (filter.error().sentence.back() != '^' || filter.error().offset > size) __builtin_trap();
      continue;
    }
    const Filter::Bounds& bounds = filter.value().bounds();
    for (std::uint64_t number = 1; number <= 4; ++number) {
      const Event event{.number = number,
                        .time_us = number * 1000,
                        .address = 0x1000 * number,
                        .size = number * 100,
                        .stack = number % 2 != 0 ? stack : StackId(),
                        .thread = ThreadId(static_cast<std::uint32_t>(1 + number % 2)),
                        .kind = number % 2 != 0 ? EventKind::Malloc : EventKind::Free};
      const BlockFacts block{.block = {event.address, event.size, number, event.time_us},
                             .owner = {event.stack, event.thread},
                             .kind = event.kind,
                             .now_us = 5000,
                             .freed = number > 2,
                             .freed_event = 5,
                             .freed_us = 4500};
      const bool matched = of == FilterOf::Events ? filter.value().matches(event) : filter.value().matches(block);
      const bool inside = in(number, bounds.first_event, bounds.last_event) &&
                          in(event.time_us, bounds.first_us, bounds.last_us) &&
                          in(event.address, bounds.first_address, bounds.last_address);
      if (matched && !inside) __builtin_trap();
    }
  }
  return 0;
}
