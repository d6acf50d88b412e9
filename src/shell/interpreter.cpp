#include "shell/interpreter.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/path_text.h"
#include "report/select/filter_fields.h"
#include "report/text/snapshot_names.h"
#include "shell/all_commands.h"

namespace heaptape {
namespace {

std::string_view without_comment(std::string_view line) {
  for (std::size_t at = line.find('#'); at != line.npos; at = line.find('#', at + 1)) {
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
  }
  return line;
}

void keep_beginnings(std::vector<std::string>& words, std::string_view start) {
  std::erase_if(words, [&](const std::string& word) { return !word.starts_with(start); });
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

// Functions and files that are on the tape's stacks.
std::vector<std::string> names_on_tape(Session& session, std::string_view start, std::size_t most) {
  std::set<std::string> found;
  StackNames& names = session.names();
  for (std::uint32_t id = 1; id < session.tape().stacks().size() && found.size() < most; ++id) {
    // Each node's own frame: every frame is some node's.
    bool first = true;
    names.each_frame(StackId(id), [&](FrameId frame) {
      if (!first) return;
      first = false;
      for (const std::string_view text : {names.function(frame), names.text(names[frame].file)}) {
        if (text.starts_with(start)) found.emplace(text);
        if (const std::string_view last = base_name(text); text.find('/') != text.npos && last.starts_with(start))
          found.emplace(last);
      }
    });
  }
  return {found.begin(), found.end()};
}

void add_filter_words(std::vector<std::string>& words) {
  for (const FilterField& field : filter_fields()) words.emplace_back(field.name);
  for (const char* word : {"and", "or", "not", "in"}) words.emplace_back(word);
}

// "check heap" is the command check-heap.
void join_name(std::vector<Word>& words) {
  if (words.size() < 2) return;
  const std::string name = words[0].text + "-" + words[1].text;
  if (std::ranges::none_of(commands(), [&](const Command* command) { return command->name == name; })) return;
  words.erase(words.begin());
  words.front() = {name, name};
}

} // namespace

Result<LineEnd> run_line(Session& session, std::string_view line, Printer& out) {
  const Result<std::vector<Word>> split = split_words(without_comment(line));
  if (!split) return split.error();
  std::vector<Word> all = split.value();
  if (all.empty()) return LineEnd::GoOn;
  join_name(all);
  const std::string name = all.front().text;
  if (name == "quit" || name == "exit" || name == "q") return LineEnd::Quit;
  const Result<const Command*> command = find_command(name);
  if (!command) return command.error();
  if (session.should_stop()) return Error{ErrorCode::Stopped, "stopped"};
  all.erase(all.begin());
  if (const Result<> done = run_command(*command.value(), session, std::move(all), out); !done) return done.error();
  return LineEnd::GoOn;
}

std::size_t completed_from(std::string_view text) {
  const std::size_t blank = text.find_last_of(" \t=~<>\"'(");
  return blank == text.npos ? 0 : blank + 1;
}

std::vector<std::string> completions(Session& session, std::string_view text) {
  constexpr std::size_t kMost = 200;
  const std::size_t from = completed_from(text);
  const std::string_view start = text.substr(from);
  const std::string_view before = text.substr(0, from);
  const std::size_t word = before.find_first_not_of(" \t");
  std::vector<std::string> words;
  const auto add_commands = [&] {
    for (const Command* command : commands()) words.emplace_back(command->name);
  };
  if (word == before.npos) {
    add_commands();
    words.emplace_back("quit");
    keep_beginnings(words, start);
    return words;
  }
  const std::string_view name = before.substr(word, before.find_first_of(" \t", word) - word);
  const Result<const Command*> command = find_command(name);
  if (!command) return {};
  const char last = before.back();
  const bool in_filter_value = last == '~' || last == '=' || last == '"' || last == '\'';
  switch (command.value()->takes) {
  case Takes::Nothing: break;
  case Takes::Command:
    add_commands();
    for (const char* topic : {"positions", "filters", "addresses"}) words.emplace_back(topic);
    break;
  case Takes::Position:
    for (const char* point : {"start", "end", "peak", "total-peak"}) words.emplace_back(point);
    for (const Mark& mark : session.view().marks()) words.push_back(mark.name);
    for (const NamedSnapshot& each : named_snapshots(session.tape(), session.view().marks()))
      words.push_back("snapshot:" + (each.number != 0 ? std::to_string(each.number) : std::string(each.name)));
    break;
  case Takes::Address:
    if (start.size() >= 2) words = session.symbols().beginning_with(start, kMost);
    break;
  case Takes::Function:
    if (start.size() >= 2) words = session.symbols().beginning_with(start, kMost);
    break;
  case Takes::Filter:
    if (in_filter_value)
      words = names_on_tape(session, start, kMost);
    else
      add_filter_words(words);
    break;
  }
  keep_beginnings(words, start);
  return words;
}

std::string prompt_of(const Session& session) {
  return fmt::format("(event {}, {} s) ", with_separators(session.event()), seconds_text(session.time_us()));
}

} // namespace heaptape
