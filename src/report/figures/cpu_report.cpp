#include "report/figures/cpu_report.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/number_text.h"
#include "report/figures/tree_text.h"
#include "report/names/recorder_code.h"
#include "report/text/time_text.h"

namespace heaptape {
namespace {

constexpr std::size_t kThreadsShown = 8;

// What distinguishes and names the rows of a table.
class Grouping {
public:
  Grouping(const StackNames& names, GroupBy by) : names_(names), by_(by) {}

  std::uint64_t key(FrameId id) const {
    const NamedFrame& frame = names_[id];
    if (by_ == GroupBy::Line) return std::uint64_t{frame.function.value} << 32 | frame.line;
    if (by_ == GroupBy::Module) return frame.module_name.value;
    if (by_ == GroupBy::File && frame.file.value != 0) return frame.file.value;
    if (by_ == GroupBy::File) return std::uint64_t{frame.module_name.value} << 32; // code without lines
    return frame.function.value;
  }

  std::string name(FrameId id) const {
    const NamedFrame& frame = names_[id];
    const bool has_file = by_ == GroupBy::File && frame.file.value != 0;
    if (by_ == GroupBy::File || by_ == GroupBy::Module)
      return printable(names_.text(has_file ? frame.file : frame.module_name));
    return printable(names_.text(frame.function));
  }

  // Beside the name; empty: that says it all.
  std::string place(FrameId id) const {
    if (by_ == GroupBy::File || by_ == GroupBy::Module) return {};
    return frame_location(names_, id);
  }

private:
  const StackNames& names_;
  GroupBy by_;
};

struct Entry {
  CpuRow row;
  std::uint64_t heaviest = 0; // of its frames
};

class Table {
public:
  Table(StackNames& names, GroupBy by) : names_(names), grouping_(names, by) {}

  void add(const StackTime& time) {
    const std::vector<FrameId> frames = names_.frames_of(time.stack);
    std::set<std::uint64_t> seen;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const std::uint64_t key = grouping_.key(frames[i]);
      if (!seen.insert(key).second) continue;
      Entry& entry = entries_[key];
      // Where a function itself was running says more than where it called another.
      const std::uint64_t weight = i == 0 ? time.time.us * 1000 : time.time.us;
      if (weight > entry.heaviest || entry.heaviest == 0) {
        entry.heaviest = weight;
        entry.row.frame = frames[i];
      }
      if (i == 0) entry.row.self += time.time;
      entry.row.total += time.time;
    }
  }

  std::vector<CpuRow> rows() const {
    std::vector<CpuRow> rows;
    for (const auto& [key, entry] : entries_) {
      rows.push_back(entry.row);
      rows.back().name = grouping_.name(entry.row.frame);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const CpuRow& a, const CpuRow& b) {
      if (a.self.us != b.self.us) return a.self.us > b.self.us;
      return a.total.us != b.total.us ? a.total.us > b.total.us : a.name < b.name;
    });
    return rows;
  }

private:
  StackNames& names_;
  Grouping grouping_;
  std::map<std::uint64_t, Entry> entries_;
};

std::string segment_text(const CpuSegment& segment, std::uint64_t end_us) {
  return std::to_string(segment.number) + "  from " + seconds_text(segment.begin_us) + " s to " +
         seconds_text(segment.end_us != 0 ? segment.end_us : end_us) + " s, " + std::to_string(segment.hz) + " Hz";
}

// Of the samples in all segments, whatever else was selected: which are worth a look.
std::string segments_text(const TapeView& view, const CpuSelection& selection) {
  const CpuProfile& profile = view.tape().cpu();
  if (profile.segments.size() < 2 || selection.segment != 0) return {};
  constexpr std::size_t kShown = 20;
  std::map<std::uint32_t, CpuTime> sums;
  for (const CpuSample& sample : profile.samples) sums[sample.segment] += time_of(sample, profile);
  std::string out = "\nSegments (--segment N shows one)\n";
  for (std::size_t i = 0; i < profile.segments.size() && i < kShown; ++i) {
    const CpuSegment& segment = profile.segments[i];
    out += "  " + padded_left(segment_text(segment, view.findings().end_us), 48) +
           padded_right(cpu_time_text(sums[segment.number].us), 11) + "\n";
  }
  if (profile.segments.size() > kShown)
    out += "  and " + with_separators(profile.segments.size() - kShown) + " more; --json lists them\n";
  return out;
}

