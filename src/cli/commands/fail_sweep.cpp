#include "cli/commands/fail_sweep.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/number_text.h"
#include "base/path_text.h"
#include "base/signal_name.h"
#include "base/system_error.h"
#include "cli/beside/run_quietly.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/crash/crash_line.h"
#include "report/errors/error_list.h"
#include "report/errors/failures.h"
#include "report/errors/sweep_list.h"
#include "report/view/tape_view.h"

namespace heaptape::cli {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kFirstLimit = std::chrono::hours(24);
constexpr milliseconds kLeastLimit = std::chrono::seconds(10);

// Removed with all that is in it.
class Folder {
public:
  static Result<Folder> make() {
    std::error_code problem;
    std::filesystem::path place = std::filesystem::temp_directory_path(problem);
    std::string name = (problem ? std::filesystem::path("/tmp") : place) / "heaptape.sweep.XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
      return Error{ErrorCode::Io, "cannot make the folder " + printable(name) + ": " + system_message(errno)};
    return Folder(std::move(name));
  }
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

private:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

bool is_crash(int signal) {
  constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
  return std::find(std::begin(kCrashes), std::end(kCrashes), signal) != std::end(kCrashes);
}

// What one run's tape says.
struct RunFacts {
  Failures failures{};
  std::optional<Summary> summary{};
  std::size_t errors = 0; // different ones
  std::string call{}, stack{}, crash{};

  int signal() const { return summary && summary->ending == Ending::Killed ? summary->ending_detail : 0; }
};

class Sweep {
public:
  Sweep(const FailSweep& wanted, const Folder& folder) : wanted_(wanted), folder_(folder) {}

  int go();

private:
  std::string tape_of(std::uint64_t number) const { return folder_.path() + "/" + std::to_string(number) + ".tape"; }
  Result<QuietRun> run(std::uint64_t number, milliseconds limit) const;
  Result<RunFacts> read(std::uint64_t number) const;
  void judge(std::uint64_t number, const QuietRun& run);
  std::string keep(std::uint64_t number) const;
  void forget(std::uint64_t number) const;

