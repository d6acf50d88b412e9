#include "recorder/check/report.h"

#include <signal.h>
#include <sys/syscall.h>

#include <atomic>

#include "recorder/check/options.h"
#include "recorder/check/pattern.h"
#include "recorder/check/program_site.h"
#include "recorder/core/events.h"
#include "recorder/core/machine.h"
#include "recorder/core/recorder.h"
#include "recorder/core/text_records.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kMostReports = 100'000; // beyond it errors are only counted

constinit std::atomic<std::uint64_t> g_errors{0};
constinit std::atomic<std::uint64_t> g_whole_ticks{0};

void send(const wire::MemoryError& error) noexcept {
  if (is_attached() && g_errors.load(std::memory_order_relaxed) < kMostReports) {
    const Frame site = program_site();
    if (put_text(reinterpret_cast<const char*>(&error), sizeof error, site))
      (void)record(EventKind::MemoryError, sizeof error, 0, site, true);
  }
  heed_error();
}

} // namespace

void heed_error() noexcept {
  g_errors.fetch_add(1, std::memory_order_relaxed);
  if (g_check.on_error == OnError::Report) return;
  const long pid = system_call(SYS_getpid), tid = system_call(SYS_gettid);
  if (g_check.on_error == OnError::Stop)
    (void)system_call(SYS_kill, pid, SIGSTOP);
  else
    (void)system_call(SYS_tgkill, pid, tid, SIGABRT);
}

void report_damage(ErrorSort sort, FoundAt found, char* begin, char* end, std::uint8_t expected, const char* block,
                   std::uint64_t size) noexcept {
  char* first = begin;
  while (first < end && static_cast<std::uint8_t>(*first) == expected) ++first;
  if (first == end) return;
  char* last = end;
  while (static_cast<std::uint8_t>(last[-1]) == expected) --last;
  wire::MemoryError error{};
  error.sort = sort;
  error.found = found;
  error.expected = expected;
  error.address = reinterpret_cast<std::uint64_t>(first);
  error.length = static_cast<std::uint64_t>(last - first);
  error.byte_count = static_cast<std::uint8_t>(error.length < wire::kErrorBytes ? error.length : wire::kErrorBytes);
  copy_bytes(reinterpret_cast<char*>(error.bytes), first, error.byte_count);
  error.block = reinterpret_cast<std::uint64_t>(block);
  error.block_size = size;
  error.whole_ticks = g_whole_ticks.load(std::memory_order_relaxed);
  fill_bytes(first, error.length, expected);
  send(error);
}

void report_alignment(const char* block, std::uint64_t size, std::uint64_t alignment, std::uint64_t given) noexcept {
  wire::MemoryError error{};
  error.sort = ErrorSort::WrongAlignment;
  error.found = FoundAt::Release;
  error.address = reinterpret_cast<std::uint64_t>(block);
  error.length = alignment;
  error.block = error.address;
  error.block_size = size;
  error.given = given;
  send(error);
}

void note_all_whole(std::uint64_t ticks) noexcept { g_whole_ticks.store(ticks, std::memory_order_relaxed); }

std::uint64_t errors_found() noexcept { return g_errors.load(std::memory_order_relaxed); }

} // namespace heaptape::recorder
