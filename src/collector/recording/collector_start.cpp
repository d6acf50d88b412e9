// What a Collector makes before the program runs: the tape, the watcher, the control socket, and what the tape says of
// the program's origin.
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/path_text.h"
#include "collector/observe/proc_files.h"
#include "collector/options/tape_name.h"
#include "collector/recording/collector.h"
#include "collector/recording/run_list.h"

namespace heaptape {

namespace {

const char* started_by_text(wire::StartedBy how) {
  switch (how) {
  case wire::StartedBy::User: return "user";
  case wire::StartedBy::Fork: return "fork";
  case wire::StartedBy::Exec: return "exec";
  case wire::StartedBy::Spawn: return "spawn";
  }
  return "user";
}

} // namespace

Result<> Collector::create_tape(pid_t program_pid) {
  tape_start_ns_ = monotonic_ns();
  const std::uint64_t wall_ns = tape_start_realtime_ns_ = realtime_ns();
  const TapeNameFacts facts{static_cast<std::uint32_t>(program_pid), program_name_,
                            static_cast<std::time_t>(wall_ns / 1'000'000'000)};
  CollectorOptions named = options_;
  if (options_.write_tape && !options_.run.empty()) {
    const Result<std::string> folder = make_run_folder(options_, facts);
    if (!folder) return folder.error();
    run_folder_ = folder.value();
    named.tape = as_pattern(run_folder_) + "/%n.%p.tape";
    named.tape_named = named.force = false;
  }
  if (options_.write_tape) {
    Result<TapeWriter> writer = heaptape::create_tape(named, facts, wall_ns);
    if (!writer.ok()) return writer.error();
    writer_.emplace(std::move(writer).value());
    tape_path_ = writer_->path();
  }
  const Result<> watched = create_watcher({.pid = program_pid,
                                           .name = program_name_,
                                           .path = options_.program,
                                           .command = options_.command,
                                           .start_realtime_ns = wall_ns,
                                           .tell = [this](const std::string& text) {
                                             if (tell_) tell_(text);
                                           }});
  if (!watched.ok()) {
    if (writer_) ::unlink(tape_path_.c_str());
    writer_.reset();
    return watched.error();
  }
  created_ = true;
  leave_word();
  list_start(run_folder_, {.pid = program_pid,
                           .parent = origin_.parent != 0 ? origin_.parent : ProcFiles(program_pid).parent(),
                           .name = std::string(base_name(program_name_)),
                           .tape = std::string(base_name(tape_path_)),
                           .started_by = started_by_text(origin_.started_by),
                           .time_ns = wall_ns});
  // Before the program runs, so that anyone who sees it can ask. A recording without this socket is still a recording.
  if (Result<std::unique_ptr<ControlServer>> opened = ControlServer::open(program_pid, [this] { wake(); })) {
    control_ = std::move(opened).value();
  } else {
    unreachable_ = "other commands cannot reach this recording: " + opened.error().sentence;
  }
  return Unit{};
}

// For the programs that come after this one.
void Collector::leave_word() {
  wire::Header& header = memory_.header();
  const auto put = [](auto& field, std::string_view text) {
    if (text.size() < sizeof field) std::memcpy(field, text.data(), text.size());
  };
  if (door_ != nullptr) put(header.door, door_->name());
  put(header.tape, base_name(tape_path_));
  header.follow_child = follow_child_ ? 1 : 0;
}

Result<> Collector::create_watcher(const WatchedProgram& program) {
  if (!options_.watch) return Unit{};
  Result<std::unique_ptr<EventWatcher>> watcher = options_.watch(program);
  if (!watcher.ok()) return watcher.error();
  watcher_ = std::move(watcher).value();
  return Unit{};
}

Meta Collector::known_facts() const {
  Meta meta;
  meta["heaptape"] = HEAPTAPE_VERSION;
  if (!options_.options_text.empty()) meta["options"] = options_.options_text;
  if (!options_.command.empty()) meta["command"] = options_.command;
  if (!options_.program.empty()) meta["program"] = options_.program;
  // We stand where it was started. What it is in now says /proc, if it lives long enough.
  std::error_code unknown;
  if (!options_.command.empty()) meta["directory"] = std::filesystem::current_path(unknown).string();
  meta["name"] = base_name(program_name_);
  meta["start_monotonic_ns"] = std::to_string(tape_start_ns_);
  if (origin_.started_by == wire::StartedBy::User) return meta;
  meta["started_by"] = started_by_text(origin_.started_by);
  if (origin_.parent != 0) meta["parent_pid"] = std::to_string(origin_.parent);
  if (!origin_.parent_tape.empty()) meta["parent_tape"] = origin_.parent_tape;
  if (origin_.started_ns != 0) meta["started_monotonic_ns"] = std::to_string(origin_.started_ns);
  return meta;
}

} // namespace heaptape
