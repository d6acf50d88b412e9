// One memory error in words: what it is, how it was found, when it happened, where the address lies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/errors/error_context.h"
#include "tape/contents.h"

namespace heaptape {

// "Invalid write: 4 bytes behind the end of a block of 24 bytes", "Double free of a block of 100 bytes".
std::string error_headline(const ErrorContext& error, const std::vector<Thread>& threads);

// The function of the allocator or of libc in which it was found: "free", "memcpy"; empty: none.
std::string called_function(const ErrorContext& error);

// "found when the block was released, after event 812 at 0.012345 s, by thread 1 (main)".
std::string found_words(const ErrorContext& error, const std::vector<Thread>& threads);

// When a write that was not seen can have happened: "written after event 12 (its allocation, 0.000120 s) and before event 813". Empty for
// other errors.
std::string interval_words(const ErrorContext& error);

// "0x5581c2e8 is 0 bytes behind a block of 24 bytes at 0x5581c2d0"; without a block "the address is 0x5581c2e8".
std::string place_words(const ErrorContext& error);

// "malloc, event 12 at 0.000120 s, thread 1 (main)": who made a block, and who ended it.
std::string maker_words(const Tenant& block, const std::vector<Thread>& threads);
std::string ender_words(const Tenant& block, const std::vector<Thread>& threads);

} // namespace heaptape
