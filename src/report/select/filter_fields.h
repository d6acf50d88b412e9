// The fields of filters: one table that the binder, the help, the completion and the guide share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace heaptape {

enum class FilterOf : std::uint8_t { Events, Blocks };

// What a field's values are, and so how they are written.
enum class FilterType : std::uint8_t { Flag, Number, Bytes, Duration, Event, Time, Address, Thread, Kind, Name };

enum class FilterSubject : std::uint8_t {
  Event,
  Time,
  Thread,
  Kind,
  Address,
  Covers,
  Old,
  Size,
  Stack,
  Function,
  By,
  File,
  Module,
  Age,
  Lifetime,
  Freed,
  Live,
  FreedEvent,
  FreedTime,
  FreedThread,
  FreedStack,
  FreedFunction,
};

struct FilterField {
  std::string_view name;
  FilterSubject subject{};
  FilterType type{};
  bool of_events = true, of_blocks = true;
  std::string_view example; // a whole filter
  std::string_view meaning; // without a full stop
};

std::span<const FilterField> filter_fields();
// nullptr: there is none of this name.
const FilterField* find_filter_field(std::string_view name);
bool has_field(FilterOf of, const FilterField& field);

// The fields of events or blocks, a line each: for help texts.
std::string filter_fields_text(FilterOf of);

} // namespace heaptape
