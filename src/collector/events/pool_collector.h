// The program's pools on their way to the tape: numbers them, collects their names, and finds out which pool a block is
// freed from where the function that frees it cannot know. Of pool functions that call each other the innermost
// counts. Remembers what is live in each pool. One thread at a time.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/events/stack_folder.h"
#include "collector/rings/ring_item.h"
#include "tape/contents.h"
#include "tape/event.h"

namespace heaptape {

class PoolCollector {
public:
  // `stacks` must outlive this.
  explicit PoolCollector(const StackFolder& stacks) : stacks_(stacks) {}

  struct Taken {
    enum class As : std::uint8_t { Event, Repeated, Nonsense };
    As as = As::Event;
    std::uint64_t allocated_at = 0; // the event that made the block which this one frees; 0: none, or unknown
  };

  // A PoolName record and the text that came before it.
  void add_name(const RingItem& item, std::string name);
  // A PoolBegin record.
  void begin_large(const RingItem& item);

  // Completes the event of a PoolAlloc or PoolFree record: pool and size.
  Taken take_in(const RingItem& item, Event& event);

  // Pools that are new, or have got a name, since the last call.
  std::vector<Pool> take();

  const std::set<std::string>& pool_functions() const { return watched_; }

private:
  struct Block {
    std::uint64_t event = 0; // that made it
    StackId stack;
    std::uint32_t slot = 0;
  };
  struct Known {
    Pool pool;
    bool written = false;
    std::unordered_map<std::uint64_t, Block> live{}; // by address
  };
  struct Freed {
    std::uint64_t address = 0;
    StackId stack;
  };
  struct Large {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
  };

  Known& known(std::uint64_t wire_number);
  Taken allocate(const RingItem& item, Event& event);
  Taken release(const RingItem& item, Event& event);
  // The pool of a pool function that got a block at this address last; null: none has one.
  Known* pool_with(std::uint64_t address);
  // The function that has just returned this block only handed it on from another one, which it had called.
  bool is_handed_on(const RingItem& item, const Event& event, const Known& into);

  const StackFolder& stacks_;
  std::vector<Known> pools_;                                 // by number on the tape, from 1; a place each
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_; // the recorder's to ours
  std::unordered_map<std::uint32_t, Large> large_;           // by slot
  std::unordered_map<std::uint32_t, Freed> last_freed_;      // by slot: through pool functions
  std::set<std::string> watched_;
};

} // namespace heaptape