std::string threads_text(const TapeView& view, const CpuReport& report) {
  if (report.threads.size() < 2) return {};
  std::string out = "\n" + padded_right("share", 8) + padded_right("CPU time", 11) + "  thread\n";
  const auto line = [&](const CpuTime& time, const std::string& name) {
    out += padded_right(percent_text(time.us, report.all.us), 8) + padded_right(cpu_time_text(time.us), 11) + "  " +
           name + "\n";
  };
  CpuTime rest;
  for (std::size_t i = 0; i < report.threads.size(); ++i) {
    const auto& [thread, time] = report.threads[i];
    if (i < kThreadsShown)
      line(time, thread_label(view.tape().threads(), thread));
    else
      rest += time;
  }
  if (report.threads.size() > kThreadsShown)
    line(rest, "in " + count_of(report.threads.size() - kThreadsShown, "other thread"));
  return out;
}

std::string table_text(const TapeView& view, const CpuReport& report, const CpuOptions& options,
                       const TextStyle& style) {
  if (options.rows == 0 || report.rows.empty()) return {};
  const char* const noun = options.tree.by == GroupBy::File     ? "file"
                           : options.tree.by == GroupBy::Module ? "module"
                           : options.tree.by == GroupBy::Line   ? "line"
                                                                : "function";
  std::string out = "\n" +
                    style.bold(padded_right("self", 8) + padded_right("total", 8) + padded_right("self time", 11)) +
                    "  " + noun + "\n";
  const Grouping grouping(view.names(), options.tree.by);
  std::size_t others = 0;
  CpuTime rest;
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const CpuRow& row = report.rows[i];
    // What is never seen running itself is in the tree.
    if (i >= options.rows || row.self.us == 0) {
      if (row.self.us != 0) ++others, rest += row.self;
      continue;
    }
    std::string text = padded_right(percent_text(row.self.us, report.all.us), 8) +
                       padded_right(percent_text(row.total.us, report.all.us), 8) +
                       padded_right(cpu_time_text(row.self.us), 11) + "  ";
    std::string place = in_brackets(grouping.place(row.frame));
    const std::size_t room = style.width > columns_of(text) ? style.width - columns_of(text) : 0;
    if (style.width != 0 && columns_of(row.name) + columns_of(place) > room && columns_of(place) + 16 > room)
      place.clear();
    const std::string name =
        style.width == 0 ? row.name : shortened(row.name, room - std::min(room, columns_of(place)));
    out += text + (row.self.us * 10 >= report.all.us ? style.bold(name) : name) + style.dim(place) + "\n";
  }
  if (others != 0) {
    out += padded_right(percent_text(rest.us, report.all.us), 8) + padded_right("", 8) +
           padded_right(cpu_time_text(rest.us), 11) + "  in " + count_of(others, std::string("other ") + noun) + "\n";
  }
  return out;
}

} // namespace

std::vector<StackCost> cpu_costs(const std::vector<StackTime>& times) {
  std::vector<StackCost> costs;
  costs.reserve(times.size());
  for (const StackTime& time : times)
    costs.push_back({.stack = time.stack, .thread = time.thread, .cost = {time.time.us, time.time.periods}});
  return costs;
}

