#include "collector/events/stack_folder.h"

#include <sys/mman.h>

#include "base/check.h"
#include "base/mix.h"
#include "wire/stack_roots.h"

namespace heaptape {

namespace {

// Deeper than any recorder makes a stack, marks at its root included; ends the walk when the parents of hostile memory form a circle.
constexpr std::size_t kLongestPath = wire::kDeepestStack + 16;

} // namespace

StackFolder::StackFolder(const wire::StackNode* nodes, std::uint32_t capacity)
    : nodes_(nodes), capacity_(capacity), table_(1024), pcs_(1), parents_(1), marks_(1) {
  // Sparse: pages are touched only where the program has nodes, and the lookup stays one plain array read.
  void* map = ::mmap(nullptr, capacity_ * sizeof(std::uint32_t), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  HT_CHECK(map != MAP_FAILED);
  tape_of_wire_ = static_cast<std::uint32_t*>(map);
}

StackFolder::~StackFolder() { ::munmap(tape_of_wire_, capacity_ * sizeof(std::uint32_t)); }

std::uint64_t StackFolder::hash_of(std::uint32_t parent, std::uint64_t pc) {
  std::uint64_t hash = mix(pc ^ (std::uint64_t{parent} << 32));
  hash ^= hash >> 29;
  return hash * 0xbf58'476d'1ce4'e5b9u >> 16;
}

StackId StackFolder::fold_new(std::uint32_t wire_id) {
  if (wire_id == 0) return StackId{};
  path_.clear();
  std::uint32_t known = 0;
  for (std::uint32_t at = wire_id; at != 0;) {
    if (at >= capacity_ || path_.size() == kLongestPath) {
      ++damaged_;
      break;
    }
    known = tape_of_wire_[at];
    if (known != 0) break;
    // Pairs with the release that completes a node before any record names it.
    const std::uint64_t pc = nodes_[at].pc.load(std::memory_order_acquire);
    if (pc == 0) {
      ++damaged_;
      path_.clear();
      break;
    }
    path_.push_back({at, pc & wire::kAddressMask});
    at = nodes_[at].parent.load(std::memory_order_relaxed);
  }
  while (!path_.empty()) {
    const auto [at, pc] = path_.back();
    path_.pop_back();
    if (tape_of_wire_[at] == 0) tape_of_wire_[at] = canonical(known, pc);
    known = tape_of_wire_[at];
  }
  if (marks_[known] == wire::kRootCut) ++cut_stacks_;
  if (marks_[known] == wire::kRootTooDeep) ++too_deep_stacks_;
  return StackId(known);
}

std::uint32_t StackFolder::canonical(std::uint32_t parent, std::uint64_t pc) {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = hash_of(parent, pc) & mask;
  while (const std::uint32_t id = table_[at]) {
    if (pcs_[id] == pc && parents_[id] == parent) return id;
    at = (at + 1) & mask;
  }
  table_[at] = ++count_;
  pcs_.push_back(pc);
  parents_.push_back(parent);
  const bool is_mark = pc == wire::kRootCut || pc == wire::kRootTooDeep;
  marks_.push_back(is_mark ? static_cast<std::uint8_t>(pc) : marks_[parent]);
  new_nodes_.push_back(StackNode{StackId(parent), pc});
  if (std::size_t{count_} * 4 > table_.size() * 3) grow_table();
  return count_;
}

void StackFolder::grow_table() {
  std::vector<std::uint32_t> larger(table_.size() * 2);
  const std::size_t mask = larger.size() - 1;
  for (std::uint32_t id = 1; id <= count_; ++id) {
    std::size_t at = hash_of(parents_[id], pcs_[id]) & mask;
    while (larger[at] != 0) at = (at + 1) & mask;
    larger[at] = id;
  }
  table_.swap(larger);
}

} // namespace heaptape
