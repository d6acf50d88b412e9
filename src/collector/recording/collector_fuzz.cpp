// Hostile shared memory: the input is a script that writes into claims, slots, records, nodes, the module log and the header while
// the collector drains, and goes on writing while it takes out the rest at the end. Nothing may crash, hang, or need unbounded memory, and what comes out must be well formed.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "base/check.h"
#include "collector/observe/module_follower.h"
#include "collector/recording/fake_program.h"

namespace heaptape {
namespace {

struct OrderSink {
  void add(const Event& event, std::uint64_t allocated_at) {
    HT_CHECK(event.number == ++count);
    HT_CHECK(event.time_us >= last_us);
    HT_CHECK(allocated_at < event.number);
    HT_CHECK(event.kind != EventKind::None && event.kind < EventKind::TapeKinds);
    last_us = event.time_us;
  }
  std::uint64_t count = 0;
  std::uint64_t last_us = 0;
};

class Script {
public:
  Script(const std::uint8_t* data, std::size_t size) : data_(data), end_(data + size) {}
  bool done() const { return data_ == end_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - data_); }
  template <class T>
  T take() {
    T value{};
    const std::size_t size = std::min<std::size_t>(sizeof value, static_cast<std::size_t>(end_ - data_));
    std::memcpy(&value, data_, size);
    data_ += size;
    return value;
  }

private:
  const std::uint8_t* data_;
  const std::uint8_t* end_;
};

constexpr std::uint32_t kSlots = 8;
constexpr std::uint32_t kRecords = 32;
constexpr std::uint32_t kNodes = 64;

// Made once: a new memfd for every input would be most of the time.
FakeProgram& program() {
  static auto* one = new FakeProgram(kSlots, kRecords);
  return *one;
}

void clear(FakeProgram& fake) {
  fake.memory.claims()[0] = 0;
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    std::memset(static_cast<void*>(&fake.memory.slot(i)), 0, sizeof(wire::ThreadSlot));
    std::memset(static_cast<void*>(fake.memory.ring(i)), 0, kRecords * sizeof(wire::Record));
  }
  std::memset(static_cast<void*>(const_cast<wire::StackNode*>(fake.memory.nodes())), 0,
              kNodes * sizeof(wire::StackNode));
  std::memset(fake.memory.module_log(), 0, 8192);
  fake.header.module_log_used = 0;
  fake.next_node = 1;
  fake.header.waiting = 0;
}

void write(FakeProgram& fake, Script& script) {
  const auto what = script.take<std::uint8_t>();
  const std::uint32_t index = script.take<std::uint8_t>();
  wire::ThreadSlot& slot = fake.memory.slot(index % kSlots);
  wire::Record* ring = fake.memory.ring(index % kSlots);
  switch (what % 11) {
  case 0:
    slot.state = script.take<std::uint8_t>() % 4;
    fake.memory.claims()[0].fetch_or(wire::claim_bit(index % kSlots));
    break;
  case 1: slot.busy = script.take<std::uint8_t>(); break;
  case 2:
    slot.reserved = script.take<std::uint8_t>() % 4 == 0 ? script.take<std::uint64_t>() : slot.reserved + 3;
    break;
  case 3: { // a well-formed record where the recorder would put it
    const std::uint64_t position = slot.reserved.fetch_add(1);
    wire::Record& record = ring[position % kRecords];
    record.word1 = script.take<std::uint16_t>() * std::uint64_t{16};
    record.word2 = script.take<std::uint16_t>() | std::uint64_t{script.take<std::uint8_t>()} << 32; // 1: borrowed
    const std::uint64_t kind = script.take<std::uint8_t>() % 61;
    record.word0 = std::uint64_t{script.take<std::uint16_t>()} << 8 | wire::phase_of_lap(position / kRecords) | kind;
    break;
  }
  case 4: { // anything, anywhere
    wire::Record& record = ring[script.take<std::uint8_t>() % kRecords];
    record.word0 = script.take<std::uint64_t>();
    record.word1 = script.take<std::uint64_t>();
    record.word2 = script.take<std::uint64_t>();
    break;
  }
  case 5: {
    auto& node = const_cast<wire::StackNode*>(fake.memory.nodes())[index % kNodes];
    node.pc = script.take<std::uint32_t>();
    node.parent = script.take<std::uint8_t>();
    if (script.take<std::uint8_t>() % 16 == 0) node.parent = script.take<std::uint32_t>();
    break;
  }
  case 6: { // part of the module log
    const std::size_t at = script.take<std::uint16_t>() % 4096 & ~std::size_t{7};
    const auto value = script.take<std::uint64_t>();
    std::memcpy(fake.memory.module_log() + at, &value, sizeof value);
    fake.header.module_log_used = script.take<std::uint8_t>() % 8 == 0 ? script.take<std::uint64_t>() : 4096;
    break;
  }
  case 7: fake.memory.claims()[0] = script.take<std::uint64_t>(); break;
  case 8: { // eight bytes of a slot or of the counters in the header
    const auto value = script.take<std::uint64_t>();
    const std::size_t at = script.take<std::uint8_t>() % (sizeof(wire::ThreadSlot) / 8);
    std::memcpy(reinterpret_cast<std::byte*>(&slot) + at * 8, &value, sizeof value);
    break;
  }
  case 9: { // a memory error with something wrong, maybe
    wire::MemoryError error = script.take<wire::MemoryError>();
    error.sort = static_cast<ErrorSort>(static_cast<std::uint8_t>(error.sort) % (kErrorSorts + 1));
    error.found = static_cast<FoundAt>(static_cast<std::uint8_t>(error.found) % (kFoundAts + 1));
    error.byte_count %= wire::kErrorBytes + 2;
    const std::uint64_t time = script.take<std::uint16_t>();
    const std::size_t cut = script.take<std::uint8_t>() % 8 == 0 ? 1 : 0;
    FakeThread thread(fake, index % kSlots, 100 + index, time);
    thread.text(time, {reinterpret_cast<const char*>(&error), sizeof error - cut});
    thread.put(EventKind::MemoryError, time, sizeof error, 0, script.take<std::uint8_t>());
    break;
  }
  default:
    fake.header.waiting = script.take<std::uint8_t>() % 2;
    fake.header.questions = script.take<std::uint8_t>();
    break;
  }
}

