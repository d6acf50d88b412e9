#include "report/pages/run.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "base/path_text.h"
#include "report/pages/tape_facts.h"
#include "tape/reader.h"

namespace heaptape {

namespace {

constexpr std::size_t kMostTapes = 100'000;
constexpr std::size_t kMostShown = 12; // names in an error

std::vector<std::string> tapes_in(const std::string& folder) {
  std::vector<std::string> tapes;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    if (std::string_view(entry->d_name).ends_with(".tape")) tapes.push_back(folder + "/" + entry->d_name);
    if (tapes.size() >= kMostTapes) break;
  }
  std::sort(tapes.begin(), tapes.end());
  return tapes;
}

std::uint32_t number_in(const Meta& meta, const char* name) {
  std::uint32_t number = 0;
  if (const auto found = meta.find(name); found != meta.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), number);
  return number;
}

std::string text_in(const Meta& meta, const char* name) {
  const auto found = meta.find(name);
  return found != meta.end() ? found->second : std::string();
}

RunProcess describe(const std::string& path, const TapeReader& tape) {
  const Meta& meta = tape.meta();
  const TapeFacts facts = gather_facts(tape);
  RunProcess process;
  process.tape = path;
  process.pid = number_in(meta, "pid");
  if (process.pid == 0) process.pid = tape.header().pid;
  process.parent_pid = number_in(meta, "parent_pid");
  if (process.parent_pid == 0) process.parent_pid = number_in(meta, "ppid");
  process.name = text_in(meta, "name");
  if (process.name.empty()) process.name = base_name(text_in(meta, "program"));
  process.command = command_text(facts.command);
  process.started_by = text_in(meta, "started_by");
  process.parent_tape = text_in(meta, "parent_tape");
  process.start_ns = tape.header().start_realtime_ns;
  process.finished = facts.finished;
  process.summary = facts.summary;
  process.rss_bytes = facts.peak_rss_bytes - facts.recorder_bytes;
  for (const Sample& sample : tape.samples())
    process.anonymous_bytes = std::max(process.anonymous_bytes, sample.anonymous_bytes);
  return process;
}

// A process id may have been used twice: the latest that had begun by then.
std::optional<std::size_t> latest_before(const Run& run, std::uint32_t pid, std::size_t index) {
  for (std::size_t i = index; i-- > 0;) {
    if (run.programs[i].pid == pid) return i;
  }
  return std::nullopt;
}

void join(Run& run) {
  std::vector<RunProcess>& all = run.programs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    RunProcess& process = all[i];
    const auto same = latest_before(run, process.pid, i);
    if (same && process.started_by == "exec" && !all[*same].became) {
      process.before = all[*same].before;
      process.before.push_back(all[*same].name);
      process.parent = all[*same].parent;
      all[*same].became = i;
      continue;
    }
    process.parent = latest_before(run, process.parent_pid, i);
  }
  // A child of a program that then became another one belongs to the process.
  for (RunProcess& process : all) {
    for (std::size_t steps = 0; process.parent && all[*process.parent].became && steps < all.size(); ++steps)
      process.parent = all[*process.parent].became;
  }
}

bool matters_more(const RunProcess& a, const RunProcess& b) {
  return std::pair(memory_of(a), a.summary.events) > std::pair(memory_of(b), b.summary.events);
}

bool is_alive(pid_t pid) { return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM); }

// Whether a collector is still at work on the tape of a process that has ended.
bool is_unfinished(const std::string& folder) {
  constexpr std::size_t kMostLines = 1'000'000;
  std::ifstream list(folder + "/processes.jsonl");
  std::map<std::pair<pid_t, pid_t>, int> open;
  std::string text;
  for (std::size_t i = 0; i < kMostLines && std::getline(list, text); ++i) {
    if (const auto line = parse_run_line(text)) open[{line->collector, line->pid}] += line->is_end ? -1 : 1;
  }
  return std::any_of(open.begin(), open.end(), [](const auto& entry) {
    const auto& [ids, count] = entry;
    return count > 0 && is_alive(ids.first) && !is_alive(ids.second);
  });
}

} // namespace

