#include "report/names/run_time_names.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <map>
#include <span>

#include "report/names/module_map.h"
#include "symbols/jit_dump.h"
#include "symbols/perf_map.h"
#include "symbols/run_time_name.h"
#include "wire/stack_roots.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
// A hostile file may say that every line covers everything: more than this is not looked at.
constexpr std::size_t kMostMatches = std::size_t{32} << 20;
constexpr std::size_t kMostPerAddress = 256;

std::uint64_t now_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

// CLOCK_MONOTONIC at time 0 of the tape.
std::uint64_t start_monotonic_ns(const TapeReader& tape) {
  // The tape says it, unless it is an old one.
  std::uint64_t start = 0;
  if (const auto said = tape.meta().find("start_monotonic_ns"); said != tape.meta().end()) {
    const std::string& text = said->second;
    if (std::from_chars(text.data(), text.data() + text.size(), start).ec == std::errc() && start != 0) return start;
  }
  const std::uint64_t since = now_ns(CLOCK_REALTIME) - tape.header().start_realtime_ns;
  return now_ns(CLOCK_MONOTONIC) - since;
}

// Written by the tape's program, and not by one that has its pid now.
bool is_of_its_time(int fd, const TapeReader& tape) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return false;
  const std::uint64_t written =
      static_cast<std::uint64_t>(facts.st_mtim.tv_sec) * kSecond + static_cast<std::uint64_t>(facts.st_mtim.tv_nsec);
  const std::uint64_t start = tape.header().start_realtime_ns;
  if (written + kSecond < start) return false;
  return !tape.summary() || written <= start + tape.summary()->duration_us * 1000 + 2 * kSecond;
}

// One function at one place from one time on.
struct Candidate {
  std::uint64_t start = 0, size = 0;
  std::string_view name{};
  std::uint64_t from_us = 0;
  std::span<const JitLine> lines{};
};

std::uint32_t line_of(const Candidate& candidate, std::uint64_t address) {
  const auto after = std::upper_bound(candidate.lines.begin(), candidate.lines.end(), address,
                                      [](std::uint64_t wanted, const JitLine& line) { return wanted < line.address; });
  return after == candidate.lines.begin() ? 0 : std::prev(after)->line;
}

RunTimeCode describe(const Candidate& candidate) {
  SourcePlace place = run_time_name(candidate.name);
  if (place.file.empty() && !candidate.lines.empty()) place.file = candidate.lines.front().file;
  return {.start = candidate.start,
          .size = candidate.size,
          .function = std::move(place.function),
          .file = std::move(place.file),
          .line = place.line,
          .from_us = candidate.from_us};
}

class Namer {
public:
  explicit Namer(const TapeReader& tape) : tape_(tape) {
    const ModuleMap modules(tape.modules());
    const auto& stacks = tape.stacks();
    std::map<std::uint64_t, bool> known;
    for (std::uint32_t id = 1; id < stacks.size(); ++id) {
      const std::uint64_t pc = stacks[id].pc;
      if (pc < wire::kFirstAddress) continue;
      const auto [found, added] = known.try_emplace(pc, false);
      if (added) {
        const auto note = [&found = found](const Module&) { found->second = true; };
        modules.each_at(inside_the_call(pc), note);
        modules.each_at(pc, note);
      }
      if (found->second) continue;
      nodes_.push_back(StackId(id));
      addresses_.push_back(inside_the_call(pc));
    }
    std::sort(addresses_.begin(), addresses_.end());
    addresses_.erase(std::unique(addresses_.begin(), addresses_.end()), addresses_.end());
    matches_.resize(addresses_.size());
  }

  bool has_nothing_to_do() const { return addresses_.empty(); }

  void read_perf_map(const RunTimeText& text) {
    std::size_t note = 0;
    each_perf_map_line(text.perf_map, [&](const PerfMapLine& line) {
      // When the file was last seen without the line: code is run soon after it is named.
      while (note < text.growth.size() && text.growth[note].bytes <= line.offset) ++note;
      add({line.start, line.size, line.name, note == 0 ? 0 : text.growth[note - 1].time_us});
    });
  }

  void read_jit_dump(const JitDump& dump) {
    const std::uint64_t zero = start_monotonic_ns(tape_);
    for (const JitCode& code : dump.codes) {
      const bool later = dump.monotonic && code.timestamp > zero;
      add({code.start, code.size, code.name, later ? (code.timestamp - zero) / 1000 : 0, code.lines});
    }
  }

  RunTimeNames run() {
    find_first_uses();
    std::map<std::uint32_t, RunTimeCode> codes; // by candidate
    RunTimeNames result{.addresses = addresses_.size()};
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const std::uint64_t address = inside_the_call(tape_.stacks()[nodes_[i].value].pc);
      const std::vector<std::uint32_t>& matches = matches_[place_of(address)];
      if (matches.empty()) continue;
      const std::uint64_t when = first_use_us_.empty() ? 0 : first_use_us_[nodes_[i].value];
      std::size_t chosen = 0;
      for (std::size_t k = 1; k < matches.size(); ++k)
        if (candidates_[matches[k]].from_us <= when || !has_turns(matches)) chosen = k;
      const Candidate& candidate = candidates_[matches[chosen]];
      auto [code, added] = codes.try_emplace(matches[chosen]);
      if (added) code->second = describe(candidate);
      if (chosen + 1 < matches.size() && code->second.to_us == 0)
        code->second.to_us = candidates_[matches[chosen + 1]].from_us;
      code->second.frames.push_back({nodes_[i], line_of(candidate, address)});
    }
    count(codes, result);
    for (auto& [number, code] : codes) result.codes.push_back(std::move(code));
    return result;
  }

