#include "live/churn_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <numeric>

#include "base/number_text.h"
#include "base/signal_name.h"
#include "report/figures/tree_text.h"

namespace heaptape {
namespace {

std::string utc_text(std::uint64_t realtime_ns) {
  const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:06}Z", std::string_view(text, size), realtime_ns / 1000 % 1'000'000);
}

// A line but for what comes last, in three parts that are made equally wide over a snapshot.
using Figures = std::array<std::string, 3>;

Figures figures(const Cost& live, const Cost& new_allocated, const Cost& allocated, const Cost& new_freed,
                const Cost& freed) {
  return {
      fmt::format("live:{}/{},", live.bytes, live.blocks),
      fmt::format("alloc:+{}/+{}={}/{},", new_allocated.bytes, new_allocated.blocks, allocated.bytes, allocated.blocks),
      fmt::format("free:+{}/+{}={}/{}", new_freed.bytes, new_freed.blocks, freed.bytes, freed.blocks)};
}

} // namespace

std::string ChurnLog::begin_file() {
  ++file_;
  snapshots_in_file_ = 0;
  modules_told_.clear();
  std::string text =
      fmt::format("# heaptape {} log, format 1\n# program {}\n# pid {}, collector {}\n# started {}\n", facts_.version,
                  printable(facts_.program), facts_.pid, facts_.collector_pid, utc_text(facts_.start_realtime_ns));
  std::string when;
  if (facts_.churn != 0) when += fmt::format(" every {} bytes of churn,", facts_.churn);
  if (facts_.every_us != 0)
    when += fmt::format(" every {} s,", decimal_text(static_cast<double>(facts_.every_us) / 1e6, 3));
  if (!facts_.signal.empty()) when += fmt::format(" at 'kill -{} {}',", facts_.signal, facts_.collector_pid);
  text += fmt::format("# snapshots{} at heaptape_snapshot() and at exit; {}\n", when,
                      facts_.all ? "all sources" : "sources that changed, all of them at exit");
  text += "# {source} live:BYTES/BLOCKS, alloc:+SINCE LAST=TOTAL, free:+SINCE LAST=TOTAL; live = alloc - free\n";
  return text;
}

std::uint32_t ChurnLog::source_of(StackId stack) {
  if (stack.value >= by_stack_.size()) by_stack_.resize(std::size_t{stack.value} + 1);
  if (const std::uint32_t known = by_stack_[stack.value]; known != 0) return known - 1;
  const std::uint64_t hash = names_.source_hash(stack);
  const auto [place, added] = by_hash_.try_emplace(hash, static_cast<std::uint32_t>(sources_.size()));
  if (added) sources_.push_back({.hash = hash, .stack = stack});
  by_stack_[stack.value] = place->second + 1;
  return place->second;
}

// Adds the changes to the sources; gives those that are touched.
std::vector<std::uint32_t> ChurnLog::take_in(const HeapSnapshot& snapshot) {
  std::vector<std::uint32_t> touched;
  std::vector<StackId> unknown;
  for (const StackTally& change : snapshot.changes) {
    if (change.stack.value >= by_stack_.size() || by_stack_[change.stack.value] == 0) unknown.push_back(change.stack);
  }
  names_.prepare_run_time(unknown);
  for (const StackTally& change : snapshot.changes) {
    const std::uint32_t number = source_of(change.stack);
    Source& source = sources_[number];
    if (!source.changed) touched.push_back(number);
    source.changed = true;
    source.allocated += change.allocated;
    source.new_allocated += change.allocated;
    source.freed += change.freed;
    source.new_freed += change.freed;
  }
  return touched;
}

std::string ChurnLog::explain(const Source& source, Told& told) {
  StackNames& names = names_.names();
  std::vector<FrameId> frames;
  const StackEnd end = names.each_frame(source.stack, [&](FrameId frame) { frames.push_back(frame); });
  std::string modules, text;
  std::size_t widest = 0;
  std::vector<std::string> places;
  for (const FrameId id : frames) {
    const NamedFrame& frame = names[id];
    places.push_back(fmt::format("{}+{:#x}", printable(names.text(frame.module_name)), frame.offset));
    widest = std::max(widest, places.back().size());
    if (frame.module != nullptr && modules_told_.insert(frame.module->path).second) {
      told.modules.push_back(frame.module->path);
      std::string build_id;
      for (const std::uint8_t byte : frame.module->build_id) build_id += fmt::format("{:02x}", byte);
      modules += fmt::format("  module {} {}\n", printable(frame.module->path),
                             build_id.empty() ? "without build-id" : "build-id " + build_id);
    }
  }
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const NamedFrame& frame = names[frames[i]];
    const bool known = !frame.linkage_name.empty();
    const std::string number = fmt::format("{{{}}}", i);
    std::string line =
        fmt::format("  {:<{}} {:<{}}", number, frames.size() > 10 ? 4 : 3, places[i], known ? widest : 0);
    if (known) line += "  " + printable(names.function(frames[i]));
    if (frame.line != 0) line += "  " + frame_location(names, frames[i]);
    if (frame.inlined) line += "  (inlined)";
    text += line + "\n";
  }
  if (frames.empty() && end == StackEnd::Whole) text += "  (no stack)\n";
  if (end == StackEnd::Cut) text += "  (the stack could not be followed further)\n";
  if (end == StackEnd::TooDeep) text += "  (more frames than were recorded: see --max-depth)\n";
  return modules + text;
}

