#include "recorder/core/intern.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/core/machine.h"
#include "recorder/core/own_memory.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kFullFrom = 5, kFullTo = 8; // a table is full when five places of eight are taken

// Puts a node into a table unless an equal one is there; gives the number that others will find.
std::uint32_t place(wire::InternEntry* entries, std::uint64_t mask, std::uint64_t hash, std::uint64_t pc,
                    std::uint32_t id) noexcept {
  for (std::uint64_t i = hash;; ++i) {
    wire::InternEntry& entry = entries[i & mask];
    std::uint64_t seen = entry.hash.load(std::memory_order_acquire);
    if (seen == 0 && entry.hash.compare_exchange_strong(seen, hash, std::memory_order_acq_rel)) {
      entry.value.store(pc << 32 | id, std::memory_order_release); // pairs with find()
      return id;
    }
    if (seen != hash) continue;
    // An entry without a value is being written by a thread that may be the very one we interrupted: skip it.
    const std::uint64_t value = entry.value.load(std::memory_order_acquire);
    if (value >> 32 == (pc & 0xffff'ffff) && static_cast<std::uint32_t>(value) != 0) {
      return static_cast<std::uint32_t>(value);
    }
  }
}

// Room for the tables, all zero.
std::uint8_t* map_tables(std::uint32_t count) noexcept {
  constexpr std::uint64_t kLargePage = std::uint64_t{2} << 20;
  constexpr unsigned kFirstLarge = 4; // smaller tables would waste most of a large page
  const std::uint64_t bytes = wire::table_offset(count) + kLargePage;
  const long memory = system_call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory < 0 && memory > -4096) return nullptr;
  note_own_memory(memory, bytes);
  if (count <= kFirstLarge) return reinterpret_cast<std::uint8_t*>(memory);
  // The first large table begins on a large page; the ones after it do then too.
  const auto start = static_cast<std::uint64_t>(memory);
  const std::uint64_t small = wire::table_offset(kFirstLarge);
  const std::uint64_t large = (start + small + kLargePage - 1) & ~(kLargePage - 1);
  (void)system_call(SYS_madvise, static_cast<long>(large), static_cast<long>(wire::table_offset(count) - small),
                    MADV_HUGEPAGE);
  return reinterpret_cast<std::uint8_t*>(large - small);
}

} // namespace

bool InternTable::start(std::uint8_t* shared_memory, const wire::Config& config) noexcept {
  header_ = reinterpret_cast<wire::Header*>(shared_memory);
  const std::uint32_t count = config.table_count;
  if (tables_ != nullptr && count <= tables_mapped_) { // a child of fork begins anew
    (void)system_call(SYS_madvise, reinterpret_cast<long>(tables_), static_cast<long>(wire::table_offset(count)),
                      MADV_DONTNEED);
  } else {
    tables_ = map_tables(count);
    tables_mapped_ = count;
  }
  if (tables_ == nullptr) return false;
  nodes_ = reinterpret_cast<wire::StackNode*>(shared_memory + config.nodes);
  node_capacity_ = config.node_capacity;
  table_count_ = count;
  next_node_.store(1, std::memory_order_relaxed); // node 0 is "no stack"
  growing_.store(0, std::memory_order_relaxed);
  show_table(0);
  return true;
}

void InternTable::show_table(std::uint32_t table) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(tables_ + wire::table_offset(table));
  current_table_.store(table, std::memory_order_relaxed);
  packed_view_.store(address | wire::table_bits(table), std::memory_order_release); // pairs with current()
}

std::uint32_t InternTable::insert(std::uint32_t parent, std::uint64_t pc, std::uint64_t hash) noexcept {
  const std::uint64_t id = next_node_.fetch_add(1, std::memory_order_relaxed);
  if (id >= node_capacity_) {
    header_->losses[static_cast<std::size_t>(wire::Loss::StackTableFull)].fetch_add(1, std::memory_order_relaxed);
    return parent;
  }
  wire::StackNode& node = nodes_[id];
  node.parent.store(parent, std::memory_order_relaxed);
  node.pc.store(pc, std::memory_order_release);

  View view = current();
  if (id * kFullTo > view.mask * kFullFrom) {
    grow();
    view = current();
    // While another thread is still growing the table, leave it its free places: a search must end at one.
    if (id * 8 > view.mask * 7) return static_cast<std::uint32_t>(id);
  }
  return place(view.entries, view.mask, hash, pc, static_cast<std::uint32_t>(id));
}

void InternTable::grow() noexcept {
  if (growing_.exchange(1, std::memory_order_acq_rel) != 0) return;
  const std::uint32_t table = current_table_.load(std::memory_order_relaxed);
  const std::uint64_t count = next_node_.load(std::memory_order_relaxed);
  if (table + 1 < table_count_ && count * kFullTo > kFullFrom << wire::table_bits(table)) {
    const View old = current();
    auto* entries = reinterpret_cast<wire::InternEntry*>(tables_ + wire::table_offset(table + 1));
    const std::uint64_t mask = (std::uint64_t{1} << wire::table_bits(table + 1)) - 1;
    for (std::uint64_t i = 0; i <= old.mask; ++i) {
      // A node that is added or still being written meanwhile will get a twin.
      const std::uint64_t value = old.entries[i].value.load(std::memory_order_acquire); // pairs with place()
      if (value == 0) continue;
      const std::uint64_t hash = old.entries[i].hash.load(std::memory_order_relaxed);
      (void)place(entries, mask, hash, value >> 32, static_cast<std::uint32_t>(value));
    }
    show_table(table + 1);
  }
  growing_.store(0, std::memory_order_release);
}

} // namespace heaptape::recorder
