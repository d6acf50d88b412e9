#include "report/contents/type_sums.h"

#include <algorithm>

#include "report/contents/retained_types.h"

namespace heaptape {

std::vector<TypeSum> type_sums(SnapshotHeap& heap, const BlockTypes& types, bool retained) {
  const BlockRanks& ranks = heap.ranks();
  std::vector<TypeSum> sums(types.size());
  for (std::uint32_t block = 0; block < ranks.size(); ++block) {
    TypeSum& sum = sums[types.type_of(block)];
    sum.type = types.type_of(block);
    if (sum.blocks++ == 0) sum.example = ranks.begin(block);
    sum.bytes += ranks.bytes(block);
  }
  if (retained) {
    const std::vector<std::uint64_t> held = retained_by_type(heap.dominators(), types.by_block(), types.size());
    for (TypeSum& sum : sums) sum.retained_bytes = held[sum.type];
  }
  std::erase_if(sums, [](const TypeSum& sum) { return sum.blocks == 0; });
  std::ranges::stable_sort(sums, [](const TypeSum& a, const TypeSum& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.blocks > b.blocks;
  });
  return sums;
}

} // namespace heaptape
