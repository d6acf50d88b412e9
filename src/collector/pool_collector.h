// The program's pools on their way to the tape: numbers them, collects their names, and finds out which pool a block is freed from
// where the function that frees it cannot know. Remembers what is live in each. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/ring_item.h"
#include "tape/contents.h"
#include "tape/event.h"

namespace heaptape {

class PoolCollector {
public:
  // A PoolName record and the text that came before it.
  void add_name(const RingItem& item, std::string name);
  // A PoolBegin record.
  void begin_large(const RingItem& item);

  // Completes the event of a PoolAlloc or PoolFree record: pool and size. The result is the number of the event that made the block which
  // this one frees, 0: none, or unknown. nullopt: the record makes no sense.
  std::optional<std::uint64_t> take_in(const RingItem& item, Event& event);

  // Pools that are new, or have got a name, since the last call.
  std::vector<Pool> take();

  const std::set<std::string>& watched_functions() const { return watched_; }

private:
  struct Known {
    Pool pool;
    bool written = false;
    std::unordered_map<std::uint64_t, std::uint64_t> live{}; // address to the event that made the block
  };
  struct Large {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
  };

  Known& known(std::uint64_t wire_number);
  // The pool of a watched function that got a block at this address last; 0: none.
  std::uint32_t pool_with(std::uint64_t address) const;

  std::vector<Known> pools_;                                 // by number on the tape, from 1; a place each
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_; // the recorder's to ours
  std::unordered_map<std::uint32_t, Large> large_;           // by slot
  std::set<std::string> watched_;
};

} // namespace heaptape
