#include "report/pages/timeline_numbers.h"

#include <array>
#include <cstdint>

#include "report/text/json_writer.h"
#include "report/text/mark_text.h"

namespace heaptape {
namespace {

struct Column {
  const char* name;
  std::uint64_t TimeBucket::*value;
};
constexpr std::array kColumns{Column{"min_bytes", &TimeBucket::min_bytes},
                              Column{"max_bytes", &TimeBucket::max_bytes},
                              Column{"last_bytes", &TimeBucket::last_bytes},
                              Column{"min_blocks", &TimeBucket::min_blocks},
                              Column{"max_blocks", &TimeBucket::max_blocks},
                              Column{"last_blocks", &TimeBucket::last_blocks},
                              Column{"allocated_bytes", &TimeBucket::allocated_bytes},
                              Column{"events", &TimeBucket::events},
                              Column{"rss_bytes", &TimeBucket::rss_bytes},
                              Column{"anonymous_bytes", &TimeBucket::anonymous_bytes}};

const TimelineLevel& finest(const TapeView& view) { return view.findings().timeline.levels.back(); }

} // namespace

std::string timeline_csv(const TapeView& view) {
  const TimelineLevel& level = finest(view);
  std::string out = "time_us";
  for (const Column& column : kColumns) out += std::string(",") + column.name;
  out += '\n';
  for (std::size_t i = 0; i < level.buckets.size(); ++i) {
    out += std::to_string(i * level.bucket_us);
    for (const Column& column : kColumns) out += "," + std::to_string(level.buckets[i].*column.value);
    out += '\n';
  }
  return out;
}

std::string timeline_json(const TapeView& view) {
  const Findings& findings = view.findings();
  const TimelineLevel& level = finest(view);
  JsonWriter json;
  json.begin_object().field("tape", std::string_view(view.path())).field("end_us", findings.end_us);
  json.field("bucket_us", level.bucket_us).field("peak_us", findings.totals.peak_us);
  json.field("peak_bytes", findings.totals.peak_bytes);
  if (const auto& total = findings.total_peak)
    json.field("total_peak_us", total->time_us).field("total_peak_bytes", total->bytes);
  json.key("marks").begin_array();
  for (const Mark& mark : view.marks()) {
    json.begin_object();
    write_mark_fields(json, mark);
    json.end_object();
  }
  json.end_array();
  for (const Column& column : kColumns) {
    json.key(column.name).begin_array();
    for (const TimeBucket& bucket : level.buckets) json.value(bucket.*column.value);
    json.end_array();
  }
  json.end_object();
  return json.text() + "\n";
}

} // namespace heaptape