std::uint64_t memory_of(const RunProcess& process) {
  constexpr std::uint64_t kNoise = std::uint64_t{16}
                                   << 20; // stacks, free memory of the allocator, the recorder's tables
  const std::uint64_t heap = process.summary.peak_bytes;
  return process.anonymous_bytes > heap + kNoise ? process.anonymous_bytes : heap;
}

std::size_t Run::process_count() const {
  return static_cast<std::size_t>(
      std::count_if(programs.begin(), programs.end(), [](const RunProcess& program) { return !program.became; }));
}

bool is_run(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && !tapes_in(path).empty();
}

Result<Run> read_run(const std::string& folder) {
  Run run{.folder = folder};
  for (const std::string& path : tapes_in(folder)) {
    const Result<TapeReader> tape = TapeReader::open(path);
    if (tape)
      run.programs.push_back(describe(path, tape.value()));
    else
      run.unreadable.push_back(path);
  }
  if (run.programs.empty()) return Error{ErrorCode::NotFound, folder + " holds no tape that can be read"};
  std::stable_sort(run.programs.begin(), run.programs.end(),
                   [](const RunProcess& a, const RunProcess& b) { return a.start_ns < b.start_ns; });
  join(run);
  run.main = main_of_run(run);
  return run;
}

std::size_t main_of_run(const Run& run, const std::string& like) {
  std::optional<std::size_t> best;
  bool best_is_like = false;
  for (std::size_t i = 0; i < run.programs.size(); ++i) {
    const RunProcess& program = run.programs[i];
    if (program.became) continue; // what it became is what was meant
    const bool is_like = !like.empty() && program.name == like;
    if (best && (best_is_like && !is_like)) continue;
    if (!best || (is_like && !best_is_like) || matters_more(program, run.programs[*best])) {
      best = i;
      best_is_like = is_like;
    }
  }
  return best.value_or(0);
}

Result<std::size_t> find_in_run(const Run& run, const std::string& wanted) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < run.programs.size(); ++i) {
    const RunProcess& program = run.programs[i];
    const bool fits = program.name == wanted || std::to_string(program.pid) == wanted ||
                      base_name(program.tape) == std::string_view(wanted);
    if (fits && (!found || matters_more(program, run.programs[*found]))) found = i;
  }
  if (found) return *found;
  std::set<std::string> names;
  for (const RunProcess& program : run.programs) names.insert(program.name);
  std::string list;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (shown++ == kMostShown) break;
    list += (list.empty() ? "" : ", ") + name;
  }
  return Error{ErrorCode::NotFound, "no process '" + wanted + "' in " + run.folder + "; it has " + list +
                                        (names.size() > kMostShown ? ", ..." : "") + "; 'heaptape info " + run.folder +
                                        "' lists them"};
}

std::optional<RunLine> parse_run_line(std::string_view line) {
  constexpr std::string_view kStart = "{\"start\":", kEnd = "{\"end\":", kBetween = ",\"pid\":";
  RunLine found{.is_end = line.starts_with(kEnd)};
  if (!found.is_end && !line.starts_with(kStart)) return std::nullopt;
  line.remove_prefix(found.is_end ? kEnd.size() : kStart.size());
  const auto take_number = [&line](pid_t& number) {
    const auto [rest, status] = std::from_chars(line.data(), line.data() + line.size(), number);
    line.remove_prefix(static_cast<std::size_t>(rest - line.data()));
    return status == std::errc{} && number > 0;
  };
  if (!take_number(found.collector) || !line.starts_with(kBetween)) return std::nullopt;
  line.remove_prefix(kBetween.size());
  if (!take_number(found.pid)) return std::nullopt;
  return found;
}

void await_run(const std::string& folder, std::uint64_t most_ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(most_ms);
  while (is_unfinished(folder) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

} // namespace heaptape
