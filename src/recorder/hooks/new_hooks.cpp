// operator new and delete. Where the C++ library's own stand behind ours, the common case goes straight to malloc, as
// theirs would, and a failure is left to theirs: new-handler and exception are exactly what they would be without us.
// Where somebody else's stand behind ours, or the program replaces some of the forms, they are called. Another library's may get
// their memory from malloc, which comes by our hook, or from elsewhere, and their names do not say which. So we look afterwards
// whether the block they gave was recorded inside the call; if not, it is recorded here:
//
//   new T ──► ours ──► theirs ──► malloc ──► our hook, records "malloc 0x5510"      0x5510 is known: nothing more to do
//   new T ──► ours ──► theirs ──► a pool of their own; gives 0x7f40                 0x7f40 is not: we record "new 0x7f40"
#include "recorder/hooks/new_hooks.h"

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "recorder/check/allocator.h"
#include "recorder/check/failing.h"
#include "recorder/check/options.h"
#include "recorder/core/events.h"
#include "recorder/hooks/failed_calls.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/real.h"

namespace heaptape::recorder {

namespace {

enum class Way : std::uint8_t {
  Direct, // the C++ library's: malloc, and theirs on failure
  Record, // as Check, but they have given a block that malloc did not: releases are recorded here, and not again inside
  Check,  // another library's: call them; so far they have always come back to us through malloc and free
  Forward, // some are the program's, and never come by here: call theirs, which come back to us through malloc or not at all
};
constinit std::atomic<Way> g_way{Way::Direct};
Way way() noexcept { return g_way.load(std::memory_order_relaxed); }

enum Form : std::uint8_t {
  kNew,
  kNewArray,
  kNewNothrow,
  kNewArrayNothrow,
  kNewAligned,
  kNewArrayAligned,
  kNewAlignedNothrow,
  kNewArrayAlignedNothrow,
  kDelete,
  kDeleteArray,
  kDeleteSized,
  kDeleteArraySized,
  kDeleteNothrow,
  kDeleteArrayNothrow,
  kDeleteAligned,
  kDeleteArrayAligned,
  kDeleteSizedAligned,
  kDeleteArraySizedAligned,
  kDeleteAlignedNothrow,
  kDeleteArrayAlignedNothrow,
  kForms
};

constexpr const char* kNames[kForms] = {"_Znwm",
                                        "_Znam",
                                        "_ZnwmRKSt9nothrow_t",
                                        "_ZnamRKSt9nothrow_t",
                                        "_ZnwmSt11align_val_t",
                                        "_ZnamSt11align_val_t",
                                        "_ZnwmSt11align_val_tRKSt9nothrow_t",
                                        "_ZnamSt11align_val_tRKSt9nothrow_t",
                                        "_ZdlPv",
                                        "_ZdaPv",
                                        "_ZdlPvm",
                                        "_ZdaPvm",
                                        "_ZdlPvRKSt9nothrow_t",
                                        "_ZdaPvRKSt9nothrow_t",
                                        "_ZdlPvSt11align_val_t",
                                        "_ZdaPvSt11align_val_t",
                                        "_ZdlPvmSt11align_val_t",
                                        "_ZdaPvmSt11align_val_t",
                                        "_ZdlPvSt11align_val_tRKSt9nothrow_t",
                                        "_ZdaPvSt11align_val_tRKSt9nothrow_t"};

constinit void* g_next[kForms];

// All forms fit one signature: arguments a form does not have are registers nobody reads.
using AnyNew = void* (*)(std::size_t, std::size_t, const void*);
using AnyDelete = void (*)(void*, std::size_t, std::size_t);

// The form behind ours. A C++ library that came with a dlopen is not after us in the search order, but it is loaded.
void* next_of(Form form) noexcept {
  if (g_next[form] == nullptr) g_next[form] = find_next(kNames[form]);
  for (const char* library : {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"}) {
    if (g_next[form] != nullptr) break;
    if (void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD); handle != nullptr) {
      g_next[form] = dlsym(handle, kNames[form]);
      dlclose(handle);
    }
  }
  return g_next[form];
}

bool name_begins(const char* path, const char* begin) noexcept {
  const char* slash = std::strrchr(path, '/');
  return std::strncmp(slash != nullptr ? slash + 1 : path, begin, std::strlen(begin)) == 0;
}

// What theirs gives, failure included. Only reached when there is an operator new behind ours or memory is short.
[[gnu::noinline]] void* call_next_new(Form form, std::size_t size, std::size_t second, const void* third) {
  void* next = next_of(form);
  if (next == nullptr) __builtin_trap(); // a program that calls operator new has it somewhere
  return reinterpret_cast<AnyNew>(next)(size, second, third);
}

constexpr bool is_nothrow(Form form) {
  return form == kNewNothrow || form == kNewArrayNothrow || form == kNewAlignedNothrow ||
         form == kNewArrayAlignedNothrow;
}

bool has_new_handler() noexcept {
  void* const function = dlsym(RTLD_DEFAULT, "_ZSt15get_new_handlerv");
  (void)dlerror(); // the program must not find our failed look-up there
  return function == nullptr || reinterpret_cast<void* (*)()>(function)() != nullptr;
}

// Memory is short: what follows is the C++ library's business, and it gets its memory from malloc, by our hook.
[[gnu::noinline, gnu::cold]] void* make_after_failure(Form form, EventKind kind, std::size_t size, std::size_t second,
                                                      const void* third, std::uint64_t pc, std::uint64_t slot,
                                                      std::uint64_t rbp) {
  const Frame site{pc, slot, rbp};
  const bool on_purpose = g_check.fail && failed_on_purpose();
  record_failed_new(kind, size, site);
  // Theirs would throw inside and catch it again.
  if (is_nothrow(form) && !has_new_handler()) return nullptr;
  if (on_purpose) fail_once_more();
  void* const block = call_next_new(form, size, second, third);
  if (block != nullptr && takes_blocks()) {
    (void)record(EventKind::BecameNew, as_address(block), static_cast<std::uint64_t>(kind), site, false);
  }
  return block;
}

[[gnu::noinline]] void* make_and_check(Form form, EventKind kind, std::size_t size, std::size_t second,
                                       const void* third, const Frame& site) {
  if (!is_recording()) return call_next_new(form, size, second, third);
  const Moment before = moment_now();
  void* block = call_next_new(form, size, second, third);
  if (block == nullptr) {
    record_failed(kind, size, 0, site.pc, site.slot, site.rbp);
    return block;
  }
  if (made_since(before, as_address(block))) return block;
  // Nothing of this sort can have been released before this.
  if (g_way.exchange(Way::Record, std::memory_order_relaxed) != Way::Record) {
    (void)record(EventKind::OperatorsMixed, 0, 0, site, false);
  }
  if (takes_blocks())
    (void)record(kind, as_address(block), size, site, true);
  else
    (void)record_paused(EventKind::PausedAlloc, as_address(block), site.pc, site.slot, site.rbp);
  return block;
}

[[gnu::noinline]] void drop_by_theirs(Way chosen, Form form, void* block, std::size_t second, std::size_t third) {
  void* next = next_of(form);
  if (next == nullptr) return g_real.free(block);
  if (chosen != Way::Record || block == nullptr) return reinterpret_cast<AnyDelete>(next)(block, second, third);
  const Suppressed suppressed(as_address(block));
  reinterpret_cast<AnyDelete>(next)(block, second, third);
}

[[gnu::always_inline]] inline void* make(Form form, EventKind kind, std::size_t size, std::size_t second,
                                         const void* third, std::size_t alignment, const Frame& site) {
  if (way() == Way::Direct) [[likely]] {
    void* block = nullptr;
    if (alignment == 0) {
      block = g_real.malloc(size != 0 || g_check.on ? size : 1);
    } else if (g_check.on) {
      // Not rounded, so that what is behind the object is not the object's.
      if ((alignment & (alignment - 1)) == 0) block = g_real.memalign(alignment, size);
    } else if ((alignment & (alignment - 1)) == 0) {
      const std::size_t rounded = ((size != 0 ? size : 1) + alignment - 1) & ~(alignment - 1);
      if (rounded >= size) block = g_real.aligned_alloc(alignment, rounded);
    }
    if (block == nullptr) [[unlikely]]
      return make_after_failure(form, kind, size, second, third, site.pc, site.slot, site.rbp);
    if (takes_blocks()) [[likely]]
      (void)record(kind, as_address(block), size, site, true);
    else if (is_recording())
      (void)record_paused(EventKind::PausedAlloc, as_address(block), site.pc, site.slot, site.rbp);
    return block;
  }
  if (way() == Way::Forward) return call_next_new(form, size, second, third);
  return make_and_check(form, kind, size, second, third, site);
}

[[gnu::always_inline]] inline void drop(Form form, EventKind kind, void* block, std::size_t second, std::size_t third,
                                        std::size_t given_size, std::size_t alignment, const Frame& site) {
  const Way chosen = way();
  if (chosen <= Way::Record && block != nullptr) [[likely]] {
    if (takes_blocks()) [[likely]]
      (void)record(kind, as_address(block), static_cast<std::uint32_t>(given_size), site, g_recorder.free_stacks);
    else if (is_recording())
      (void)record_paused(kind, as_address(block), site.pc, site.slot, site.rbp);
  }
  if (chosen == Way::Direct) [[likely]] {
    if (g_check.on) [[unlikely]]
      checked_delete(block, alignment);
    else
      g_real.free(block);
  } else {
    drop_by_theirs(chosen, form, block, second, third);
  }
}

} // namespace

std::uint64_t operator_new_behind_ours() noexcept {
  return way() == Way::Direct ? reinterpret_cast<std::uint64_t>(g_next[kNew]) : 0;
}

void each_operator_behind_ours(void (*visit)(const char* name, void* given), void* given) noexcept {
  for (std::size_t form = 0; form < kForms; ++form) {
    if (g_next[form] != nullptr) visit(kNames[form], given);
  }
}

void choose_operator_new() noexcept {
  for (std::size_t form = 0; form < kForms; ++form) g_next[form] = find_next(kNames[form]);
  // The program's own, or parts of it: the C++ library's other forms are written in terms of those.
  for (const Form form : {kNew, kDelete, kNewArray, kDeleteArray, kNewAligned, kDeleteAligned}) {
    if (defined_before_ours(kNames[form])) {
      g_way.store(Way::Forward, std::memory_order_relaxed);
      return;
    }
  }
  Dl_info next;
  if (g_next[kNew] == nullptr || dladdr(g_next[kNew], &next) == 0) return;
  if (name_begins(next.dli_fname, "libstdc++") || name_begins(next.dli_fname, "libc++")) return;
  if (g_check.on) return; // the blocks are the checks', whoever stands behind
  g_way.store(Way::Check, std::memory_order_relaxed);
}

} // namespace heaptape::recorder

