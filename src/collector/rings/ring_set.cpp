#include "collector/rings/ring_set.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>

#include "collector/rings/loser_tree.h"

namespace heaptape {

namespace {

constexpr std::size_t kBatch = 2048;         // items per hand-over of a merge: 64 KiB, stays in the nearest caches
constexpr std::size_t kSingleShare = 4096;   // records per round from the only ring
constexpr std::size_t kRoundItems = 1 << 18; // records per round from all rings together, about
constexpr std::uint64_t kForever = ~std::uint64_t{0};

wire::SlotState state_of(const wire::ThreadSlot& slot) {
  return static_cast<wire::SlotState>(slot.state.load(std::memory_order_acquire)); // pairs with the thread's end
}

// Every running thread of the program passes a full barrier before this returns.
bool barrier_in_program() {
#if defined(__SANITIZE_THREAD__)
  return false; // the sanitizer does not know this call
#else
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
#endif
}

} // namespace

RingSet::RingSet(const SharedMemory& memory, ThreadList& threads, RingSetOptions options)
    : memory_(memory), threads_(threads), options_(options), readers_(memory.config().slot_count),
      active_bits_(wire::claim_words(memory.config().slot_count)), idle_since_(memory.config().slot_count),
      passed_by_(memory.config().slot_count), batch_(kBatch) {}

bool RingSet::is_claimed(std::uint32_t index) const {
  const std::uint64_t word = memory_.claims()[index / wire::kSlotsPerClaim].load(std::memory_order_acquire);
  return (word & wire::claim_bit(index)) != 0;
}

void RingSet::activate(std::uint32_t index) {
  if (readers_[index] == nullptr) {
    readers_[index] =
        std::make_unique<SlotReader>(index, memory_.slot(index), memory_.ring(index), memory_.ring_records(index));
  }
  active_bits_[index / wire::kSlotsPerClaim] |= wire::claim_bit(index);
  active_.push_back(index);
  idle_since_[index] = last_safe_; // it was free when the round before looked
  passed_by_[index] = false;
}

void RingSet::find_slots() {
  for (std::uint32_t word = 0; word < active_bits_.size(); ++word) {
    const std::uint64_t claimed = memory_.claims()[word].load(std::memory_order_acquire); // pairs with the claim
    for (std::uint64_t fresh = claimed & ~active_bits_[word]; fresh != 0; fresh &= fresh - 1) {
      const std::uint32_t index = word * wire::kSlotsPerClaim + static_cast<std::uint32_t>(std::countr_zero(fresh));
      if (index < memory_.config().slot_count) activate(index);
    }
  }
}

void RingSet::mark_exiting(SlotReader& reader) {
  auto expected = static_cast<std::uint32_t>(wire::SlotState::Claimed);
  reader.slot().state.compare_exchange_strong(expected, static_cast<std::uint32_t>(wire::SlotState::Exiting));
}

std::size_t RingSet::share_of_round() const {
  return std::clamp<std::size_t>(kRoundItems / std::max<std::size_t>(1, active_.size()), 256, 8192);
}

// The slot's thread is gone and has left nothing unread: any thread may have the slot from here on.
void RingSet::settle(SlotReader& reader) {
  reader.forget_thread(threads_);
  const std::uint32_t index = reader.index();
  reader.slot().state.store(static_cast<std::uint32_t>(wire::SlotState::Free), std::memory_order_relaxed);
  memory_.claims()[index / wire::kSlotsPerClaim].fetch_and(~wire::claim_bit(index), std::memory_order_release);
}

// Scaled to the first rings, which are the longest.
std::uint64_t RingSet::fill_of(const SlotReader& reader) const {
  return reader.fill() * (memory_.config().ring_records / reader.capacity());
}

bool RingSet::is_stalled(SlotReader& reader) const {
  return reader.fill() != 0 && reader.is_stalled(monotonic_ns(), options_.stuck_ns);
}

std::uint64_t RingSet::read_one(SlotReader& reader, std::uint64_t now, Round& round) {
  const std::uint32_t index = reader.index();
  // Read before the records: what these two say holds for every record that is not ready yet.
  const bool exiting = state_of(reader.slot()) == wire::SlotState::Exiting;
  const bool busy = reader.slot().busy.load(std::memory_order_acquire) != 0; // pairs with the end of the hook
  if (queued_ >= options_.most_queued && !reader.queue().empty()) return reader.last_time();

  const std::size_t share = share_of_round();
  round.fullest = std::max(round.fullest, fill_of(reader));
  const std::size_t before = reader.queue().size();
  bool more = reader.read(share, threads_) == share;
  const bool stalled = reader.is_passing_holes() || (reader.queue().size() == before && is_stalled(reader));
  if (stalled || (exiting && !more)) {
    more = reader.read_past_holes(share, threads_);
    if (exiting && !more) settle(reader);
  }
  const std::size_t count = reader.queue().size() - before;
  round.read += count;
  queued_ += count;
  if (more) {
    round.more = true;
    return reader.last_time();
  }
  if (busy && !exiting && !at_once_) return std::max(reader.last_time(), idle_since_[index]);
  idle_since_[index] = now;
  return now;
}

std::uint64_t RingSet::read_all(const TickClock& clock, Round& round) {
  std::uint64_t now = clock.now();
  const bool barrier =
      memory_.header().membarrier_registered.load(std::memory_order_relaxed) != 0 && barrier_in_program();
  if (!barrier) now -= std::min(now, clock.ticks_of_us(options_.margin_us));
  find_slots();
  const bool stuck = is_stuck();
  if (stuck) ++forced_rounds_;
  std::uint64_t safe = now;
  for (std::uint32_t index : active_) {
    SlotReader& reader = *readers_[index];
    const bool empty = reader.queue().empty();
    const std::uint64_t bound = read_one(reader, now, round);
    const bool holds_all_up = empty && reader.queue().empty() && bound < now;
    // A thread that held all the others up for too long is not waited for again until it makes itself heard.
    passed_by_[index] = holds_all_up && (stuck || passed_by_[index]);
    if (!passed_by_[index]) safe = std::min(safe, bound);
  }
  return safe;
}

bool RingSet::is_stuck() {
  if (queued_ < options_.most_queued) {
    held_since_ns_ = 0;
    return false;
  }
  const std::uint64_t now_ns = monotonic_ns();
  if (held_since_ns_ == 0) held_since_ns_ = now_ns;
  return now_ns - held_since_ns_ >= options_.stuck_ns;
}

bool RingSet::read_only_ring(Round& round, ItemConsumer& consumer) {
  SlotReader& reader = *readers_[active_.front()];
  const bool exiting = state_of(reader.slot()) == wire::SlotState::Exiting;
  round.fullest = fill_of(reader);
  const std::size_t count = reader.read(kSingleShare, threads_);
  bool more = count == kSingleShare;
  const bool stalled = reader.is_passing_holes() || (count == 0 && is_stalled(reader));
  if (stalled || (exiting && !more)) {
    more = reader.read_past_holes(kSingleShare, threads_);
    if (exiting && !more) settle(reader);
  }
  round.read = count;
  round.more = more;
  queued_ = reader.queue().size();
  // A claim is a locked instruction: a thread that claims a slot after this look stamps its records later than all
  // read.
  find_slots();
  if (active_.size() != 1) return false;
  wake_waiting();
  last_safe_ = std::max(last_safe_, reader.last_time());
  hand_over(kForever, consumer);
  return true;
}

Round RingSet::round(const TickClock& clock, ItemConsumer& consumer) {
  Round round;
  find_slots();
  round.rings = active_.size();
  if (active_.empty()) {
    wake_waiting(); // for a slot; or somebody has written over the claims, and the thread must see that nothing happens
    return round;
  }
  if (active_.size() != 1 || !read_only_ring(round, consumer)) {
    const std::uint64_t safe = read_all(clock, round);
    wake_waiting();
    last_safe_ = std::max(last_safe_, safe);
    hand_over(safe, consumer);
  }
  drop_idle();
  return round;
}

Round RingSet::round_at_once(const TickClock& clock, ItemConsumer& consumer) {
  at_once_ = true;
  const Round done = round(clock, consumer);
  at_once_ = false;
  return done;
}

void RingSet::finish(ItemConsumer& consumer, std::uint64_t now) {
  find_slots();
  for (const auto& reader : readers_) { // a record may have come after its slot was thought to be free
    if (reader != nullptr && !is_active(reader->index()) && reader->fill() != 0) activate(reader->index());
  }
  // A ring that has been read to its end is not looked at again: by now it may claim another end.
  std::vector<SlotReader*> unread;
  for (std::uint32_t index : active_) unread.push_back(readers_[index].get());
  while (!unread.empty()) {
    std::uint64_t safe = kForever;
    std::erase_if(unread, [&](SlotReader* reader) {
      const std::size_t before = reader->queue().size();
      const bool full = queued_ >= options_.most_queued && before != 0;
      const bool more = full || reader->read_past_holes(share_of_round(), threads_);
      queued_ += reader->queue().size() - before;
      if (more) safe = std::min(safe, reader->last_time());
      return !more;
    });
    hand_over(safe, consumer);
  }
  for (std::uint32_t index : active_) {
    SlotReader& reader = *readers_[index];
    // A thread that has not left ended with the program.
    const bool has_left = state_of(reader.slot()) == wire::SlotState::Exiting;
    reader.forget_thread(threads_, has_left ? 0 : now);
  }
  threads_.end_borrowers();
  drop_idle();
}

void RingSet::hand_over(std::uint64_t until, ItemConsumer& consumer) {
  SlotReader* only = nullptr;
  std::size_t ready = 0;
  for (std::uint32_t index : active_) {
    ItemQueue& queue = readers_[index]->queue();
    if (queue.empty() || queue.front().time() > until) continue;
    only = readers_[index].get();
    ++ready;
  }
  if (ready == 0) return;
  if (ready > 1) return merge(until, consumer);
  ItemQueue& queue = only->queue();
  // Popped first, so that a repair that looks through the queues does not meet what is being handed over.
  const std::span<RingItem> items = queue.items().first(queue.count_until(until));
  queue.pop(items.size());
  queued_ -= items.size();
  consumer.consume(items);
}

void RingSet::merge(std::uint64_t until, ItemConsumer& consumer) {
  LoserTree tree;
  std::vector<ItemQueue*> queues;
  for (std::uint32_t index : active_) {
    ItemQueue& queue = readers_[index]->queue();
    const std::size_t count = queue.count_until(until);
    if (count == 0) continue;
    tree.add(queue.items().first(count));
    queues.push_back(&queue);
  }
  tree.build();
  while (true) {
    const std::size_t count = tree.take(batch_);
    if (count == 0) break;
    for (std::size_t run = 0; run < queues.size(); ++run) queues[run]->pop(tree.taken(run));
    queued_ -= count;
    consumer.consume(std::span(batch_).first(count));
  }
}

void RingSet::drop_idle() {
  constexpr std::size_t kKeepBuffers = 32;
  const bool keep_buffers = active_.size() <= kKeepBuffers;
  std::erase_if(active_, [&](std::uint32_t index) {
    SlotReader& reader = *readers_[index];
    if (!reader.queue().empty()) return false;
    if (!keep_buffers || reader.queue().capacity() > kBatch * 8) reader.queue().release();
    if (is_claimed(index)) return false;
    active_bits_[index / wire::kSlotsPerClaim] &= ~wire::claim_bit(index);
    return true;
  });
}

void RingSet::wake_waiting() {
  wire::Header& header = memory_.header();
  header.drained.store(++rounds_, std::memory_order_release);
  // A locked read, so that our stores of `taken` come before it; a thread that waits announces itself before it looks
  // at `taken`. (Not a fence: ThreadSanitizer does not know those.)
  if (header.waiting.fetch_add(0, std::memory_order_seq_cst) == 0) return;
  ::syscall(SYS_futex, &header.drained, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::uint64_t RingSet::holes() const {
  std::uint64_t sum = 0;
  for (const auto& reader : readers_) {
    if (reader != nullptr) sum += reader->holes();
  }
  return sum;
}

} // namespace heaptape
