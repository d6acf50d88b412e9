#include "cli/options/report_options.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/number_text.h"
#include "base/system_error.h"
#include "cli/options/by_pid.h"
#include "cli/terminal/console.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/terminal.h"
#include "report/select/default_suppressions.h"
#include "report/text/snapshot_names.h"

namespace heaptape::cli {
namespace {

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::NotFound, "cannot read '" + path + "': " + system_message(errno)};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// What was given, and what the environment says. All of them are good.
Result<std::vector<std::string>> plumbing_expressions(std::vector<std::string> given) {
  const auto check = [](const char* where, const std::string& expression) -> Result<> {
    const Result<Pattern> pattern = Pattern::compile(expression);
    if (!pattern) return Error{ErrorCode::Usage, std::string(where) + ": " + pattern.error().sentence};
    return Unit{};
  };
  for (const std::string& expression : given) {
    if (const Result<> good = check("--plumbing", expression); !good) return good.error();
  }
  if (const char* expression = std::getenv("HEAPTAPE_PLUMBING"); expression != nullptr && *expression != '\0') {
    if (const Result<> good = check("HEAPTAPE_PLUMBING", expression); !good) return good.error();
    given.emplace_back(expression);
  }
  return given;
}

// What was written up to a snapshot does not change any more.
bool is_on_tape(const TapeView& view, const std::string& snapshot) {
  return !snapshot.empty() && find_snapshot_named(named_snapshots(view.tape(), view.marks()), snapshot).ok();
}

void say_what_is_wrong(const TapeView& view, const TapeChoice& choice) {
  const TapeReader& tape = view.tape();
  const std::string path = printable(view.path());
  if (tape.event_count() == 0 && tape.cpu().empty()) say(path + " holds no events");
  const std::optional<LiveRecording> running = tape.summary() ? std::nullopt : recording_of(view.path());
  if (running && !choice.is_live && !is_on_tape(view, choice.snapshot)) {
    say(fmt::format("{} is still being recorded: this is what has been written so far; '-p {}' shows everything", path,
                    running->pid));
  } else if (!tape.summary() && !running) {
    say(path + " has no end: the recording was cut off; this is what it holds");
  }
  say_damage(path, view.damage(), view.uncounted_events());
  if (view.nameless()) say("found no names for this program; functions are shown as module+offset");
  if (view.symbolized_here() && !running) say("the tape holds no names; they are read from the program's files");
}

} // namespace

void ReportOptions::add_names(OptionList& list) {
  list.text("--names FORM", names_, "short (default), full (with parameters and template arguments) or mangled")
      .one_of({"short", "full", "mangled"});
  add_plumbing(list, plumbing_);
}

void add_plumbing(OptionList& list, std::vector<std::string>& expressions) {
  list.repeated("--plumbing RE", expressions,
                "functions that allocate for their callers, who are charged instead, besides those known; repeatable. "
                "Also in HEAPTAPE_PLUMBING");
}

void ReportOptions::add_names_and_color(OptionList& list) {
  add_names(list);
  list.text("--color WHEN", color_, "auto (default: on a terminal, unless NO_COLOR is set), always or never")
      .one_of({"auto", "always", "never"});
}

void ReportOptions::add_filters(OptionList& list) {
  const auto add = [&](const char* form, bool include, bool of_module, const char* help) {
    list.each(
        form,
        [=, this](const std::string& text) {
          rules_.push_back({include, of_module, text});
        },
        help);
  };
  add("--include-function RE", true, false,
      "only stacks with a matching function; repeatable. The first match from the innermost frame decides");
  add("--exclude-function RE", false, false, "no stacks with a matching function");
  add("--include-module RE", true, true, "only stacks through a module whose path matches");
  add("--exclude-module RE", false, true, "no stacks through a module whose path matches");
}

void ReportOptions::add_where(OptionList& list) {
  list.text("--where FILTER", where_, "only blocks that match, such as 'size>1M and fn~parse' (man heaptape-filters)");
}

void ReportOptions::add_suppressions(OptionList& list) {
  list.repeated("--suppressions FILE", suppression_files_,
                "leave out leaks listed in this file, in LeakSanitizer's or valgrind's syntax; repeatable");
}

void ReportOptions::add_error_suppressions(OptionList& list) {
  list.repeated("--suppressions FILE", suppression_files_,
                "leave out errors listed in this file, in valgrind's or AddressSanitizer's syntax; repeatable");
}

Result<NameForm> ReportOptions::names() const {
  if (names_ == "short") return NameForm::Short;
  if (names_ == "full") return NameForm::Full;
  if (names_ == "mangled") return NameForm::Mangled;
  return Error{ErrorCode::Usage, "--names must be short, full or mangled, not '" + names_ + "'"};
}

Result<TextStyle> ReportOptions::style() const { return style_of_output(color_); }

Result<FrameFilter> ReportOptions::filter() const {
  std::vector<FilterRule> rules;
  for (const Rule& rule : rules_) {
    Result<Pattern> pattern = Pattern::compile(rule.pattern);
    if (!pattern) return pattern.error();
    rules.push_back({rule.include, rule.of_module, std::move(pattern).value()});
  }
  return FrameFilter(std::move(rules));
}

Result<Filter> ReportOptions::where(const TapeView& view) const {
  return Filter::parse(where_, FilterOf::Blocks, view);
}

Result<Suppressions> ReportOptions::given_suppressions() const {
  Suppressions suppressions;
  for (const std::string& path : suppression_files_) {
    const Result<std::string> text = read_file(path);
    if (!text) return text.error();
    if (const Result<> added = suppressions.add(text.value(), path); !added) return added.error();
  }
  return suppressions;
}

Result<Suppressions> ReportOptions::suppressions(const TapeReader& tape) const {
  Result<Suppressions> suppressions = given_suppressions();
  if (!suppressions) return suppressions.error();
  if (const auto own = default_suppressions(tape)) {
    // Suppressions of the program itself may be wrong, and the user could not help it.
    if (const Result<> added = suppressions.value().add(*own, "__lsan_default_suppressions()"); !added)
      say(added.error().sentence);
  }
  return suppressions;
}

Result<TapeView> ReportOptions::open(TapeChoice& tape) const {
  const Result<NameForm> form = names();
  if (!form) return form.error();
  const Result<std::vector<std::string>> plumbing = plumbing_expressions(plumbing_);
  if (!plumbing) return plumbing.error();
  if (const Result<> chosen = choose_tape(tape); !chosen) return chosen.error();
  ProgressLine indexing("indexing");
  const Progress progress = [&](std::uint64_t done, std::uint64_t all) { indexing.show(done, all); };
  Result<TapeView> view =
      TapeView::open(tape.path, {.names = form.value(), .index_progress = progress, .plumbing = plumbing.value()});
  if (view) say_what_is_wrong(view.value(), tape);
  return view;
}

} // namespace heaptape::cli