using namespace heaptape;
using namespace heaptape::recorder;

// The names are given in their mangled form: declared as the operators they are, they would want exceptions and headers.
#define HT_NEW(function, symbol, ...)                                                                                  \
  extern "C" [[gnu::visibility("default"), gnu::noinline]] void* function(__VA_ARGS__) asm(symbol);                    \
  void* function(__VA_ARGS__)
#define HT_DELETE(function, symbol, ...)                                                                               \
  extern "C" [[gnu::visibility("default"), gnu::noinline]] void function(__VA_ARGS__) asm(symbol);                     \
  void function(__VA_ARGS__)

HT_NEW(ht_new, "_Znwm", std::size_t size) { return make(kNew, EventKind::New, size, 0, nullptr, 0, HT_CALL_SITE()); }
HT_NEW(ht_new_array, "_Znam", std::size_t size) {
  return make(kNewArray, EventKind::NewArray, size, 0, nullptr, 0, HT_CALL_SITE());
}
HT_NEW(ht_new_nothrow, "_ZnwmRKSt9nothrow_t", std::size_t size, std::size_t tag) {
  return make(kNewNothrow, EventKind::New, size, tag, nullptr, 0, HT_CALL_SITE());
}
HT_NEW(ht_new_array_nothrow, "_ZnamRKSt9nothrow_t", std::size_t size, std::size_t tag) {
  return make(kNewArrayNothrow, EventKind::NewArray, size, tag, nullptr, 0, HT_CALL_SITE());
}
HT_NEW(ht_new_aligned, "_ZnwmSt11align_val_t", std::size_t size, std::size_t alignment) {
  return make(kNewAligned, EventKind::New, size, alignment, nullptr, alignment, HT_CALL_SITE());
}
HT_NEW(ht_new_array_aligned, "_ZnamSt11align_val_t", std::size_t size, std::size_t alignment) {
  return make(kNewArrayAligned, EventKind::NewArray, size, alignment, nullptr, alignment, HT_CALL_SITE());
}
HT_NEW(ht_new_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", std::size_t size, std::size_t alignment,
       const void* tag) {
  return make(kNewAlignedNothrow, EventKind::New, size, alignment, tag, alignment, HT_CALL_SITE());
}
HT_NEW(ht_new_array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", std::size_t size, std::size_t alignment,
       const void* tag) {
  return make(kNewArrayAlignedNothrow, EventKind::NewArray, size, alignment, tag, alignment, HT_CALL_SITE());
}

