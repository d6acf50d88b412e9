// The C allocation functions. Each calls the next definition of itself and records what came of it; results, errno and
// the order of side effects are the real function's.
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "recorder/core/events.h"
#include "recorder/hooks/failed_calls.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/real.h"

namespace heaptape::recorder {

namespace {

[[gnu::always_inline]] inline void allocated(EventKind kind, void* block, std::size_t size,
                                             const Frame& site) noexcept {
  if (block == nullptr) [[unlikely]]
    return record_failed(kind, size, 0, site.pc, site.slot, site.rbp);
  if (takes_blocks()) [[likely]]
    (void)record(kind, as_address(block), size, site, true);
  else if (is_recording())
    (void)record_paused(EventKind::PausedAlloc, as_address(block), site.pc, site.slot, site.rbp);
}

// `given_size` is what the caller says that the block is large; 0: nothing. Its low half is enough to tell a wrong one.
[[gnu::always_inline]] inline void releasing(EventKind kind, void* block, std::size_t given_size,
                                             const Frame& site) noexcept {
  if (block == nullptr) return;
  if (takes_blocks()) [[likely]]
    (void)record(kind, as_address(block), static_cast<std::uint32_t>(given_size), site, g_recorder.free_stacks);
  else if (is_recording())
    (void)record_paused(kind, as_address(block), site.pc, site.slot, site.rbp);
}

// A realloc that replaces a block is two records: the old block, stamped before the real call may hand it to another
// thread, and the outcome after it. The first has the stack: where the real call ends the program there is no second.
[[gnu::always_inline]] inline void replaced(EventKind kind, bool begun, void* old_block, void* block, std::size_t size,
                                            const Frame& site) noexcept {
  if (!begun) return; // the loss is counted already
  if (block != nullptr || size == 0) {
    (void)record(kind, as_address(block), size, site, false);
  } else {
    (void)record(EventKind::ReallocFailed, as_address(old_block), 0, site, false);
    record_failed(kind, size, 0, site.pc, site.slot, site.rbp);
  }
}

[[gnu::noinline, gnu::cold]] void* realloc_paused(void* old_block, std::size_t size, const Frame& site) noexcept {
  if (old_block == nullptr) {
    void* block = g_real.realloc(nullptr, size);
    if (block != nullptr) (void)record_paused(EventKind::PausedAlloc, as_address(block), site.pc, site.slot, site.rbp);
    return block;
  }
  const bool begun = record_paused(EventKind::ReallocBegin, as_address(old_block), site.pc, site.slot, site.rbp);
  void* block = g_real.realloc(old_block, size);
  const bool failed = block == nullptr && size != 0;
  if (begun) {
    (void)record(failed ? EventKind::ReallocFailed : EventKind::PausedRealloc, as_address(block), 0, site, false);
  }
  return block;
}

} // namespace

} // namespace heaptape::recorder

using namespace heaptape;
using namespace heaptape::recorder;

HT_HOOK void* malloc(std::size_t size) {
  void* block = g_real.malloc(size);
  allocated(EventKind::Malloc, block, size, HT_CALL_SITE());
  return block;
}

HT_HOOK void* calloc(std::size_t count, std::size_t size) {
  void* block = g_real.calloc(count, size);
  const Frame site = HT_CALL_SITE();
  if (block == nullptr) [[unlikely]]
    record_failed(EventKind::Calloc, array_bytes(count, size), 0, site.pc, site.slot, site.rbp);
  else
    allocated(EventKind::Calloc, block, count * size, site);
  return block;
}

HT_HOOK void free(void* block) {
  releasing(EventKind::Free, block, 0, HT_CALL_SITE());
  g_real.free(block);
}

HT_HOOK void cfree(void* block) {
  releasing(EventKind::Cfree, block, 0, HT_CALL_SITE());
  g_real.free(block);
}

HT_HOOK void free_sized(void* block, std::size_t size) {
  releasing(EventKind::FreeSized, block, size, HT_CALL_SITE());
  g_real.free(block);
}

HT_HOOK void free_aligned_sized(void* block, std::size_t, std::size_t size) {
  releasing(EventKind::FreeAlignedSized, block, size, HT_CALL_SITE());
  g_real.free(block);
}

HT_HOOK void* realloc(void* old_block, std::size_t size) {
  if (!takes_blocks()) [[unlikely]]
    return realloc_paused(old_block, size, HT_CALL_SITE());
  if (old_block == nullptr) {
    void* block = g_real.realloc(nullptr, size);
    allocated(EventKind::Realloc, block, size, HT_CALL_SITE());
    return block;
  }
  const bool begun = record(EventKind::ReallocBegin, as_address(old_block), size, HT_CALL_SITE(), true);
  void* block = g_real.realloc(old_block, size);
  replaced(EventKind::Realloc, begun, old_block, block, size, HT_CALL_SITE());
  return block;
}

HT_HOOK void* reallocarray(void* old_block, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    const Frame site = HT_CALL_SITE();
    record_failed(EventKind::ReallocArray, ~std::uint64_t{0}, ENOMEM, site.pc, site.slot, site.rbp);
    return nullptr;
  }
  if (!takes_blocks()) [[unlikely]]
    return realloc_paused(old_block, bytes, HT_CALL_SITE());
  if (old_block == nullptr) {
    void* block = g_real.realloc(nullptr, bytes);
    allocated(EventKind::ReallocArray, block, bytes, HT_CALL_SITE());
    return block;
  }
  const bool begun = record(EventKind::ReallocBegin, as_address(old_block), bytes, HT_CALL_SITE(), true);
  void* block = g_real.realloc(old_block, bytes);
  replaced(EventKind::ReallocArray, begun, old_block, block, bytes, HT_CALL_SITE());
  return block;
}

HT_HOOK void* memalign(std::size_t alignment, std::size_t size) {
  void* block = g_real.memalign(alignment, size);
  allocated(EventKind::Memalign, block, size, HT_CALL_SITE());
  return block;
}

HT_HOOK int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  const int result = g_real.posix_memalign(block, alignment, size);
  const Frame site = HT_CALL_SITE();
  if (result == 0) [[likely]]
    allocated(EventKind::PosixMemalign, *block, size, site);
  else
    record_failed(EventKind::PosixMemalign, size, result, site.pc, site.slot, site.rbp);
  return result;
}

HT_HOOK void* aligned_alloc(std::size_t alignment, std::size_t size) {
  void* block = g_real.aligned_alloc(alignment, size);
  allocated(EventKind::AlignedAlloc, block, size, HT_CALL_SITE());
  return block;
}

HT_HOOK void* valloc(std::size_t size) {
  void* block = g_real.valloc(size);
  allocated(EventKind::Valloc, block, size, HT_CALL_SITE());
  return block;
}

HT_HOOK void* pvalloc(std::size_t size) {
  void* block = g_real.pvalloc(size);
  allocated(EventKind::Pvalloc, block, size, HT_CALL_SITE());
  return block;
}

// Not recorded; but only the allocator that made a block knows how large it is.
HT_HOOK std::size_t malloc_usable_size(void* block) {
  return g_real.malloc_usable_size != nullptr ? g_real.malloc_usable_size(block) : 0;
}
