// What the events of a tape say about one address at one moment: who has it, who had it before, who had what lies just in front of it, who
// got it next. One pass answers it all. Needs no index, only the events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analysis/heap/mapping_set.h"
#include "analysis/heap/pool_state.h"
#include "analysis/moment/tenant.h"
#include "tape/reader.h"

namespace heaptape {

// What glibc's malloc lets a block of this size use: chunks are multiples of 16 bytes, at least 32, of which 8 are its own.
std::uint64_t usable_bytes(std::uint64_t size);

struct AddressQuery {
  std::uint64_t address = 0;
  std::uint64_t event = 0;         // the moment: after this event
  std::uint64_t read_on_until = 0; // who gets a freed address next is looked for up to this event; 0: not at all
  std::uint64_t known_start =
      0;                   // of a block that holds the address at the moment; spares reading twice for a large one
  bool with_pools = false; // only where there are pool events
  std::function<bool()> should_stop{}; // asked now and then
};

struct AddressFacts {
  std::uint64_t address = 0, event = 0; // as they were asked for
  // Blocks that covered the address up to the moment, in the order in which they began: those that are live, and of those that ended the
  // first few and the last few.
  std::vector<Tenant> covering{};
  std::uint64_t left_out = 0; // how many more there were, between the first few and the last few
  // Of all that covered it and had ended, the one that ended last.
  std::optional<Tenant> freed{};
  // The same among blocks that end in front of the address but could have used it: see usable_bytes().
  std::optional<Tenant> freed_in_front{};
  // What came over the address after `freed`, also behind the moment; when one is known, a later one of the other sort is not looked for.
  std::optional<Tenant> next{};
  std::optional<MappingPiece> next_mapping{};
  // The last of the program's own mappings that covered it and are gone, and the event that took it away.
  std::optional<MappingPiece> unmapped{};
  Event unmapping{};
  std::vector<Event> bad_releases{}; // of this very address where no block of the tape began; the first hundred
  std::optional<std::vector<PoolBlock>> in_pools{}; // live ones around it; nullopt: not asked for
  std::vector<Damage> damage{};                     // chunks of events that could not be read: the truth may be another
  bool stopped = false;                             // should_stop() said so

  // The block that holds the address, or was the last to; nullptr: none ever did.
  const Tenant* last() const { return covering.empty() ? nullptr : &covering.back(); }
  // The block from before a fork that holds the address and is still live; nullptr: there is none.
  const Tenant* live_inherited() const {
    const Tenant* const held = last();
    return held != nullptr && held->inherited && held->ended == LifeEnd::Live ? held : nullptr;
  }
  // The last of them that began before another event.
  const Tenant* before(std::uint64_t later) const;
};

// Reads all events up to the moment; further ones only when the address was freed and is not known to be reused.
AddressFacts find_address_facts(const TapeReader& tape, const AddressQuery& query);

} // namespace heaptape
