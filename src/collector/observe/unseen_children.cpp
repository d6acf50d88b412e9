#include "collector/observe/unseen_children.h"

#include <string.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "collector/observe/proc_files.h"

namespace heaptape {

namespace {

constexpr std::uint32_t kMostBelieved = 10'000'000;
constexpr std::size_t kMostShown = 5;
constexpr int kMostWaits = 100;

// A name that a program chose, for a line of text.
std::string tame(const char* name, std::size_t size) {
  std::string text(name, ::strnlen(name, size));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == ',' || c == 127; },
      '_');
  return text;
}

bool still_runs(pid_t pid) {
  const auto stat = parse_proc_stat(read_small_file("/proc/" + std::to_string(pid) + "/stat"));
  return stat && stat->state != 'Z' && stat->state != 'X';
}

// A child that was made just before the program's end may not have run yet.
std::uint32_t pid_of(const wire::ChildEntry& entry, int& waits) {
  std::uint32_t pid = entry.pid.load(std::memory_order_relaxed);
  for (; pid == wire::kForking && waits > 0; --waits) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    pid = entry.pid.load(std::memory_order_relaxed);
  }
  return pid;
}

std::string counted(std::uint64_t count, const char* one, const char* more) {
  return std::to_string(count) + " " + (count == 1 ? one : more);
}

} // namespace

UnseenChildren unseen_children(const wire::Children& page, const std::string& program, bool look) {
  UnseenChildren children;
  const std::uint32_t made = page.made.load(std::memory_order_acquire);
  const std::uint32_t noted = std::min(made, wire::kNotedChildren);
  children.count = std::min(made, kMostBelieved) - noted;
  int waits = look ? kMostWaits : 0;
  for (std::uint32_t i = 0; i < noted; ++i) {
    const wire::ChildEntry& entry = page.entries[i];
    const std::uint32_t pid = pid_of(entry, waits);
    if (pid == 0 || pid == wire::kForking) continue; // it turned out to be recorded; it was never made
    ++children.count;
    std::string name = tame(entry.name, sizeof entry.name);
    if (name.empty()) name = program;
    ++children.programs[name];
    if (look && pid < wire::kUnknownPid >> 1 && still_runs(static_cast<pid_t>(pid)))
      children.running.push_back({static_cast<pid_t>(pid), std::move(name)});
  }
  return children;
}

std::string programs_text(const UnseenChildren& children) {
  std::vector<std::pair<std::string, std::uint64_t>> order(children.programs.begin(), children.programs.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(order.size(), kMostShown); ++i) {
    text += (i == 0 ? "" : ", ") + order[i].first;
    if (order[i].second > 1) text += " (" + std::to_string(order[i].second) + ")";
  }
  if (order.size() > kMostShown) text += " and " + counted(order.size() - kMostShown, "other", "others");
  return text;
}

std::vector<std::string> unseen_children_text(const UnseenChildren& children, const std::string& program) {
  std::vector<std::string> lines;
  if (children.count == 0) return lines;
  if (!children.running.empty()) {
    const UnseenChildren::Running& first = children.running.front();
    const bool one = children.running.size() == 1;
    lines.push_back(program + " left " +
                    (one ? "a child running (pid " + std::to_string(first.pid) + ", " + first.name + ") that is"
                         : std::to_string(children.running.size()) + " children running (the first is pid " +
                               std::to_string(first.pid) + ", " + first.name + ") that are") +
                    " not recorded: pass --follow");
    return lines;
  }
  lines.push_back(counted(children.count, "child process was", "child processes were") + " not recorded (" +
                  programs_text(children) + "): pass --follow");
  return lines;
}

Meta unseen_children_meta(const UnseenChildren& children) {
  Meta meta;
  if (children.count == 0) return meta;
  meta["unseen_children"] = std::to_string(children.count);
  meta["unseen_programs"] = programs_text(children);
  for (const UnseenChildren::Running& running : children.running) {
    std::string& text = meta["left_running"];
    text += (text.empty() ? "" : ", ") + std::to_string(running.pid) + " " + running.name;
  }
  return meta;
}

} // namespace heaptape
