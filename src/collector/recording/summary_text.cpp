#include "collector/recording/summary_text.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/characters.h"
#include "base/signal_name.h"
#include "wire/loss_name.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kFewEvents = 100; // fewer say nothing about the size of one

std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string decimal(double number, int places) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", places, number);
  return text;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 999.95 && unit + 1 < std::size(kUnits)) {
    amount /= 1000;
    ++unit;
  }
  return decimal(amount, amount < 10 ? 2 : 1) + " " + kUnits[unit];
}

// "1,062,344 bytes (1.06 MB)": reports say the same to the byte, and here it can be seen.
std::string exact_text(std::uint64_t bytes) {
  const std::string exact = grouped(bytes) + (bytes == 1 ? " byte" : " bytes");
  return bytes < 1000 ? exact : exact + " (" + bytes_text(bytes) + ")";
}

std::string samples_lost_text(std::uint64_t lost) {
  return grouped(lost) + (lost == 1 ? " CPU sample" : " CPU samples") + " lost";
}

// "0 events lost", "12 events lost (ring full)", "13 CPU samples lost"; stacks that miss their outer frames are events with less detail, not lost ones.
std::string losses_text(const Summary& summary, bool only_samples) {
  std::uint64_t lost = 0;
  std::uint64_t samples = 0;
  std::uint64_t stacks = 0;
  std::uint64_t paused = 0;
  std::uint64_t not_followed = 0;
  std::string reasons;
  for (const auto& [name, count] : summary.losses) {
    if (name == wire::loss_name(wire::Loss::StackCut) || name == wire::loss_name(wire::Loss::StackTooDeep)) {
      stacks += count;
    } else if (name == wire::kPausedName) {
      paused += count;
    } else if (name == wire::loss_name(wire::Loss::NotFollowed)) {
      not_followed += count;
    } else if (name == wire::loss_name(wire::Loss::CpuSamples)) {
      samples += count;
    } else {
      lost += count;
      reasons += (reasons.empty() ? " (" : ", ") + name;
    }
  }
  const bool unknown = summary.losses.contains(wire::kLossUnknown);
  std::string text = unknown                     ? "losses unknown"
                     : only_samples && lost == 0 ? samples_lost_text(samples)
                                                 : grouped(lost) + (lost == 1 ? " event" : " events") + " lost" +
                                                       (reasons.empty() ? "" : reasons + ")");
  if (samples != 0 && !unknown && !(only_samples && lost == 0)) text += ", " + samples_lost_text(samples);
  if (stacks != 0) text += ", " + grouped(stacks) + (stacks == 1 ? " stack cut short" : " stacks cut short");
  if (paused != 0) text += ", " + grouped(paused) + (paused == 1 ? " block" : " blocks") + " left out while paused";
  if (not_followed != 0)
    text += ", " + grouped(not_followed) + (not_followed == 1 ? " program" : " programs") + " not followed";
  return text;
}

} // namespace

// One write call, so that lines of two processes do not mix.
void print_line(const std::string& text) {
  const std::string line = "heaptape: " + printable(text) + "\n"; // names of files and programs may hold anything
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

std::string summary_text(const CollectorResult& result) {
  const Summary& summary = result.summary;
  const std::string samples = grouped(result.cpu_samples) + (result.cpu_samples == 1 ? " CPU sample" : " CPU samples");
  const std::string time = " in " + decimal(static_cast<double>(summary.duration_us) / 1e6, 2) + " s, ";
  std::string text;
  const bool only_samples = summary.events == 0 && result.cpu_samples != 0;
  if (only_samples) {
    text = samples + time;
  } else {
    text = grouped(summary.events) + (summary.events == 1 ? " event" : " events") + time + "peak " +
           exact_text(summary.peak_bytes) + ", still live " + exact_text(summary.live_bytes) + " in " +
           grouped(summary.live_blocks) + (summary.live_blocks == 1 ? " block, " : " blocks, ") +
           (result.cpu_samples != 0 ? samples + ", " : "");
  }
  if (result.memory_errors != 0)
    text += grouped(result.memory_errors) + (result.memory_errors == 1 ? " memory error, " : " memory errors, ");
  text += losses_text(summary, only_samples);
  if (!result.tape.empty()) {
    text += " -> " + result.tape + " (" + bytes_text(result.tape_bytes);
    if (summary.events >= kFewEvents) {
      const double each = static_cast<double>(result.tape_bytes) / static_cast<double>(summary.events);
      text += ", " + (each < 1000 ? decimal(each, 2) : grouped(static_cast<std::uint64_t>(each))) + " bytes/event";
    }
    text += ")";
  }
  if (!result.log.empty()) text += (result.tape.empty() ? " -> " : ", ") + result.log;
  if (summary.ending == Ending::Killed) text += "; killed by " + signal_name(summary.ending_detail);
  return text;
}

void print_result(const CollectorResult& result, bool quiet) {
  if (!result.problem.empty() && !result.told) print_line(result.problem);
  if (quiet) return;
  for (const std::string& remark : result.remarks) print_line(remark);
  if (!result.run.empty()) return; // `heaptape record` shows the whole run
  const bool recorded = !result.tape.empty() || (result.attached && result.problem.empty()); // maybe for a log alone
  if (recorded) print_line(summary_text(result));
  if (!result.tape.empty() && ::access(result.tape.c_str(), F_OK) != 0 && errno == ENOENT)
    print_line("the tape is gone: '" + result.tape + "' was removed or renamed while it was being written");
  for (const std::string& sentence : result.unseen) print_line(sentence);
  if (result.before.empty()) return;
  std::string before = "earlier in the same run: ";
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < std::min(result.before.size(), kMost); ++i)
    before += (i == 0 ? "" : ", ") + result.before[i];
  if (result.before.size() > kMost) before += " and " + std::to_string(result.before.size() - kMost) + " more";
  print_line(before);
}

} // namespace heaptape
