#include "cli/commands/habits.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "base/near_word.h"
#include "base/number_text.h"
#include "cli/options/by_pid.h"
#include "cli/options/choose_tape.h"
#include "collector/launch/program_search.h"

namespace heaptape::cli {
namespace {

struct Synonym {
  std::string_view word;
  std::string_view command;
  bool is_said = false; // the command does not do quite the same, so its name is worth knowing
};

constexpr std::array kSynonyms{
    Synonym{"run", "record"},
    Synonym{"start", "record"},
    Synonym{"exec", "record"},
    Synonym{"profile", "record"},
    Synonym{"trace", "record"},
    Synonym{"leak", "leaks"},
    Synonym{"lost", "leaks"},
    Synonym{"leakcheck", "leaks"},
    Synonym{"leak-check", "leaks"},
    Synonym{"stat", "stats"},
    Synonym{"statistics", "stats"},
    Synonym{"summary", "info", true},
    Synonym{"summarize", "info", true},
    Synonym{"header", "info", true},
    Synonym{"tree", "peak", true},
    Synonym{"table", "top", true},
    Synonym{"hotspots", "top", true},
    Synonym{"print", "report"},
    Synonym{"analyze", "report"},
    Synonym{"analyse", "report"},
    Synonym{"show", "report"},
    Synonym{"script", "dump", true},
    Synonym{"compare", "diff"},
    Synonym{"cmp", "diff"},
    Synonym{"query", "sql"},
    Synonym{"repl", "shell"},
    Synonym{"convert", "export"},
    Synonym{"transform", "export"},
    Synonym{"flame", "flamegraph"},
    Synonym{"flame-graph", "flamegraph"},
    Synonym{"icicle", "flamegraph"},
    Synonym{"svg", "flamegraph"},
    Synonym{"page", "html"},
    Synonym{"list", "ps", true},
    Synonym{"log", "events", true},
};

// What heaptape does in another way, or not yet.
struct Advice {
  std::string_view word;
  std::string_view sentence;
};
constexpr std::array kAdvice{
    Advice{"view", "there is no viewer yet; 'heaptape html TAPE' writes a page for any browser"},
    Advice{"gui", "there is no viewer yet; 'heaptape html TAPE' writes a page for any browser"},
    Advice{"open", "there is no viewer yet; 'heaptape html TAPE' writes a page for any browser"},
    Advice{"serve", "there is no server; 'heaptape html TAPE' writes a page that needs none"},
    Advice{"server", "there is no server; 'heaptape html TAPE' writes a page that needs none"},
    Advice{"memcheck",
           "run 'heaptape record PROGRAM', then 'heaptape leaks' for leaks and 'heaptape verify' for double "
           "and wrong frees"},
    Advice{"massif", "run 'heaptape record PROGRAM', then 'heaptape timeline' and 'heaptape peak'; 'heaptape export "
                     "--format massif' writes a file for ms_print"},
    Advice{"dhat",
           "run 'heaptape record PROGRAM', then 'heaptape report'; 'heaptape export --format dhat' writes a file "
           "for dh_view.html"},
    Advice{"callgrind",
           "run 'heaptape record --cpu PROGRAM', then 'heaptape cpu'; 'heaptape export --format callgrind' "
           "writes a file for KCachegrind"},
    Advice{"annotate", "'heaptape report --by line' shows costs by source line"},
    Advice{"bt", "'heaptape stack TAPE ID' shows a call stack, 'heaptape event TAPE N' that of an event"},
    Advice{"backtrace", "'heaptape stack TAPE ID' shows a call stack, 'heaptape event TAPE N' that of an event"},
};

bool is_program(const std::string& word) {
  struct stat facts {};
  return word.find('/') != word.npos && ::stat(word.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         ::access(word.c_str(), X_OK) == 0;
}

bool is_in_path(const std::string& word) { return find_program(word, std::getenv("PATH")).ok(); }

// "-p 4711" where a command is missing.
Meant about_process(Arguments rest) {
  if (rest.empty()) return {{}, {}, "-p needs a process id, and a command in front of it: heaptape top -p PID"};
  return {{}, {}, about_attaching(rest.front())};
}

Meant meant_by_option(Arguments arguments) {
  const std::string_view word = arguments.front();
  if (word == "-p" || word == "--pid") return about_process(arguments.subspan(1));
  for (const std::string_view tool : {"memcheck", "massif", "dhat", "callgrind"}) {
    if (word == "--tool=" + std::string(tool)) return *meant_by_word(tool, {});
  }
  if (word.starts_with("--leak-check")) return *meant_by_word("memcheck", {});
  if (word == "--analyze" || word == "-a") return {"report", arguments.subspan(1), {}};
  for (const char* other : arguments.subspan(1)) {
    if (*other != '-') return {"record", arguments, {}};
  }
  if (word == "--") return {{}, {}, "no program given; see 'heaptape --help'"};
  const std::array<std::string_view, 3> known{"--help", "--version", "--no-pager"};
  const std::string meant = did_you_mean(word, std::span(known));
  return {{}, {}, "unknown option " + printable(word) + (meant.empty() ? "; see 'heaptape --help'" : meant)};
}

} // namespace

std::optional<Meant> meant_by_check(Arguments rest) {
  if (rest.empty()) return std::nullopt;
  const std::string_view word = rest.front();
  if (word == "heap") return Meant{"check-heap", rest.subspan(1), "'check heap' is 'heaptape check-heap' here"};
  if (is_tape(std::string(word))) return Meant{"verify", rest, "to check a tape is 'heaptape verify' here"};
  return std::nullopt;
}

std::optional<Meant> meant_by_word(std::string_view word, Arguments rest) {
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.word != word) continue;
    return Meant{synonym.command, rest,
                 synonym.is_said ? fmt::format("'{}' is 'heaptape {}' here", word, synonym.command) : std::string()};
  }
  for (const Advice& advice : kAdvice) {
    if (advice.word == word) return Meant{{}, {}, std::string(advice.sentence)};
  }
  if (word == "attach") {
    if (rest.empty()) return Meant{{}, {}, "heaptape must start a program to record it: heaptape record PROGRAM"};
    const bool has_option = std::string_view(rest.front()) == "-p" || std::string_view(rest.front()) == "--pid";
    if (has_option && rest.size() < 2) return about_process({});
    return Meant{{}, {}, about_attaching(rest[has_option ? 1 : 0])};
  }
  return std::nullopt;
}

