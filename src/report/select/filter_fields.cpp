#include "report/select/filter_fields.h"

#include <algorithm>
#include <array>

#include "report/text/text_style.h"

namespace heaptape {
namespace {

using S = FilterSubject;
using T = FilterType;

constexpr std::array kFields{
    FilterField{"event", S::Event, T::Event, true, true, "event>=1000",
                "number of the event, or of the one that made the block"},
    FilterField{"time", S::Time, T::Time, true, true, "time in 2s..2.5s",
                "when that was, since the start of the recording"},
    FilterField{"thread", S::Thread, T::Thread, true, true, "thread=3",
                "the thread that did it: number on the tape, the kernel's id, or name"},
    FilterField{"kind", S::Kind, T::Kind, true, true, "kind=malloc,calloc",
                "function called, or a group: alloc, release, realloc, map"},
    FilterField{"address", S::Address, T::Address, true, true, "address in 0x7f0000000000..0x7f00ffffffff",
                "where the block or mapping starts"},
    FilterField{"covers", S::Covers, T::Address, false, true, "covers=0x7f0000001238",
                "an address that lies in the block"},
    FilterField{"old", S::Old, T::Address, true, false, "old=0x7f0000001238",
                "the address that a realloc or mremap replaced"},
    FilterField{"size", S::Size, T::Bytes, true, true, "size>1M", "bytes as asked for; releases have none"},
    FilterField{"stack", S::Stack, T::Number, true, true, "stack=17", "number of the call stack"},
    FilterField{"fn", S::Function, T::Name, true, true, "fn~\"parse\"", "a function on the call stack"},
    FilterField{"by", S::By, T::Name, true, true, "by=load",
                "the function that is charged: the innermost that is not plumbing"},
    FilterField{"file", S::File, T::Name, true, true, "file=cache.cpp:120",
                "a source file on the call stack, optionally with a line"},
    FilterField{"module", S::Module, T::Name, true, true, "module~libssl", "a program or library on the call stack"},
    FilterField{"age", S::Age, T::Duration, false, true, "age>10s", "how long it has lived at the moment asked about"},
    FilterField{"lifetime", S::Lifetime, T::Duration, false, true, "lifetime<1ms", "how long a freed block lived"},
    FilterField{"freed", S::Freed, T::Flag, false, true, "not freed", "it had been freed by then"},
    FilterField{"live", S::Live, T::Flag, false, true, "live", "it had not been freed"},
    FilterField{"freed_event", S::FreedEvent, T::Event, false, true, "freed_event<peak", "the event that freed it"},
    FilterField{"freed_time", S::FreedTime, T::Time, false, true, "freed_time>30s", "when that was"},
    FilterField{"freed_thread", S::FreedThread, T::Thread, false, true, "freed_thread!=1", "the thread that freed it"},
    FilterField{"freed_stack", S::FreedStack, T::Number, false, true, "freed_stack=18",
                "number of the call stack that freed it"},
    FilterField{"freed_fn", S::FreedFunction, T::Name, false, true, "freed_fn~close", "a function on that call stack"},
};

} // namespace

std::span<const FilterField> filter_fields() { return kFields; }

const FilterField* find_filter_field(std::string_view name) {
  const auto found = std::find_if(kFields.begin(), kFields.end(), [&](const FilterField& f) { return f.name == name; });
  return found != kFields.end() ? &*found : nullptr;
}

bool has_field(FilterOf of, const FilterField& field) {
  return of == FilterOf::Events ? field.of_events : field.of_blocks;
}

std::string filter_fields_text(FilterOf of) {
  std::string text;
  for (const FilterField& field : kFields) {
    if (!has_field(of, field)) continue;
    text += "  " + padded_left(field.name, 14) + std::string(field.meaning) + "\n";
  }
  return text;
}

} // namespace heaptape