HT_DELETE(ht_delete, "_ZdlPv", void* block) { drop(kDelete, EventKind::Delete, block, 0, 0, 0, 0, HT_CALL_SITE()); }
HT_DELETE(ht_delete_array, "_ZdaPv", void* block) {
  drop(kDeleteArray, EventKind::DeleteArray, block, 0, 0, 0, 0, HT_CALL_SITE());
}
HT_DELETE(ht_delete_sized, "_ZdlPvm", void* block, std::size_t size) {
  drop(kDeleteSized, EventKind::Delete, block, size, 0, size, 0, HT_CALL_SITE());
}
HT_DELETE(ht_delete_array_sized, "_ZdaPvm", void* block, std::size_t size) {
  drop(kDeleteArraySized, EventKind::DeleteArray, block, size, 0, size, 0, HT_CALL_SITE());
}
HT_DELETE(ht_delete_nothrow, "_ZdlPvRKSt9nothrow_t", void* block, std::size_t tag) {
  drop(kDeleteNothrow, EventKind::Delete, block, tag, 0, 0, 0, HT_CALL_SITE());
}
HT_DELETE(ht_delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", void* block, std::size_t tag) {
  drop(kDeleteArrayNothrow, EventKind::DeleteArray, block, tag, 0, 0, 0, HT_CALL_SITE());
}
HT_DELETE(ht_delete_aligned, "_ZdlPvSt11align_val_t", void* block, std::size_t alignment) {
  drop(kDeleteAligned, EventKind::Delete, block, alignment, 0, 0, alignment, HT_CALL_SITE());
}
HT_DELETE(ht_delete_array_aligned, "_ZdaPvSt11align_val_t", void* block, std::size_t alignment) {
  drop(kDeleteArrayAligned, EventKind::DeleteArray, block, alignment, 0, 0, alignment, HT_CALL_SITE());
}
HT_DELETE(ht_delete_sized_aligned, "_ZdlPvmSt11align_val_t", void* block, std::size_t size, std::size_t alignment) {
  drop(kDeleteSizedAligned, EventKind::Delete, block, size, alignment, size, alignment, HT_CALL_SITE());
}
HT_DELETE(ht_delete_array_sized_aligned, "_ZdaPvmSt11align_val_t", void* block, std::size_t size,
          std::size_t alignment) {
  drop(kDeleteArraySizedAligned, EventKind::DeleteArray, block, size, alignment, size, alignment, HT_CALL_SITE());
}
HT_DELETE(ht_delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", void* block, std::size_t alignment,
          std::size_t tag) {
  drop(kDeleteAlignedNothrow, EventKind::Delete, block, alignment, tag, 0, alignment, HT_CALL_SITE());
}
HT_DELETE(ht_delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", void* block, std::size_t alignment,
          std::size_t tag) {
  drop(kDeleteArrayAlignedNothrow, EventKind::DeleteArray, block, alignment, tag, 0, alignment, HT_CALL_SITE());
}