CpuReport make_cpu_report(const TapeView& view, const CpuOptions& options, FrameFilter& filter) {
  CpuReport report;
  StackNames& names = view.names();
  report.times = cpu_times(view.tape().cpu(), options.selection);
  if (!filter.empty())
    std::erase_if(report.times, [&](const StackTime& time) { return !filter.accepts(names, time.stack); });
  const RecorderCode recorder(view.tape().modules(), view.tape().stacks());
  std::map<ThreadId, CpuTime> threads;
  Table table(names, options.tree.by);
  if (options.without_recorder)
    std::erase_if(report.times, [&](const StackTime& time) { return recorder.holds_innermost(time.stack); });
  for (const StackTime& time : report.times) {
    report.all += time.time;
    if (recorder.holds_innermost(time.stack)) report.recorder += time.time;
    threads[time.thread] += time.time;
    table.add(time);
  }
  report.threads.assign(threads.begin(), threads.end());
  std::stable_sort(report.threads.begin(), report.threads.end(),
                   [](const auto& a, const auto& b) { return a.second.us > b.second.us; });
  report.rows = table.rows();
  return report;
}

std::string no_cpu_sentence(const TapeReader& tape, std::uint32_t segment) {
  const CpuProfile& profile = tape.cpu();
  if (profile.empty()) return "this tape has no CPU profile; record with --cpu";
  if (segment != 0 && profile.find(segment) == nullptr) {
    return "there is no segment " + std::to_string(segment) + "; this tape has " +
           count_of(profile.segments.size(), "segment");
  }
  return profile.samples.empty() ? "the program used too little CPU time for a single sample; try a larger --cpu=HZ"
                                 : "no samples match the selection";
}

std::string cpu_text(const TapeView& view, const CpuReport& report, const CpuOptions& options, const TextStyle& style) {
  std::string out = style.bold("CPU time " + cpu_time_text(report.all.us)) + " in " +
                    count_of(report.all.samples, "sample") + " of " + count_of(report.threads.size(), "thread") + "; " +
                    percent_text(report.recorder.us, report.all.us) + " of it in the recorder\n";
  out += segments_text(view, options.selection);
  out += threads_text(view, report);
  out += table_text(view, report, options, style);
  if (report.times.empty()) return out;
  const bool top_down = options.tree.direction == TreeDirection::TopDown;
  out += "\n" + style.bold(top_down ? "Callers first" : "Innermost functions first") +
         (top_down ? " (--bottom-up reverses it)\n" : " (--top-down reverses it)\n");
  StackNames& names = view.names();
  out += tree_text(names, view.tape().threads(), make_call_tree(names, cpu_costs(report.times), options.tree),
                   {.tree = options.tree, .style = style, .expand = options.expand, .unit = TreeUnit::CpuTime});
  return out;
}

void write_cpu_json(JsonWriter& json, const TapeView& view, const CpuReport& report, const CpuOptions& options) {
  StackNames& names = view.names();
  const auto time = [&](const char* name, const CpuTime& of) {
    json.key(name)
        .begin_object()
        .field("us", of.us)
        .field("periods", of.periods)
        .field("samples", of.samples)
        .end_object();
  };
  json.begin_object().field("tape", std::string_view(view.path()));
  time("cpu", report.all);
  time("recorder", report.recorder);
  json.key("segments").begin_array();
  for (const CpuSegment& segment : view.tape().cpu().segments) {
    json.begin_object().field("number", segment.number).field("hz", segment.hz).field("begin_us", segment.begin_us);
    json.field("end_us", segment.end_us).end_object();
  }
  json.end_array().key("threads").begin_array();
  for (const auto& [thread, used] : report.threads) {
    json.begin_object().field("thread", thread.value);
    json.field("name", std::string_view(thread_label(view.tape().threads(), thread)));
    time("cpu", used);
    json.end_object();
  }
  json.end_array().key("functions").begin_array();
  for (const CpuRow& row : report.rows) {
    const NamedFrame& frame = names[row.frame];
    json.begin_object().field("name", std::string_view(row.name));
    if (frame.file.value != 0) json.field("file", names.text(frame.file)).field("line", frame.line);
    json.field("module", names.text(frame.module_name));
    time("self", row.self);
    time("total", row.total);
    json.end_object();
  }
  json.end_array().key("tree");
  write_tree_json(json, names, view.tape().threads(), make_call_tree(names, cpu_costs(report.times), options.tree),
                  TreeUnit::CpuTime);
  json.end_object();
}

} // namespace heaptape
