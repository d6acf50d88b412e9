// What the checks in the program find, on its way to the tape: see wire/memory_error.h. One thread at a time.
#pragma once

#include <cstdint>
#include <string_view>

#include "collector/events/bounded_list.h"
#include "collector/rings/tick_clock.h"
#include "tape/contents.h"

namespace heaptape {

class ErrorCollector {
public:
  static constexpr std::uint64_t kMost = 10'000; // an error is found again and again

  // `text` is what came before the MemoryError record: the bytes of a wire::MemoryError; `known` is what does not come from it.
  // False: it makes no sense.
  bool add(std::string_view text, MemoryError known, const TickClock& clock);
  // Found, but when the tape took no more.
  void leave_out(std::uint64_t count) { errors_.leave_out(count); }

  std::uint64_t found() const { return errors_.made(); } // ever
  bool anything_new() const { return errors_.anything_new(); }
  // Their mode is for the caller to fill in.
  MemoryErrors take() { return {{}, errors_.take(), errors_.left_out()}; }

private:
  BoundedList<MemoryError> errors_{kMost};
};

} // namespace heaptape
