// Functions of the program's own libraries that the user wants counted as allocations: HEAPTAPE_ALLOC_FN, HEAPTAPE_FREE_FN. The tables through
// which loaded objects call them are made to lead here. Nothing of this happens when no function is named.
#pragma once

#include <atomic>
#include <cstdint>

namespace heaptape::recorder {

struct PoolFunction {
  const char* name = nullptr;
  const char* pool = nullptr;                     // what it returns is a block of this pool; null: it allocates nothing
  unsigned size_argument = 0, count_argument = 0; // from 1; 0: none, the size is not known
  unsigned freed_argument = 0;                    // a block that it ends; 0: none
  std::atomic<std::uint32_t> pool_number{0};      // 0: not asked for yet
};

// One definition of a function behind one of our stubs.
struct PoolCall {
  std::atomic<std::uint64_t> real{0};
  PoolFunction* function = nullptr;
};
inline constexpr std::size_t kPoolCalls = 64;
extern constinit PoolCall g_pool_calls[kPoolCalls];

// Copies what the variables say; before they are taken out of the environment.
void read_pool_functions(char** environment) noexcept;
// The recording has begun: hooks the functions in all objects that are loaded, and in those that come later.
void hook_pool_functions() noexcept;
// The recording began anew, in the child of a fork.
void hook_pool_functions_again() noexcept;

// pool_call.cpp: where stub `index` begins, and the stubs before the loader's functions.
std::uint64_t stub_address(std::size_t index) noexcept;
bool is_stub(std::uint64_t address) noexcept;

extern "C" {
[[gnu::visibility("hidden")]] void heaptape_stub_dlopen();
[[gnu::visibility("hidden")]] void heaptape_stub_dlsym();
[[gnu::visibility("hidden")]] void heaptape_stub_dlvsym();
extern constinit std::uint64_t heaptape_behind_dlopen, heaptape_behind_dlsym, heaptape_behind_dlvsym;
}

} // namespace heaptape::recorder
