#include "collector/recording/process_recording.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/path_text.h"
#include "collector/observe/proc_files.h"
#include "collector/options/tape_name.h"
#include "collector/recording/hello.h"
#include "collector/recording/own_process.h"
#include "collector/recording/run_list.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kLookAgainMs = 20;
constexpr std::chrono::seconds kPatience{5}; // from exec to the loading of libraries

// Renames "x.tape" to "x.1-env.tape", for the next program takes its name. The path afterwards; the old one when that fails.
std::string moved_aside(const std::string& tape, std::size_t number, const std::string& program) {
  constexpr std::string_view kEnding = ".tape";
  const bool has_ending = tape.ends_with(kEnding);
  const std::string stem = has_ending ? tape.substr(0, tape.size() - kEnding.size()) : tape;
  constexpr std::size_t kMostTries = 1000;
  for (std::size_t tries = 0; tries < kMostTries; ++tries) {
    std::string name = stem + "." + std::to_string(number + tries) + "-" + program;
    if (has_ending) name += kEnding;
    if (::renameat2(AT_FDCWD, tape.c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE) == 0) return name;
    if (errno != EEXIST) break;
  }
  return tape;
}

} // namespace

bool is_starter(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kStarters{
      "timeout", "time", "setsid", "flock", "tini", "dumb-init", "unshare", "dbus-run-session", "catchsegv"};
  return std::find(kStarters.begin(), kStarters.end(), base_name(name)) != kStarters.end();
}

ProcessRecording::ProcessRecording(const CollectorOptions& options, SharedMemory memory, pid_t program,
                                   std::string name, ProgramOrigin origin)
    : given_(options), door_(ExecDoor::open([this] { wake(); })), program_(program) {
  const bool hands_over = !options.follow && is_starter(name);
  auto first = std::make_unique<Collector>(given_, std::move(memory), program, std::move(name), std::move(origin));
  first->set_door(door_.get(), hands_over);
  become(std::move(first));
}

ProcessRecording::~ProcessRecording() {
  await_finishers();
  become(nullptr); // before the door, to which it points
}

void ProcessRecording::become(std::unique_ptr<Collector> next) {
  {
    const std::scoped_lock lock(mutex_);
    std::swap(current_, next);
  }
  next.reset(); // without the lock: its threads end here, and may want to wake it
}

void ProcessRecording::wake() {
  const std::scoped_lock lock(mutex_);
  if (current_) current_->wake();
}

// The mutex in the old memory stays locked, and locked ones are a list: the next one's neighbour must not vanish.
void ProcessRecording::retire(Left left) {
  std::unique_ptr<Collector> old;
  {
    const std::scoped_lock lock(mutex_);
    std::swap(current_, old);
  }
  emptied_.push_back(old->give_up_memory());
  if (left == Left::Replaced) emptied_.back().empty();
}

CollectorResult ProcessRecording::run(UniqueFd link, const Collector::Tell& tell) {
  std::vector<std::unique_ptr<ProgramEnd>> ends; // the launcher speaks to the first, for as long as it likes
  ends.push_back(std::make_unique<ProgramEnd>(std::move(link), [this] { wake(); }));
  while (true) {
    CollectorResult result = current_->run(*ends.back(), tell);
    if (!door_ || (result.left != Left::Replaced && result.left != Left::Handed)) return last(std::move(result));
    std::optional<Visitor> visitor = next_program(*ends.back(), result);
    if (!visitor) return last(std::move(result));
    const pid_t next = visitor->pid;
    retire(result.left);
    if (!take_in(std::move(*visitor), result)) return last(std::move(result));
    put_away(std::move(result));
    if (next != program_) ends.push_back(std::make_unique<ProgramEnd>(UniqueFd(), [this] { wake(); }));
    program_ = next;
    unrecorded_.clear();
  }
}

// The one that is recorded next. None: it has noted that it becomes one that cannot be, or does not knock in time.
std::optional<Visitor> ProcessRecording::next_program(const ProgramEnd& end, const CollectorResult& result) {
  const Left left = result.left;
  const ProcFiles proc(program_);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    const bool gone = end.gone() || !result.became.empty() || std::chrono::steady_clock::now() > until;
    while (std::optional<Visitor> visitor = door_->take()) {
      const bool is_meant =
          visitor->pid == program_ || (left == Left::Handed && ProcFiles(visitor->pid).parent() == program_);
      if (is_meant) return visitor;
      send_away(*visitor);
    }
    if (const std::string path = proc.executable(); !path.empty() && left == Left::Replaced) unrecorded_ = path;
    if (gone) return std::nullopt;
    door_->wait(kLookAgainMs);
  }
}