// Takes what comes as EventBuilder does, and writes between two batches, as a program would that is not gone after all.
class ScribblingConsumer final : public ItemConsumer {
public:
  ScribblingConsumer(ItemConsumer& next, FakeProgram& fake, Script& script)
      : next_(next), fake_(fake), script_(script) {}
  void consume(std::span<RingItem> items) override {
    next_.consume(items);
    items_ += items.size();
    if (!script_.done()) write(fake_, script_);
  }
  std::size_t items() const { return items_; }

private:
  ItemConsumer& next_;
  FakeProgram& fake_;
  Script& script_;
  std::size_t items_ = 0;
};

void run(Script script) {
  FakeProgram& fake = program();
  clear(fake);
  TickClock clock;
  const std::uint64_t base = fake.header.clock_base_monotonic_ns;
  clock.start(false, {fake.header.clock_base_ticks, base}, base);
  ThreadList threads;
  StackFolder stacks(fake.memory.nodes(), fake.memory.config().node_capacity);
  RingSet rings(fake.memory, threads, {.most_queued = 256, .stuck_ns = 0, .margin_us = 0});
  OrderSink sink;
  EventBuilder<OrderSink> builder(clock, stacks, rings, sink);
  ModuleFollower modules(fake.memory.module_log());
  const std::size_t until = script.left() / 4; // the rest is for the end
  for (std::size_t step = 0; script.left() > until; ++step) {
    write(fake, script);
    if (step % 4 == 3) rings.round(clock, builder);
    if (step % 64 == 63) {
      modules.take_new(fake.header.module_log_used, "exe", clock);
      rings.reap(4, [&](std::uint32_t tid) { return tid % 2 == 0; });
      threads.reap_borrowers(4, [&](std::uint32_t tid) { return tid % 2 == 0; });
    }
    HT_CHECK(rings.queued() <= 256 + kSlots * kRecords);
  }
  modules.take_new(fake.header.module_log_used, "exe", clock);
  ScribblingConsumer consumer(builder, fake, script);
  const std::uint64_t queued = rings.queued();
  rings.finish(consumer);
  HT_CHECK(rings.queued() == 0);
  HT_CHECK(consumer.items() <= queued + kSlots * kRecords); // no more than one lap of each ring
  HT_CHECK(stacks.count() <= kNodes + 256);
  std::uint64_t last_event = 0;
  for (const MemoryError& error : builder.memory_errors().take().errors) {
    HT_CHECK(error.event >= last_event && error.event <= builder.events());
    HT_CHECK(error.whole_us <= std::max<std::uint64_t>(error.time_us, 1));
    HT_CHECK(error.bytes.size() <= wire::kErrorBytes && error.function.size() <= wire::kErrorFunctionBytes);
    last_event = error.event;
  }
}

} // namespace
} // namespace heaptape

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heaptape::run(heaptape::Script(data, size));
  return 0;
}
