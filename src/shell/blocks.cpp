// The live blocks at the cursor, one by one.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/select/filter.h"
#include "shell/all_commands.h"
#include "shell/describe.h"

namespace heaptape {
namespace {

enum class Order : std::uint8_t { Largest, Smallest, Oldest, Newest, Address, Stack };

Result<Order> order_of(const std::optional<std::string>& word) {
  if (!word || *word == "largest" || *word == "size") return Order::Largest;
  if (*word == "smallest") return Order::Smallest;
  if (*word == "oldest" || *word == "age") return Order::Oldest;
  if (*word == "newest") return Order::Newest;
  if (*word == "address") return Order::Address;
  if (*word == "stack") return Order::Stack;
  return Error{ErrorCode::Usage, "--by is largest, smallest, oldest, newest, address or stack, not '" + *word + "'"};
}

bool comes_first(Order order, const HeapState& state, const Block& a, const Block& b) {
  switch (order) {
  case Order::Largest: return std::pair(b.size, a.event) < std::pair(a.size, b.event);
  case Order::Smallest: return std::pair(a.size, a.event) < std::pair(b.size, b.event);
  case Order::Oldest: return a.event < b.event;
  case Order::Newest: return a.event > b.event;
  case Order::Address: return a.address < b.address;
  case Order::Stack: {
    const StackId one = state.owners()[a.owner].stack, other = state.owners()[b.owner].stack;
    return std::pair(one, a.event) < std::pair(other, b.event);
  }
  }
  return false;
}

// How each live block was made, by the event that made it: one way through the events, for there may be many blocks.
std::unordered_map<std::uint64_t, EventKind> kinds_of(const Session& session, const HeapState& state) {
  std::vector<std::uint64_t> wanted;
  wanted.reserve(state.blocks().size());
  state.blocks().for_each([&](const Block& block) { wanted.push_back(block.event); });
  std::sort(wanted.begin(), wanted.end());
  std::unordered_map<std::uint64_t, EventKind> kinds;
  if (wanted.empty()) return kinds;
  EventCursor cursor = session.tape().events(wanted.front());
  auto next = wanted.begin();
  for (auto run = cursor.next_run_until(wanted.back()); !run.empty() && !session.should_stop();
       run = cursor.next_run_until(wanted.back())) {
    for (; next != wanted.end() && *next <= run.back().number; ++next) {
      if (*next >= run.front().number) kinds[*next] = run[*next - run.front().number].kind;
    }
  }
  return kinds;
}

Result<> blocks(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json"), all = call.flag("--all"), with_stacks = call.flag("--stacks");
  const Result<Order> order = order_of(call.option("--by"));
  if (!order) return order.error();
  const bool limited = json && call.option("-n");
  const Result<std::uint64_t> most = call.count("-n", 20);
  if (!most) return most.error();
  std::size_t rows = most.value();
  const std::string text = call.rest();
  Result<Filter> filter = Filter::parse(text, FilterOf::Blocks, session.view());
  if (!filter) return filter.error();

  HeapCursor& heap = session.heap();
  std::vector<Block> found;
  Cost total;
  const std::unordered_map<std::uint64_t, EventKind> kinds =
      filter.value().needs_kind() ? kinds_of(session, heap.state()) : std::unordered_map<std::uint64_t, EventKind>();
  if (session.should_stop()) return Unit{};
  heap.state().blocks().for_each([&](const Block& block) {
    BlockFacts facts{
        .block = block, .owner = heap.owner_of(block), .kind = EventKind::None, .now_us = session.time_us()};
    if (const auto kind = kinds.find(block.event); kind != kinds.end()) facts.kind = kind->second;
    if (!filter.value().matches(facts)) return;
    total += Cost::of(block.size);
    found.push_back(block);
  });
  if (all || (json && !limited)) rows = found.size();
  rows = std::min(rows, found.size());
  const auto middle = found.begin() + static_cast<std::ptrdiff_t>(rows);
  std::partial_sort(found.begin(), middle, found.end(),
                    [&](const Block& a, const Block& b) { return comes_first(order.value(), heap.state(), a, b); });
  if (json) {
    for (auto block = found.begin(); block != middle; ++block) {
      JsonWriter line;
      write_block_json(line, session, session.stacks(), *block);
      if (!out.print(line.text() + "\n")) break;
    }
    return Unit{};
  }
  out.print(fmt::format("{:<14} {:>11} {:>9} {:>11} {:<4} {}\n", "address", "size", "age", "event", "thr", "made by"));
  Cost shown;
  for (auto block = found.begin(); block != middle; ++block) {
    const Owner who = heap.owner_of(*block);
    shown += Cost::of(block->size);
    std::string line = fmt::format(
        "{:<14} {:>11} {:>9} {:>11} {:<4} {}", hex(block->address), with_separators(block->size),
        duration_text(session.time_us() - std::min(session.time_us(), block->time_us)), with_separators(block->event),
        "T" + std::to_string(who.thread.value), with_stacks ? std::string() : session.stacks().chain(who.stack, 2));
    if (session.style.width != 0 && !with_stacks) line = shortened(line, session.style.width);
    line += "\n";
    if (with_stacks) line += session.stacks().frames(who.stack, "    ", session.style);
    if (!out.print(line) || session.should_stop()) return Unit{};
  }
  if (found.size() > rows) {
    out.print(fmt::format("... and {} of {}; -n N shows more, --all all\n", count_of(found.size() - rows, "more block"),
                          bytes_text(total.bytes - shown.bytes)));
  }
  out.print(fmt::format("{} in {}{}\n", exact_bytes_text(total.bytes), count_of(total.blocks, "block"),
                        text.empty() ? " live" : " match"));
  return Unit{};
}

constexpr CommandOption kOptions[] = {
    {"--by ORDER", "largest (default), smallest, oldest, newest, address or stack",
     "largest smallest oldest newest address stack"},
    {"-n N", "show N blocks (default: 20)"},
    {"--all", "show all blocks"},
    {"--stacks", "with every frame"},
    {"--json", "one object per line"},
};

} // namespace

const Command kBlocksCommand{.name = "blocks",
                             .arguments = "[FILTER]",
                             .summary = "the live blocks, by size, age, address or stack",
                             .help = "",
                             .example = "blocks size>4k and age>10s and fn~\"Cache\" --by oldest",
                             .group = CommandGroup::Memory,
                             .takes = Takes::Filter,
                             .run = blocks,
                             .alias = "b",
                             .options = kOptions};

} // namespace heaptape
