// operator new and delete, in every form.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

// Finds out whose operators stand behind ours; call once the real C functions are known.
void choose_operator_new() noexcept;

// The C++ library's operator new, where that stands right behind ours; else 0.
std::uint64_t operator_new_behind_ours() noexcept;
// Calls visit(name, given) for each form that the C++ library has.
void each_operator_behind_ours(void (*visit)(const char* name, void* given), void* given) noexcept;

} // namespace heaptape::recorder