Meant meant_by(Arguments arguments, std::span<const std::string_view> commands) {
  const std::string word = arguments.front();
  if (word.starts_with('-')) return meant_by_option(arguments);
  if (is_tape(word)) return {"report", arguments, {}};
  if (is_program(word)) return {"record", arguments, {}};
  if (word.ends_with(".tape")) return {{}, {}, no_such_tape(word).sentence};
  const std::string shown = printable(word);
  if (word.find('/') != word.npos) {
    const bool exists = ::access(word.c_str(), F_OK) == 0;
    return {{},
            {},
            fmt::format("'{}' {}", shown,
                        exists ? "is neither a tape nor a program that can be run; see 'heaptape --help'"
                               : "does not exist; see 'heaptape --help'")};
  }
  if (const std::string meant = did_you_mean(word, commands); !meant.empty())
    return {{}, {}, "unknown command '" + shown + "'" + meant};
  if (is_in_path(word))
    return {
        {}, {}, fmt::format("'{0}' is not a command of heaptape; to record the program: heaptape record {0}", shown)};
  if (is_program("./" + word))
    return {{}, {}, fmt::format("'{0}' is not a command of heaptape; to record the program: heaptape ./{0}", shown)};
  return {{}, {}, fmt::format("unknown command '{}'; see 'heaptape --help'", shown)};
}

} // namespace heaptape::cli
