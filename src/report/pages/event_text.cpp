#include "report/pages/event_text.h"

#include <fmt/compile.h>

#include <algorithm>
#include <string_view>

#include "base/format_into.h"
#include "base/number_text.h"
#include "report/figures/pools.h"
#include "report/pages/memory_errors.h"
#include "report/pages/odd_calls.h"
#include "report/text/json_text.h"
#include "report/text/mark_text.h"
#include "wire/stack_roots.h"

namespace heaptape {
namespace {

constexpr unsigned kKindWidth = 18; // free_aligned_sized
constexpr unsigned kSizeWidth = 12;

unsigned digits(std::uint64_t number) {
  unsigned count = 1;
  for (; number >= 10; number /= 10) ++count;
  return count;
}

void put(fmt::memory_buffer& out, std::string_view text) { out.append(text.data(), text.data() + text.size()); }

void put_spaces(fmt::memory_buffer& out, unsigned count) {
  static constexpr std::string_view kSpaces = "                                ";
  for (; count > kSpaces.size(); count -= static_cast<unsigned>(kSpaces.size())) put(out, kSpaces);
  put(out, kSpaces.substr(0, count));
}

// Right-aligned. Written out because the general formatter costs as much as all the rest of a line.
void put_number(fmt::memory_buffer& out, std::uint64_t number, unsigned width) {
  const fmt::format_int text(number);
  const auto length = static_cast<unsigned>(text.size());
  if (length < width) put_spaces(out, width - length);
  put(out, {text.data(), text.size()});
}

void put_time(fmt::memory_buffer& out, std::uint64_t us, unsigned width) {
  put_number(out, us / 1'000'000, width > 7 ? width - 7 : 1);
  char fraction[7] = {'.', '0', '0', '0', '0', '0', '0'};
  std::uint64_t rest = us % 1'000'000;
  for (unsigned i = 6; rest != 0; --i, rest /= 10) fraction[i] = static_cast<char>('0' + rest % 10);
  put(out, {fraction, sizeof fraction});
}

void put_address(fmt::memory_buffer& out, std::uint64_t address) {
  char text[18] = {'0', 'x'};
  unsigned length = 2;
  for (int shift = std::max(11, (63 - __builtin_clzll(address | 1)) / 4) * 4; shift >= 0; shift -= 4) {
    text[length++] = "0123456789abcdef"[address >> shift & 0xf];
  }
  put(out, {text, length});
}

bool has_old_address(const Event& event) { return is_reallocation(event.kind) || event.kind == EventKind::Mremap; }

} // namespace

ColumnWidths ColumnWidths::of(std::uint64_t last_number, std::uint64_t last_us, std::uint32_t last_thread) {
  ColumnWidths widths;
  widths.number = std::max(widths.number, digits(last_number));
  widths.time = std::max(widths.time, digits(last_us / 1'000'000) + 7);
  widths.thread = std::max(widths.thread, digits(last_thread));
  return widths;
}

ColumnWidths ColumnWidths::of(const TapeReader& tape) {
  std::uint64_t last_number = 0, last_us = 0;
  for (const EventChunkInfo& block : tape.event_chunks()) {
    last_number = std::max(last_number, block.last_number());
    last_us = std::max(last_us, block.last_us);
  }
  std::uint32_t last_thread = 0;
  for (const Thread& thread : tape.threads()) last_thread = std::max(last_thread, thread.id.value);
  return of(last_number, last_us, last_thread);
}

void append_titles(fmt::memory_buffer& out, const ColumnWidths& widths) {
  format_into(out, "#{:>{}}  {:>{}}  {:>{}}  {:<{}} {:<14} {:>{}}\n", "event", widths.number - 1, "seconds",
              widths.time, "thread", widths.thread + 1, "kind", kKindWidth, "address", "size", kSizeWidth);
}

void append_event(fmt::memory_buffer& out, const Event& event, const ColumnWidths& widths,
                  const std::vector<Pool>& pools) {
  put_number(out, event.number, widths.number);
  put_spaces(out, 2);
  put_time(out, event.time_us, widths.time);
  put(out, "  T");
  const fmt::format_int thread(event.thread.value);
  put(out, {thread.data(), thread.size()});
  put_spaces(out, 2 + widths.thread - std::min(widths.thread, static_cast<unsigned>(thread.size())));
  const std::string_view kind = kind_name(event.kind);
  put(out, kind);
  put_spaces(out, 1 + kKindWidth - std::min(kKindWidth, static_cast<unsigned>(kind.size())));
  put_address(out, event.address);
  if (has_size(event.kind)) {
    out.push_back(' ');
    put_number(out, event.size, kSizeWidth);
  }
  if (has_old_address(event) && event.old_address != 0) {
    put(out, "  from ");
    put_address(out, event.old_address);
    if (event.kind == EventKind::Mremap) {
      put(out, " size ");
      put_number(out, event.old_size, 1);
    }
    if (event.old_released) put(out, " (released before)");
  }
  if (is_pool(event.kind)) {
    put(out, event.address != 0 ? "  in pool " : "  everything in pool ");
    put(out, pool_name(pools, pool_of(event)));
  }
  out.push_back('\n');
}

void append_mark(fmt::memory_buffer& out, const Mark& mark, const ColumnWidths& widths) {
  put_spaces(out, widths.number + 2);
  put_time(out, mark.time_us, widths.time);
  format_into(out, "  T{:<{}}  {:<{}} {}\n", mark.thread.value, widths.thread, mark_kind_name(mark.kind), kKindWidth,
              mark_words(mark));
}

namespace {
std::string sentence_of(const OddCall& call) {
  return odd_sentence({.call = call, .sort = call.kind == OddKind::Failed ? OddSort::Failed : OddSort::NotKnown});
}
} // namespace

void append_odd_call(fmt::memory_buffer& out, const OddCall& call, const ColumnWidths& widths) {
  put_spaces(out, widths.number + 2);
  put_time(out, call.time_us, widths.time);
  format_into(out, "  T{:<{}}  {:<{}} {}\n", call.thread.value, widths.thread,
              call.kind == OddKind::Failed ? "failed" : "odd", kKindWidth, sentence_of(call));
}

void append_odd_call_json(fmt::memory_buffer& out, const OddCall& call) {
  JsonWriter json;
  json.begin_object().key("odd_call").begin_object();
  json.field("sort", std::string_view(call.kind == OddKind::Failed ? "failed" : "unfinished"));
  json.field("call", std::string_view(kind_name(call.call))).field("after_event", call.event);
  json.field("time_us", call.time_us).field("thread", call.thread.value).field("size", call.size);
  if (call.address != 0) json.field("address", std::string_view(fmt::format("{:#x}", call.address)));
  if (call.error != 0) json.field("error", call.error);
  json.field("stack", call.stack.value).field("sentence", std::string_view(sentence_of(call)));
  put(out, json.end_object().end_object().text() + "\n");
}

void append_memory_error(fmt::memory_buffer& out, const MemoryError& error, const ColumnWidths& widths) {
  put_spaces(out, widths.number + 2);
  put_time(out, error.time_us, widths.time);
  format_into(out, "  T{:<{}}  {:<{}} {}\n", error.thread.value, widths.thread, "memory error", kKindWidth,
              error_sentence(error));
}

void append_memory_error_json(fmt::memory_buffer& out, const MemoryError& error) {
  JsonWriter json;
  json.begin_object().key("memory_error").begin_object();
  json.field("sort", std::string_view(error_sort_name(error.sort)));
  json.field("found", std::string_view(found_at_name(error.found)));
  json.field("after_event", error.event).field("time_us", error.time_us).field("thread", error.thread.value);
  json.field("stack", error.stack.value);
  json.field("address", std::string_view(fmt::format("{:#x}", error.address))).field("length", error.length);
  if (error.block != 0) {
    json.field("block", std::string_view(fmt::format("{:#x}", error.block))).field("block_size", error.block_size);
  }
  if (!error.bytes.empty()) {
    json.field("bytes", std::string_view(hex_text(error.bytes)));
    json.field("expected", static_cast<std::uint32_t>(error.expected));
  }
  if (error.given != 0) json.field("given", error.given);
  if (error.whole_us != 0) json.field("whole_us", error.whole_us);
  if (!error.function.empty()) json.field("function", std::string_view(error.function));
  json.field("sentence", std::string_view(error_sentence(error)));
  put(out, json.end_object().end_object().text() + "\n");
}

void append_mark_json(fmt::memory_buffer& out, const Mark& mark) {
  JsonWriter json;
  json.begin_object().key("mark").begin_object();
  write_mark_fields(json, mark);
  put(out, json.end_object().end_object().text() + "\n");
}

void append_stack(fmt::memory_buffer& out, const Event& event, FrameTexts& frames) {
  bool interrupted = false;
  const std::uint64_t cut = frames.each_node(event.stack, [&](StackId node, std::uint64_t) {
    put(out, "        ");
    put(out, frames.of(node, event.time_us, interrupted));
    out.push_back('\n');
  });
  if (cut == wire::kRootCut) put(out, "        (outer frames unknown)\n");
  if (cut == wire::kRootTooDeep) put(out, "        (frames further out not recorded, see --max-depth)\n");
}

void append_event_json(fmt::memory_buffer& out, const Event& event, std::uint32_t tid, FrameTexts* frames,
                       const std::vector<Pool>& pools) {
  const auto to = fmt::appender(out);
  fmt::format_to(to, FMT_COMPILE(R"({{"event":{},"time_us":{},"thread":{},"tid":{},"kind":"{}","address":"{:#x}")"),
                 event.number, event.time_us, event.thread.value, tid, kind_name(event.kind), event.address);
  if (has_size(event.kind)) fmt::format_to(to, FMT_COMPILE(R"(,"size":{})"), event.size);
  if (has_old_address(event)) fmt::format_to(to, FMT_COMPILE(R"(,"old_address":"{:#x}")"), event.old_address);
  if (event.kind == EventKind::Mremap) fmt::format_to(to, FMT_COMPILE(R"(,"old_size":{})"), event.old_size);
  if (event.old_released) put(out, R"(,"old_released":true)");
  if (is_pool(event.kind)) {
    put(out, R"(,"pool":)");
    put(out, json_string(pool_name(pools, pool_of(event))));
  }
  fmt::format_to(to, FMT_COMPILE(R"(,"stack":{})"), event.stack.value);
  if (frames != nullptr) {
    const std::uint64_t cut = frames->each_node(event.stack, [](StackId, std::uint64_t) {});
    if (cut == wire::kRootCut) put(out, R"(,"cut":"unknown")");
    if (cut == wire::kRootTooDeep) put(out, R"(,"cut":"depth")");
    put(out, R"(,"frames":[)");
    bool first = true, interrupted = false;
    frames->each_node(event.stack, [&](StackId node, std::uint64_t) {
      if (!first) out.push_back(',');
      first = false;
      put(out, frames->of(node, event.time_us, interrupted));
    });
    out.push_back(']');
  }
  put(out, "}\n");
}

} // namespace heaptape