private:
  std::size_t place_of(std::uint64_t address) const {
    return static_cast<std::size_t>(std::lower_bound(addresses_.begin(), addresses_.end(), address) -
                                    addresses_.begin());
  }

  void add(const Candidate& candidate) {
    bool kept = false;
    for (std::size_t i = place_of(candidate.start);
         i < addresses_.size() && addresses_[i] - candidate.start < candidate.size && matches_left_ > 0; ++i) {
      --matches_left_;
      if (!kept) candidates_.push_back(candidate);
      kept = true;
      if (matches_[i].size() >= kMostPerAddress) matches_[i].erase(matches_[i].begin());
      matches_[i].push_back(static_cast<std::uint32_t>(candidates_.size() - 1));
    }
  }

  // Whether an address has had more than one name.
  bool has_turns(const std::vector<std::uint32_t>& matches) const {
    return std::any_of(matches.begin(), matches.end(), [&](std::uint32_t match) {
      const Candidate &one = candidates_[match], &first = candidates_[matches.front()];
      return one.name != first.name || one.start != first.start;
    });
  }

  // The time at which each node was first part of an event's stack; only when it matters.
  void find_first_uses() {
    std::size_t wanted = 0;
    std::vector<bool> wants(tape_.stacks().size());
    for (const StackId node : nodes_) {
      const auto& matches = matches_[place_of(inside_the_call(tape_.stacks()[node.value].pc))];
      if (!has_turns(matches)) continue;
      wants[node.value] = true;
      ++wanted;
    }
    if (wanted == 0) return;
    first_use_us_.assign(tape_.stacks().size(), ~std::uint64_t{0});
    const auto use = [&](StackId stack, std::uint64_t time_us) {
      while (stack.value != 0 && stack.value < first_use_us_.size() && first_use_us_[stack.value] > time_us) {
        if (wants[stack.value] && first_use_us_[stack.value] == ~std::uint64_t{0}) --wanted;
        first_use_us_[stack.value] = time_us;
        const StackId parent = tape_.stacks()[stack.value].parent;
        if (parent.value >= stack.value) return; // never on a good tape
        stack = parent;
      }
    };
    for (const CpuSample& sample : tape_.cpu().samples) use(sample.stack, sample.time_us);
    for (const Mark& mark : tape_.marks()) use(mark.stack, mark.time_us);
    EventCursor cursor = tape_.events();
    for (auto run = cursor.next_run(); !run.empty(); run = cursor.next_run()) {
      for (const Event& event : run) use(event.stack, event.time_us);
    }
  }

  void count(const std::map<std::uint32_t, RunTimeCode>& codes, RunTimeNames& result) const {
    std::map<std::uint64_t, bool> lined;
    for (const auto& [number, code] : codes) {
      for (const RunTimeCode::Frame& frame : code.frames)
        lined[tape_.stacks()[frame.node.value].pc] |= frame.line != 0 || code.line != 0;
    }
    result.named = lined.size();
    for (const auto& [pc, has] : lined) result.lined += has ? 1 : 0;
  }

  const TapeReader& tape_;
  std::vector<StackId> nodes_;                      // in no module
  std::vector<std::uint64_t> addresses_;            // theirs, in order, each once
  std::vector<std::vector<std::uint32_t>> matches_; // beside addresses_: candidates, in the order of their files
  std::vector<Candidate> candidates_;
  std::size_t matches_left_ = kMostMatches;
  std::vector<std::uint64_t> first_use_us_; // by node; empty: it does not matter
};

} // namespace

std::map<std::uint64_t, RunTimePlace> find_run_time_places(const RunTimeText& text,
                                                           std::vector<std::uint64_t> addresses) {
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  const JitDump dump = parse_jit_dump(std::as_bytes(std::span(text.jit_dump)));
  std::map<std::uint64_t, Candidate> found;
  std::size_t matches_left = kMostMatches;
  const auto add = [&](const Candidate& candidate) {
    auto address = std::lower_bound(addresses.begin(), addresses.end(), candidate.start);
    for (; address != addresses.end() && *address - candidate.start < candidate.size && matches_left > 0; ++address) {
      --matches_left;
      found[*address] = candidate;
    }
  };
  each_perf_map_line(text.perf_map, [&](const PerfMapLine& line) { add({line.start, line.size, line.name}); });
  for (const JitCode& code : dump.codes) add({code.start, code.size, code.name, 0, code.lines});
  std::map<std::uint64_t, RunTimePlace> places;
  for (const auto& [address, candidate] : found) places[address] = {describe(candidate), line_of(candidate, address)};
  return places;
}

RunTimeText find_run_time_text(const TapeReader& tape) {
  RunTimeText text;
  const auto pid = static_cast<pid_t>(tape.header().pid);
  if (pid <= 0) return text;
  RunTimeProgram program = look_up_program(pid);
  if (program.directory.empty() || tape.summary()) {
    const auto directory = tape.meta().find("directory");
    if (directory != tape.meta().end()) program.directory = directory->second;
  }
  if (const UniqueFd fd = open_perf_map(program); fd && is_of_its_time(fd.get(), tape))
    text.perf_map = read_run_time_file(fd.get());
  if (const UniqueFd fd = open_jit_dump(program); fd && is_of_its_time(fd.get(), tape))
    text.jit_dump = read_run_time_file(fd.get());
  return text;
}

RunTimeNames name_run_time_code(const TapeReader& tape, const std::function<RunTimeText()>& text_of) {
  Namer namer(tape);
  if (namer.has_nothing_to_do()) return {};
  const RunTimeText text = text_of();
  const JitDump dump = parse_jit_dump(std::as_bytes(std::span(text.jit_dump)));
  // A jitdump knows the times; where both name an address, it comes last.
  namer.read_perf_map(text);
  namer.read_jit_dump(dump);
  return namer.run();
}

} // namespace heaptape