  const FailSweep& wanted_;
  const Folder& folder_;
  QuietRun first_run_{};
  RunFacts first_{};
  SweepList list_{};
};

Result<QuietRun> Sweep::run(std::uint64_t number, milliseconds limit) const {
  std::vector<std::string> words{wanted_.heaptape, "check"};
  words.insert(words.end(), wanted_.options.begin(), wanted_.options.end());
  for (const std::string& word : {std::string("--fail-nth"), std::to_string(number), std::string("--quiet"),
                                  std::string("--force"), std::string("--output"), tape_of(number), std::string("--")})
    words.push_back(word);
  words.insert(words.end(), wanted_.command.begin(), wanted_.command.end());
  return run_quietly(words, wanted_.keep_output, limit);
}

Result<RunFacts> Sweep::read(std::uint64_t number) const {
  const Result<TapeView> view = TapeView::open(tape_of(number));
  if (!view) return view.error();
  RunFacts facts;
  facts.failures = find_failures(view.value());
  facts.summary = view.value().tape().summary();
  facts.errors = find_errors(view.value()).contexts.size();
  facts.crash = crash_line(view.value().tape(), view.value().names());
  if (!facts.failures.failures.empty()) {
    const Failure& failure = facts.failures.failures.front();
    StackText stacks(view.value().names());
    facts.call = failure_text(stacks, failure);
    facts.stack = stacks.frames(failure.stack, "", TextStyle{});
  }
  return facts;
}

// A name of its own beside the user's other tapes; empty: it could not be kept, and that was said.
std::string Sweep::keep(std::uint64_t number) const {
  constexpr int kMostNames = 1000;
  const std::string begin =
      "heaptape." + std::string(base_name(wanted_.command.front())) + ".fail-" + std::to_string(number);
  for (int i = 1; i <= kMostNames; ++i) {
    const std::string name = begin + (i == 1 ? "" : "." + std::to_string(i)) + ".tape";
    std::error_code problem;
    if (std::filesystem::exists(name, problem)) continue;
    std::filesystem::copy_file(tape_of(number), name, problem);
    if (!problem) return name;
    say("cannot keep the tape as " + printable(name) + ": " + problem.message());
    return {};
  }
  say("cannot keep the tape: there are " + std::to_string(kMostNames) + " others of the same name");
  return {};
}

void Sweep::forget(std::uint64_t number) const {
  std::error_code ignored;
  std::filesystem::remove(tape_of(number), ignored);
}

void Sweep::judge(std::uint64_t number, const QuietRun& run) {
  const Result<RunFacts> read_facts = read(number);
  const RunFacts facts = read_facts ? read_facts.value() : RunFacts{};
  const std::string call = facts.call.empty() ? "a call that its tape does not name" : facts.call;
  RunOutcome outcome = RunOutcome::SameStatus;
  std::string what;
  if (run.end == RunEnd::TimedOut) {
    outcome = RunOutcome::Hung;
    what = "did not end";
  } else if (is_crash(facts.signal())) {
    outcome = RunOutcome::Crashed;
    what = facts.crash.empty() ? signal_name(facts.signal()) : facts.crash;
  } else if (facts.failures.failed == 0) {
    outcome = RunOutcome::NotReached;
  } else if (facts.errors > first_.errors) {
    outcome = RunOutcome::Errors;
    what = count_of(facts.errors - first_.errors, "memory error");
  } else if (run.status != first_run_.status) {
    outcome = RunOutcome::OtherStatus;
  }
  if (list_.add(outcome, number, what, call, facts.stack)) list_.keep(keep(number));
}

int Sweep::go() {
  const SignalsHeld held;
  const Result<QuietRun> first = run(0, kFirstLimit);
  if (!first) return fail(first.error());
  first_run_ = first.value();
  if (first_run_.end == RunEnd::BrokenOff) return 128 + SIGINT;
  const Result<RunFacts> facts = read(0);
  if (!facts) {
    say("the first run, without a failure, left no tape (it ended with status " + std::to_string(first_run_.status) +
        "); run it alone: heaptape check --mode fail --fail-nth 0");
    return kTrouble;
  }
  first_ = facts.value();
  if (is_crash(first_.signal())) {
    say("without any failure, too, the program dies of " + signal_name(first_.signal()) +
        "; run 'heaptape check' first");
    return kProblemsFound;
  }
  if (!first_.failures.counted) {
    say("how many allocations there are is not known: " + ending_text(first_.summary));
    return kTrouble;
  }
  const std::uint64_t count = *first_.failures.counted;
  if (count == 0) {
    say("the program makes no allocation that could fail and meets the conditions");
    return kOk;
  }
  const std::vector<std::uint64_t> numbers = numbers_to_try(count, wanted_.most_runs);
  if (numbers.size() < count)
    say(with_separators(numbers.size()) + " of " + count_of(count, "allocation") +
        " are tried, evenly spread; --sweep=" + std::to_string(count) + " tries all");
  const milliseconds limit = std::max(kLeastLimit, first_run_.took * 10);
  bool broken_off = false;
  for (const std::uint64_t number : numbers) {
    const Result<QuietRun> done = run(number, limit);
    if (!done) {
      say(done.error().sentence);
      break;
    }
    if (done.value().end == RunEnd::BrokenOff) {
      broken_off = true;
      say("broken off after " + count_of(list_.runs(), "run"));
      break;
    }
    judge(number, done.value());
    forget(number);
  }
  Output output(Paging::Never);
  output.print("{}", sweep_text(list_, count));
  if (!output.finish()) return kTrouble;
  if (!list_.findings().empty()) return kProblemsFound;
  return broken_off ? 128 + SIGINT : kOk;
}

} // namespace

int run_fail_sweep(const FailSweep& wanted) {
  const Result<Folder> folder = Folder::make();
  if (!folder) return fail(folder.error());
  return Sweep(wanted, folder.value()).go();
}

} // namespace heaptape::cli