ChurnLog::Shown ChurnLog::choose(const HeapSnapshot& snapshot, bool all) {
  Shown shown{.sources = take_in(snapshot)};
  shown.changed = shown.sources.size();
  for (const std::uint32_t number : shown.sources) {
    shown.new_allocated += sources_[number].new_allocated;
    shown.new_freed += sources_[number].new_freed;
  }
  if (all || facts_.all) {
    shown.sources.resize(sources_.size());
    std::iota(shown.sources.begin(), shown.sources.end(), 0u);
  }
  std::sort(shown.sources.begin(), shown.sources.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::uint64_t left = sources_[a].live().bytes, right = sources_[b].live().bytes;
    return left != right ? left > right : a < b;
  });
  return shown;
}

// {total} and the sources; those that do not fit are summed up.
std::string ChurnLog::lines_of(const HeapSnapshot& snapshot, const Shown& shown, std::size_t room, Told& told) {
  constexpr std::size_t kRestLine = 256;
  std::vector<StackId> stacks;
  for (const std::uint32_t number : shown.sources) {
    if (sources_[number].explained_in != file_) stacks.push_back(sources_[number].stack);
  }
  names_.prepare(stacks);

  std::vector<Figures> lines{
      figures(snapshot.live(), shown.new_allocated, snapshot.allocated, shown.new_freed, snapshot.freed)};
  for (const std::uint32_t number : shown.sources) {
    const Source& source = sources_[number];
    lines.push_back(figures(source.live(), source.new_allocated, source.allocated, source.new_freed, source.freed));
  }
  std::array<std::size_t, 3> widths{};
  for (const Figures& line : lines) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  const auto aligned = [&](const Figures& line, bool last) {
    return fmt::format("{:<{}} {:<{}} {:<{}}", line[0], widths[0], line[1], widths[1], line[2], last ? 0 : widths[2]);
  };

  std::string text = fmt::format("{:<18} {}\n", "{total}", aligned(lines[0], true));
  for (std::size_t i = 0; i < shown.sources.size(); ++i) {
    Source& source = sources_[shown.sources[i]];
    if (source.site.empty()) source.site = names_.text().site(source.stack);
    std::string entry = fmt::format("{{{:016x}}} {}  {}\n", source.hash, aligned(lines[i + 1], false), source.site);
    Told entry_told;
    if (source.explained_in != file_) entry += explain(source, entry_told);
    if (room - std::min(room, text.size()) < entry.size() + kRestLine) {
      for (const std::string& module : entry_told.modules) modules_told_.erase(module);
      Source rest;
      for (std::size_t left = i; left < shown.sources.size(); ++left) {
        const Source& one = sources_[shown.sources[left]];
        rest.allocated += one.allocated, rest.freed += one.freed;
        rest.new_allocated += one.new_allocated, rest.new_freed += one.new_freed;
      }
      const Figures sums = figures(rest.live(), rest.new_allocated, rest.allocated, rest.new_freed, rest.freed);
      return text + fmt::format("{:<18} {}  {} further sources; see --log-max\n", "{rest}", aligned(sums, false),
                                shown.sources.size() - i);
    }
    text += entry;
    told.sources.push_back(shown.sources[i]);
    told.modules.insert(told.modules.end(), entry_told.modules.begin(), entry_told.modules.end());
  }
  return text;
}

ChurnLog::Text ChurnLog::snapshot(const HeapSnapshot& snapshot, std::string_view why, bool all, const Room& room) {
  const Shown shown = choose(snapshot, all);
  const std::string title = fmt::format("[{}]", ++snapshots_);
  const std::string when = utc_text(facts_.start_realtime_ns + snapshot.time_us * 1000);
  std::string head = fmt::format("\n{:=<{}} {}\n", title, 79 - when.size(), when);
  head += fmt::format("time={} why={} churn={}/{} event={} sources={}/{}", seconds_text(snapshot.time_us), why,
                      snapshot.churn_bytes, facts_.churn, snapshot.event, shown.changed, sources_.size());
  if (left_out_ != 0) head += fmt::format(" left-out={}", std::exchange(left_out_, 0));
  head += "\n";

  const auto behind = [](std::size_t space, const std::string& text) { return space - std::min(space, text.size()); };
  const bool is_first = snapshots_in_file_++ == 0; // another file would have no more room
  Told told;
  Text result{.text = head};
  result.text += lines_of(snapshot, shown, is_first ? behind(room.here, head) : SIZE_MAX, told);
  if (!is_first && result.text.size() > room.here) {
    for (const std::string& module : told.modules) modules_told_.erase(module);
    told = {};
    result = {.text = begin_file() + head, .for_new_file = true};
    result.text += lines_of(snapshot, shown, behind(room.whole, result.text), told);
    ++snapshots_in_file_;
  }
  for (const std::uint32_t number : told.sources) sources_[number].explained_in = file_;
  for (const std::uint32_t number : shown.sources) {
    Source& source = sources_[number];
    source.changed = false;
    source.new_allocated = source.new_freed = {};
  }
  return result;
}

std::string ChurnLog::end(const Summary& summary) {
  std::string how = "in an unknown way";
  switch (summary.ending) {
  case Ending::Exited: how = fmt::format("with status {}", summary.ending_detail); break;
  case Ending::Killed: how = "by " + signal_name(summary.ending_detail); break;
  case Ending::Replaced: how = "by becoming another program (exec)"; break;
  default: break;
  }
  std::uint64_t lost = 0;
  for (const auto& [name, count] : summary.losses) lost += count;
  return fmt::format("\n# ended {} after {} s, {} events, {} lost\n", how, seconds_text(summary.duration_us),
                     summary.events, lost);
}

} // namespace heaptape
