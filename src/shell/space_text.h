// What the commands about the address space have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/heap/allocator_code.h"
#include "analysis/space/address_space.h"
#include "report/text/json_writer.h"
#include "shell/session.h"

namespace heaptape {

// "main heap", "arena", ...: for people.
std::string_view kind_text(RangeKind kind);
// "main_heap", "thread_arena", ...: for programs.
std::string_view kind_word(RangeKind kind);
// "glibc", "jemalloc", ...
std::string_view allocator_name(Allocator allocator);
// "7f3c1a000000-7f3c1a021000", as the kernel writes it.
std::string range_text(std::uint64_t begin, std::uint64_t end);

// Whether and when the kernel was asked, seen from the cursor; one line.
std::string source_line(const Session& session, const AddressSpace& space);
// From when the permissions are; one line.
std::string permissions_line(const AddressSpace& space);
// The same as the fields "from_kernel" and "maps_us".
void write_source_json(JsonWriter& json, const AddressSpace& space);

} // namespace heaptape
