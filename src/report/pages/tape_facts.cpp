#include "report/pages/tape_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analysis/heap/heap_model.h"
#include "analysis/index/summary_of.h"
#include "analysis/space/memory_ledger.h"
#include "base/characters.h"
#include "base/number_text.h"
#include "base/signal_name.h"
#include "report/text/inherited_text.h"

namespace heaptape {
namespace {

Summary count_events(const TapeReader& tape) {
  HeapModel heap;
  std::uint64_t last_us = 0;
  EventCursor cursor = tape.events();
  while (const Event* event = cursor.next()) {
    heap.apply(*event);
    last_us = event->time_us;
  }
  Summary summary = summary_of(heap.totals());
  summary.duration_us = last_us;
  return summary;
}

std::string word_text(const std::string& word) {
  static constexpr std::string_view kHarmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                                "_-+=./:,@%^";
  if (!word.empty() && word.find_first_not_of(kHarmless) == word.npos) return word;
  // Within $'...' a shell reads \x1b and \u202e as printable() writes them.
  const bool escaped = printable(word) != word;
  std::string text = escaped ? "$'" : "'";
  for (std::string_view rest = word; !rest.empty();) {
    const std::string_view next = rest.substr(0, std::max<std::size_t>(first_character(rest).bytes, 1));
    if (next == "'")
      text += escaped ? "\\'" : "'\\''";
    else if (next == "\\" && escaped)
      text += "\\\\";
    else
      text += printable(next);
    rest.remove_prefix(next.size());
  }
  return text + "'";
}

} // namespace

std::vector<std::string> split_command(const std::string& command) {
  std::vector<std::string> words;
  std::string_view rest = command;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

std::string command_text(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) {
    if (!text.empty()) text += ' ';
    text += word_text(word);
  }
  return text;
}

std::vector<std::string> unseen_programs(const Meta& meta) {
  const auto text = [&](const char* name) {
    const auto found = meta.find(name);
    return found != meta.end() ? printable(found->second) : std::string();
  };
  std::vector<std::string> sentences;
  if (const std::string count = text("unseen_children"); !count.empty())
    sentences.push_back(count + (count == "1" ? " child process (" : " child processes (") + text("unseen_programs") +
                        "); 'record --follow' records them too");
  if (const std::string running = text("left_running"); !running.empty())
    sentences.push_back("left running at the end: " + running);
  if (const std::string became = text("became"); !became.empty())
    sentences.push_back("what it became by exec, and could not be recorded: " + became);
  return sentences;
}

std::string ending_text(const Summary& summary, bool finished, bool abandoned) {
  if (!finished && abandoned)
    return "unknown: the tape has no end, and nobody writes to it any more: its collector died (killed, out of "
           "memory), "
           "or the file is a copy of a tape that was still growing";
  if (!finished) return "unknown: the tape has no end, so the recording was cut off or is still running";
  const std::string note = summary.note.empty() ? "" : ": " + summary.note;
  switch (summary.ending) {
  case Ending::Exited: return fmt::format("exited with status {}{}", summary.ending_detail, note);
  case Ending::Killed: return fmt::format("killed by {}{}", signal_name(summary.ending_detail), note);
  case Ending::Replaced:
    return "became another program (exec), which has a tape of its own if it could be recorded" + note;
  case Ending::CollectorStopped: return "not seen, because recording stopped first" + note;
  case Ending::Unknown: break;
  }
  return "unknown" + note;
}

TapeFacts gather_facts(const TapeReader& tape) {
  TapeFacts facts;
  facts.finished = tape.summary().has_value();
  facts.summary = facts.finished ? *tape.summary() : count_events(tape);
  facts.unknown_releases = truly_unknown(tape, facts.summary.unknown_releases);
  for (const Sample& sample : tape.samples()) facts.peak_rss_bytes = std::max(facts.peak_rss_bytes, sample.rss_bytes);
  facts.peak_rss_bytes = std::max(facts.peak_rss_bytes, tape.resident().peak_rss_bytes);
  facts.recorder_bytes = std::min(facts.peak_rss_bytes, recorder_bytes_in(tape));
  if (const auto command = tape.meta().find("command"); command != tape.meta().end()) {
    facts.command = split_command(command->second);
  }
  if (facts.summary.events != 0) {
    facts.bytes_per_event = static_cast<double>(tape.file_bytes()) / static_cast<double>(facts.summary.events);
  }
  facts.damage = damage_of(tape);
  return facts;
}

} // namespace heaptape
