#include "recorder/check/failing.h"

#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>

#include "recorder/check/allocator.h"
#include "recorder/check/failing_options.h"
#include "recorder/check/program_site.h"
#include "recorder/core/cfi.h"
#include "recorder/core/events.h"
#include "recorder/core/full_unwind.h"
#include "recorder/core/machine.h"
#include "recorder/core/recorder.h"
#include "recorder/core/text_records.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kMostNotes = 1000; // failures beyond it are on the tape without their numbers
constexpr std::uint64_t kTextMark = 2;     // MarkKind::Text

constinit std::atomic<std::uint64_t> g_counted{0}, g_failed{0};
constinit std::atomic<bool> g_begun{false};
constinit char g_program_path[4096]{};

thread_local constinit bool t_failed [[gnu::tls_model("initial-exec")]] = false;    // the last one, on purpose
thread_local constinit bool t_once_more [[gnu::tls_model("initial-exec")]] = false; // the next one is to fail

const link_map* object_at(std::uint64_t pc) noexcept {
  return static_cast<const link_map*>(find_object(pc - 1).link_map);
}
// The loader gives it no name.
bool is_program(const link_map* object) noexcept {
  return object != nullptr && object->l_prev == nullptr && object->l_name != nullptr && object->l_name[0] == 0;
}
bool is_called(const link_map* object, const char* name) noexcept {
  if (object == nullptr || object->l_name == nullptr) return false;
  return is_object_called(is_program(object) ? g_program_path : object->l_name, name);
}

bool is_in_program(std::uint64_t pc) noexcept { return is_program(object_at(pc)); }

bool is_in_range(std::uint64_t pc) noexcept {
  const link_map* const object = object_at(pc);
  if (object == nullptr) return false;
  const std::uint64_t address = pc - 1 - object->l_addr;
  for (std::size_t i = 0; i < g_failing.range_count; ++i) {
    const FunctionRange& range = g_failing.ranges[i];
    if (address < range.begin || address >= range.end) continue;
    if (range.object[0] == 0 ? is_program(object) : is_called(object, range.object)) return true;
  }
  return false;
}

// Whether the program's own code runs. Its first instruction stands outermost on the main thread's stack from then on.
bool has_begun(const Frame& site) noexcept {
  if (g_begun.load(std::memory_order_relaxed)) [[likely]]
    return true;
  if (!any_frame(site, is_in_program)) return false;
  g_begun.store(true, std::memory_order_relaxed);
  return true;
}

bool meets_conditions(std::uint64_t size) noexcept {
  if (!is_attached() || !is_size_meant(g_failing, size)) return false;
  const Frame site = program_site();
  if (!has_begun(site)) return false;
  if (g_failing.module[0] != 0 && !is_called(object_at(site.pc), g_failing.module)) return false;
  return g_failing.range_count == 0 || any_frame(site, is_in_range);
}

// A line of text for the tape.
class Note {
public:
  Note& operator<<(const char* text) noexcept {
    while (*text != 0 && length_ < sizeof text_) text_[length_++] = *text++;
    return *this;
  }
  Note& operator<<(std::uint64_t number) noexcept {
    char digits[20];
    std::size_t count = 0;
    do digits[count++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    while (count != 0 && length_ < sizeof text_) text_[length_++] = digits[--count];
    return *this;
  }
  [[gnu::noinline]] void send() const noexcept {
    const Frame site = program_site();
    if (is_attached() && put_text(text_, length_, site)) (void)record(EventKind::Mark, length_, kTextMark, site, true);
  }

private:
  char text_[96];
  std::size_t length_ = 0;
};

[[gnu::noinline, gnu::cold]] bool fail_now(std::uint64_t number) noexcept {
  t_failed = true;
  if (g_failed.fetch_add(1, std::memory_order_relaxed) < kMostNotes)
    (Note() << "allocation " << number << " failed on purpose").send();
  return true;
}

// Counts it; true: it is to fail.
bool fails(std::uint64_t size) noexcept {
  t_failed = false;
  if (t_once_more) [[unlikely]] {
    t_once_more = false;
    t_failed = true;
    return true;
  }
  if (size == 0 || size > PTRDIFF_MAX || !meets_conditions(size)) return false;
  const std::uint64_t number = g_counted.fetch_add(1, std::memory_order_relaxed) + 1;
  return is_chosen(g_failing, number) && fail_now(number);
}

void* no_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}

} // namespace

void start_failing() noexcept {
  const long length = system_call(SYS_readlinkat, AT_FDCWD, as_long("/proc/self/exe"), as_long(g_program_path),
                                  sizeof g_program_path - 1);
  g_program_path[length > 0 ? length : 0] = 0;
}

void* failing_malloc(std::size_t size) noexcept { return fails(size) ? no_memory() : checked_malloc(size); }

void* failing_calloc(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = 0;
  return fails(bytes) ? no_memory() : checked_calloc(count, size);
}

void* failing_realloc(void* block, std::size_t size) noexcept {
  return fails(size) ? no_memory() : checked_realloc(block, size);
}

void* failing_memalign(std::size_t alignment, std::size_t size) noexcept {
  return fails(alignment > SIZE_MAX / 2 + 1 ? 0 : size) ? no_memory() : checked_memalign(alignment, size);
}

int failing_posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  const bool makes_sense = alignment % sizeof(void*) == 0 && alignment != 0 && (alignment & (alignment - 1)) == 0;
  return fails(makes_sense ? size : 0) ? ENOMEM : checked_posix_memalign(block, alignment, size);
}

void* failing_valloc(std::size_t size) noexcept { return fails(size) ? no_memory() : checked_valloc(size); }
void* failing_pvalloc(std::size_t size) noexcept { return fails(size) ? no_memory() : checked_pvalloc(size); }

bool failed_on_purpose() noexcept { return t_failed; }
void fail_once_more() noexcept { t_once_more = true; }

void tell_failing() noexcept {
  const std::uint64_t counted = g_counted.load(std::memory_order_relaxed);
  const std::uint64_t failed = g_failed.load(std::memory_order_relaxed);
  (Note() << counted << " allocations could have failed, " << failed << " did").send();
}

} // namespace heaptape::recorder