// A collector for the program that waits. False: that could not be; it runs unrecorded.
bool ProcessRecording::take_in(Visitor visitor, CollectorResult& before) {
  const ProcFiles proc(visitor.pid);
  auto options = std::make_unique<CollectorOptions>(given_);
  options->program = proc.executable();
  options->command = proc.facts()["command"];
  std::string name = proc.started_as();
  if (!before.run.empty()) {
    options->run = as_pattern(before.run);
    options->run_begins = false;
  }
  const TapeNameFacts facts{static_cast<std::uint32_t>(visitor.pid), name, std::time(nullptr)};
  const std::string tape = expand_tape_name(options->tape, facts);
  const bool was_ours =
      std::any_of(earlier_.begin(), earlier_.end(), [&](const Earlier& it) { return it.tape == tape; });
  if (options->follow || was_ours)
    options->tape_named = options->force = false; // a name that is taken gets a number
  else if (before.tape == tape && !tape.empty())
    before.tape = moved_aside(before.tape, earlier_.size() + 1, before.program);

  Result<SharedMemory> memory = SharedMemory::create(*options);
  if (!memory) {
    refuse(visitor.socket.get(), memory.error().sentence);
    return false;
  }
  hold_life_mutex(memory.value().header());
  const bool is_exec = visitor.pid == program_;
  ProgramOrigin origin{.started_by = is_exec ? wire::StartedBy::Exec : wire::StartedBy::Spawn,
                       .parent = is_exec ? proc.parent() : program_,
                       .parent_tape = std::string(base_name(before.tape))};
  auto next = std::make_unique<Collector>(*options, std::move(memory).value(), visitor.pid, name, std::move(origin));
  next->set_door(door_.get(), !options->follow && is_starter(name));
  options_.push_back(std::move(options));
  // The program before it has closed its socket by now; the same name can be used again.
  if (const Result<> created = next->create_tape(visitor.pid); !created) {
    refuse(visitor.socket.get(), created.error().sentence);
    return false;
  }
  next->hold_program();
  wire::HelloReply reply{};
  reply.pid = static_cast<std::uint32_t>(::getpid());
  const bool sent = send_reply(visitor.socket.get(), reply, next->memory_fd());
  become(std::move(next));
  return sent;
}

// Puts names and index onto the tape of a program that is over, beside the next one.
void ProcessRecording::put_away(CollectorResult result) {
  Earlier earlier{.name = result.program, .tape = result.tape, .unseen = std::move(result.unseen)};
  if (given_.finish && !result.tape.empty() && result.problem.empty()) {
    earlier.finisher = ::fork();
    if (earlier.finisher <= 0) {
      if (earlier.finisher == 0) door_->close_in_child();
      given_.finish(result);
      if (earlier.finisher == 0) ::_exit(0);
      earlier.finisher = 0;
    }
  }
  list_end(result.run, result.pid, result.program, std::string(base_name(result.tape)), result.summary);
  earlier_.push_back(std::move(earlier));
}

void ProcessRecording::await_finishers() {
  for (Earlier& earlier : earlier_) {
    if (const pid_t finisher = std::exchange(earlier.finisher, 0); finisher > 0)
      while (::waitpid(finisher, nullptr, 0) < 0 && errno == EINTR) {}
  }
}

CollectorResult ProcessRecording::last(CollectorResult result) {
  await_finishers(); // so that the last one's tape is the newest, too
  for (const Earlier& earlier : earlier_) {
    if (!earlier.tape.empty()) result.before.push_back(earlier.name + " -> " + earlier.tape);
    if (result.unseen.empty()) result.unseen = earlier.unseen;
  }
  const std::string became = unrecorded_.empty() ? result.became : unrecorded_;
  if (became.empty()) return result;
  const std::string why = given_.obstacle_of ? given_.obstacle_of(became) : std::string();
  result.unseen.push_back(result.program + " then became " + std::string(base_name(became)) +
                          (why.empty() ? ", which is not recorded" : ": " + why));
  return result;
}

} // namespace heaptape
