#include "report/pages/info_json.h"

#include <fmt/format.h>

#include <string_view>

#include "base/format_into.h"
#include "base/number_text.h"
#include "report/pages/memory_errors.h"
#include "report/pages/odd_calls.h"
#include "report/text/inherited_text.h"
#include "report/text/json_text.h"

namespace heaptape {
namespace {

// A JSON object or array under construction: puts the commas.
class JsonList {
public:
  JsonList(fmt::memory_buffer& out, std::string_view open, std::string_view close, std::string_view separator)
      : out_(out), close_(close), separator_(separator) {
    put(open);
  }
  ~JsonList() { put(close_); }
  JsonList(const JsonList&) = delete;
  JsonList& operator=(const JsonList&) = delete;

  void item() {
    if (!first_) put(separator_);
    first_ = false;
  }
  void name(std::string_view key) {
    item();
    append_json_string(out_, key);
    put(": ");
  }
  void text(std::string_view key, std::string_view value) {
    name(key);
    append_json_string(out_, value);
  }
  void number(std::string_view key, std::uint64_t value) {
    name(key);
    format_into(out_, "{}", value);
  }
  void address(std::string_view key, std::uint64_t value) {
    name(key);
    format_into(out_, "\"{:#x}\"", value);
  }
  void put(std::string_view piece) { out_.append(piece.data(), piece.data() + piece.size()); }

private:
  fmt::memory_buffer& out_;
  std::string_view close_, separator_;
  bool first_ = true;
};

JsonList inline_object(fmt::memory_buffer& out) { return {out, "{", "}", ", "}; }
JsonList lines_array(fmt::memory_buffer& out) { return {out, "[\n    ", "\n  ]", ",\n    "}; }

void append_summary(fmt::memory_buffer& out, JsonList& top, const TapeReader& tape, const TapeFacts& facts) {
  const Summary& summary = facts.summary;
  top.name("finished");
  top.put(facts.finished ? "true" : "false");
  top.number("duration_us", summary.duration_us);
  top.name("ending");
  {
    JsonList ending = inline_object(out);
    ending.text("how", ending_name(summary.ending));
    if (summary.ending == Ending::Exited) ending.number("status", static_cast<std::uint64_t>(summary.ending_detail));
    if (summary.ending == Ending::Killed) ending.number("signal", static_cast<std::uint64_t>(summary.ending_detail));
    ending.text("note", summary.note);
  }
  top.number("events", summary.events);
  top.name("kinds");
  {
    JsonList kinds = inline_object(out);
    for (std::size_t kind = 0; kind < summary.per_kind.size(); ++kind) {
      if (summary.per_kind[kind] != 0) kinds.number(kind_name(static_cast<EventKind>(kind)), summary.per_kind[kind]);
    }
  }
  top.number("allocated_bytes", summary.allocated_bytes);
  top.number("allocated_blocks", summary.allocated_blocks);
  top.number("peak_bytes", summary.peak_bytes);
  top.number("peak_event", summary.peak_event);
  top.number("peak_us", summary.peak_us);
  top.number("live_bytes", summary.live_bytes);
  top.number("live_blocks", summary.live_blocks);
  top.number("peak_rss_bytes", facts.peak_rss_bytes);
  top.number("recorder_bytes", facts.recorder_bytes);
  top.number("unknown_releases", facts.unknown_releases);
  top.number("forks", tape.forks().size());
  if (tape.inheritance()) {
    JsonWriter inherited;
    write_inheritance_json(inherited, *tape.inheritance());
    top.name("inherited");
    top.put(inherited.text());
  }
  top.number("reordered", summary.reordered);
  top.name("odd_calls");
  {
    JsonList odd = inline_object(out);
    for (const auto& [name, count] : odd_counts(tape.odd_calls())) odd.number(name, count);
  }
  if (const std::string& mode = tape.memory_errors().mode; !mode.empty()) top.text("check_mode", mode);
  top.number("memory_errors", error_count(tape.memory_errors()));
  top.name("losses");
  JsonList losses = inline_object(out);
  for (const auto& [name, count] : summary.losses) losses.number(name, count);
}

void append_threads(fmt::memory_buffer& out, const std::vector<Thread>& threads) {
  JsonList array = lines_array(out);
  for (const Thread& thread : threads) {
    array.item();
    JsonList entry = inline_object(out);
    entry.number("thread", thread.id.value);
    entry.number("tid", thread.tid);
    entry.text("name", thread.name);
    entry.number("first_seen_us", thread.first_seen_us);
    entry.number("ended_us", thread.ended_us);
  }
}

void append_modules(fmt::memory_buffer& out, const std::vector<Module>& modules) {
  JsonList array = lines_array(out);
  for (const Module& module : modules) {
    array.item();
    JsonList entry = inline_object(out);
    entry.text("path", module.path);
    entry.text("build_id", hex_text(std::string(module.build_id.begin(), module.build_id.end())));
    entry.address("load_bias", module.load_bias);
    entry.address("start", module.start);
    entry.address("end", module.end);
    entry.number("first_seen_us", module.first_seen_us);
    entry.name("segments");
    JsonList segments(out, "[", "]", ", ");
    for (const Segment& segment : module.segments) {
      segments.item();
      JsonList fields = inline_object(out);
      fields.address("address", segment.address);
      fields.number("size", segment.size);
      fields.number("file_offset", segment.file_offset);
      fields.number("flags", segment.flags);
    }
  }
}

} // namespace

std::string info_json(const std::string& name, const TapeReader& tape, const TapeFacts& facts) {
  fmt::memory_buffer out;
  {
    JsonList top(out, "{\n  ", "\n}", ",\n  ");
    top.text("tape", name);
    const TapeHeader& header = tape.header();
    top.text("format", header.damaged ? "unknown" : fmt::format("{}.{}", header.version_major, header.version_minor));
    top.text("recorded", header.damaged ? "unknown" : local_time_text(header.start_realtime_ns));
    top.number("start_realtime_ns", tape.header().start_realtime_ns);
    top.number("pid", tape.header().pid);
    top.name("command");
    {
      JsonList command(out, "[", "]", ", ");
      for (const std::string& word : facts.command) {
        command.item();
        append_json_string(out, word);
      }
    }
    top.name("meta");
    {
      JsonList meta = inline_object(out);
      for (const auto& [key, value] : tape.meta()) {
        if (key != "command") meta.text(key, value);
      }
    }
    append_summary(out, top, tape, facts);
    top.number("cpu_samples", tape.cpu().samples.size());
    top.number("cpu_segments", tape.cpu().segments.size());
    top.name("threads");
    append_threads(out, tape.threads());
    top.name("modules");
    append_modules(out, tape.modules());
    top.number("file_bytes", tape.file_bytes());
    top.name("bytes_per_event");
    format_into(out, "{:.4f}", facts.bytes_per_event);
    top.name("blocks");
    {
      JsonList array = lines_array(out);
      for (const ChunkTypeSize& type : tape.chunk_sizes()) {
        array.item();
        JsonList entry = inline_object(out);
        entry.text("type", type.name);
        entry.number("blocks", type.chunks);
        entry.number("bytes", type.bytes);
      }
    }
    top.number("missing_events", facts.damage.missing_events);
    top.name("damage");
    JsonList array = lines_array(out);
    for (const Damage& damage : facts.damage.places) {
      array.item();
      JsonList entry = inline_object(out);
      entry.number("offset", damage.offset);
      entry.number("bytes", damage.bytes);
      entry.text("reason", damage.reason);
    }
  }
  out.push_back('\n');
  return fmt::to_string(out);
}

} // namespace heaptape
