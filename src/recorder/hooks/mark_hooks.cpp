// What <heaptape/heaptape.h> calls.
#include <cstddef>
#include <cstdint>

#include "recorder/core/events.h"
#include "recorder/core/text_records.h"
#include "recorder/hooks/hook.h"

namespace heaptape::recorder {

namespace {

constexpr std::uint64_t kLongest = 4000;
constexpr std::uint64_t kTextOfSort = 2; // MarkKind::Text

bool put_mark(const char* text, std::uint64_t length, std::uint64_t sort, const Frame& site) noexcept {
  return put_text(text, length, site) && record(EventKind::Mark, length, sort, site, true);
}

// The answer to a question that has just been put into the ring.
bool take_answer(std::uint32_t question, unsigned long* answer) noexcept {
  ThreadState* thread = t_thread;
  if (thread == nullptr || !await_answer(*thread, question)) return false;
  for (std::size_t i = 0; i < wire::kAnswers; ++i) answer[i] = thread->slot->answer[i].load(std::memory_order_relaxed);
  return true;
}

} // namespace

} // namespace heaptape::recorder

using namespace heaptape;
using namespace heaptape::recorder;

HT_HOOK void heaptape_recorder_mark(const char* name, unsigned kind) {
  if (is_attached()) (void)put_mark(name, length_of(name, kLongest), kind & 0xffff, HT_CALL_SITE());
}

// A mark with any bytes for a text. With room for an answer, also asks what the heap is just then; true: that is known.
HT_HOOK int heaptape_recorder_note(const char* bytes, unsigned long length, unsigned kind, unsigned long* answer) {
  if (!is_attached()) return 0;
  const Frame site = HT_CALL_SITE();
  const std::uint64_t kept = length < kLongest ? length : kLongest;
  wire::Header& header = *g_recorder.header;
  if (answer == nullptr || header.answers_ended.load(std::memory_order_relaxed) != 0) {
    if (kind != wire::kQuestionOnly) (void)put_mark(bytes, kept, kind & 0xffff, site);
    return 0;
  }
  std::uint32_t question = header.questions.fetch_add(1, std::memory_order_relaxed) + 1;
  if (question == 0) question = header.questions.fetch_add(1, std::memory_order_relaxed) + 1; // 0 means none
  const std::uint64_t sort = (kind & 0xffff) | std::uint64_t{question} << 16;
  return put_mark(bytes, kept, sort, site) && take_answer(question, answer) ? 1 : 0;
}

HT_HOOK void heaptape_recorder_thread_name(const char* name) {
  if (!is_attached()) return;
  const Frame site = HT_CALL_SITE();
  const std::uint64_t length = length_of(name, kLongest);
  if (put_text(name, length, site)) (void)record(EventKind::ThreadName, length, 0, site, false);
}

HT_HOOK void heaptape_recorder_pause(int pause) {
  const bool changed = pause != 0 ? pause_recording() : resume_recording();
  if (!changed || !is_attached()) return;
  const char* text = pause != 0 ? "recording paused" : "recording resumed";
  (void)put_mark(text, length_of(text, kLongest), kTextOfSort, HT_CALL_SITE());
}
