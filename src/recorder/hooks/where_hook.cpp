// heaptape_where(): for whoever holds a pointer in a debugger, or in the program itself, and asks where it comes from. The collector is
// asked through the shared memory and the answer written to standard error: system calls only, no lock and no memory of libc's, so it
// may be called with the thread stopped inside malloc, or from a signal handler.
#include <sys/syscall.h>

#include <cstdint>
#include <cstring>

#include "recorder/core/machine.h"
#include "recorder/core/readable.h"
#include "recorder/core/recorder.h"
#include "recorder/core/ring.h"
#include "recorder/hooks/asking.h"
#include "recorder/hooks/hook.h"

namespace heaptape::recorder {

namespace {

constexpr int kFound = 1;
constexpr int kNotFound = 0;
constexpr int kNotRecorded = -1;
constexpr int kWaitsForAnswer = 1200; // two minutes: names of a large program take their time
constexpr int kWaitsForAnotherAsker = 50;

void write_all(const char* text, std::size_t size) noexcept {
  while (size > 0) {
    const long written = system_call(SYS_write, 2, as_long(text), static_cast<long>(size));
    if (written <= 0) return;
    text += written;
    size -= static_cast<std::size_t>(written);
  }
}

int refuse(const char* sentence) noexcept {
  write_all("heaptape: ", 10);
  write_all(sentence, std::strlen(sentence));
  write_all("\n", 1);
  return kNotRecorded;
}

// Becomes the one thread that asks. One that a debugger holds in the middle of asking, or that was killed there, is not waited for.
bool become_asker(wire::Header& header, std::uint32_t self) noexcept {
  std::uint32_t before = 0;
  for (int waits = 0; !header.asker.compare_exchange_strong(before, self, std::memory_order_acquire); ++waits) {
    if (before == self) return false; // from a signal handler that interrupted the asking
    if (waits == kWaitsForAnotherAsker) {
      header.asker.store(self, std::memory_order_relaxed);
      return true;
    }
    wait_a_moment(header.question, header.question.load(std::memory_order_relaxed));
    before = 0;
  }
  return true;
}

int ask(wire::Header& header, const void* pointer) noexcept {
  header.asked_address.store(as_address(pointer), std::memory_order_relaxed);
  header.question.store(static_cast<std::uint32_t>(wire::Question::Asked), std::memory_order_release);
  wake_for_question(header);
  for (int waits = 0; waits < kWaitsForAnswer; ++waits) {
    const std::uint32_t state = header.question.load(std::memory_order_acquire); // pairs with the collector's answer
    if (state == static_cast<std::uint32_t>(wire::Question::Answered)) {
      const std::uint32_t size = header.answer_bytes.load(std::memory_order_relaxed);
      const bool found = header.answer_found.load(std::memory_order_relaxed) != 0;
      const auto* text = reinterpret_cast<const char*>(g_recorder.memory + g_recorder.config.answer);
      write_all(text, size < wire::kAnswerBytes ? size : wire::kAnswerBytes);
      return found ? kFound : kNotFound;
    }
    if (collector_is_gone(header)) return refuse("the recording of this process is over");
    wait_a_moment(header.question, state);
  }
  return refuse("the collector does not answer");
}

} // namespace

} // namespace heaptape::recorder

using namespace heaptape;
using namespace heaptape::recorder;

// 1: the pointer lies in a block, or did; 0: it does not; -1: this process is not being recorded.
HT_HOOK int heaptape_recorder_where(const void* pointer) {
  if (g_switch.attached.load(std::memory_order_acquire) == 0) return refuse("this process is not being recorded");
  if (in_sandbox())
    return refuse("this process is in a sandbox of its own; ask 'heaptape where -p PID ADDRESS' from outside");
  wire::Header& header = *g_recorder.header;
  const auto self = static_cast<std::uint32_t>(system_call(SYS_gettid));
  if (!become_asker(header, self)) return refuse("heaptape_where() is already at work in this thread");
  const int found = ask(header, pointer);
  header.question.store(static_cast<std::uint32_t>(wire::Question::None), std::memory_order_relaxed);
  header.asker.store(0, std::memory_order_release);
  wake_all(header.question);
  return found;
}

// The name to call in a debugger; <heaptape/where.h> uses the other, for it has a function of this name itself.
HT_HOOK int heaptape_where(const void* pointer) __attribute__((alias("heaptape_recorder_where")));
