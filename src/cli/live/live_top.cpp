#include "cli/live/live_top.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "cli/beside/tape_in_use.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "cli/terminal/full_screen.h"
#include "collector/control/control_client.h"
#include "live/live_view.h"
#include "live/log_file.h"
#include "live/tape_follower.h"
#include "report/pages/tape_facts.h"
#include "report/text/json_writer.h"

namespace heaptape::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kEventsAtOnce = 2'000'000; // between two looks at the keyboard

// A tape and what is known of it so far.
class Followed {
public:
  static Result<std::unique_ptr<Followed>> open(const std::string& path) {
    Result<TapeFollower> follower = TapeFollower::open(path);
    if (!follower) return follower.error();
    return std::unique_ptr<Followed>(new Followed(path, std::move(follower).value()));
  }

  // Asks the collector for what is not on the tape yet. A collector that cannot be asked writes it within two seconds.
  void ask_for_all() const {
    if (!ended()) (void)flush_tape(static_cast<pid_t>(follower_.header().pid));
  }
  // Names this moment on the tape; false: the collector cannot be asked.
  bool mark(const std::string& name) const {
    return !ended() && mark_now(static_cast<pid_t>(follower_.header().pid), name, MarkKind::Mark).ok();
  }
  // True when there is more to read at once.
  bool poll(std::uint64_t most_events) { return follower_.poll(view_, most_events); }
  LiveView& view() { return view_; }

  TopMoment moment() const {
    TopMoment moment{.program = program(),
                     .pid = follower_.header().pid,
                     .time_us = follower_.time_us(),
                     .allocated = view_.heap().allocated(),
                     .freed = view_.heap().freed(),
                     .peak_bytes = view_.heap().peak_bytes(),
                     .ended = ended()};
    return moment;
  }
  bool ended() const { return follower_.summary().has_value(); }
  // The tape is no longer written, though it is incomplete.
  bool abandoned() const { return !ended() && !is_being_written(path_); }

private:
  Followed(std::string path, TapeFollower follower) : path_(std::move(path)), follower_(std::move(follower)) {
    view_.names().follow(static_cast<pid_t>(follower_.header().pid));
  }

  std::string program() const {
    const auto command = follower_.meta().find("command");
    if (command == follower_.meta().end()) return "program";
    return command_text(split_command(command->second));
  }

  std::string path_;
  TapeFollower follower_;
  LiveView view_;
};

volatile sig_atomic_t g_interrupted = 0;

int print_tables(const LiveTop& options, Followed& followed) {
  std::optional<LogFile> file;
  if (!options.output.empty()) {
    Result<LogFile> created = LogFile::create(options.output, {.max_bytes = 0, .keep = 5});
    if (!created) return fail(created.error());
    file.emplace(std::move(created).value());
  }
  ::signal(SIGINT, [](int) { g_interrupted = 1; });
  auto next = Clock::now();
  bool failed = false;
  for (std::uint64_t printed = 0; !failed;) {
    followed.ask_for_all();
    while (followed.poll(kEventsAtOnce)) {}
    const bool last = followed.ended() || followed.abandoned() || g_interrupted != 0;
    const TopMoment moment = followed.moment();
    const std::vector<StackTally> rows = followed.view().heap().largest(options.rows, options.table_sort);
    std::string text;
    if (options.json) {
      JsonWriter json;
      write_top_moment_json(json, moment, rows, followed.view().names());
      text = json.text() + "\n";
    } else {
      text = (printed != 0 ? "\n" : "") + top_moment_text(moment, rows, followed.view().names(),
                                                          {options.largest_first, options.frames, options.style});
    }
    if (file) {
      const Result<> written = file->write(text);
      if (!written) return fail(written.error());
    } else {
      Output output(Paging::Never);
      output.print("{}", text);
      failed = !output.finish();
    }
    ++printed;
    // As every command that reads says it of a tape that was cut off.
    if (followed.abandoned()) say(options.tape + " has no end: the recording was cut off; this is what it holds");
    if (last || (options.count != 0 && printed >= options.count)) break;
    // The end of the program is worth a table of its own, at once.
    next += std::chrono::microseconds(options.every_us);
    while (Clock::now() < next && g_interrupted == 0 && !followed.ended()) {
      std::this_thread::sleep_for(std::min<Clock::duration>(next - Clock::now(), std::chrono::milliseconds(100)));
      followed.poll(kEventsAtOnce);
    }
  }
  return failed ? kTrouble : kOk;
}

int show_screen(const LiveTop& options, Followed& followed, bool end_with_program) {
  Result<std::unique_ptr<FullScreen>> taken = FullScreen::take();
  if (!taken) return fail(taken.error());
  FullScreen& terminal = *taken.value();
  TopScreen screen(followed.view(), options.order);
  auto next = Clock::now();
  bool reading = true, gone = false;
  unsigned marks = 0;
  const auto draw = [&](bool quick) {
    const ScreenSize size = terminal.size();
    terminal.show(screen.draw(size.width, size.height, options.style, quick));
  };
  while (FullScreen::asked_to_end() == 0) {
    if (!screen.paused() && (reading || Clock::now() >= next)) {
      if (!reading) followed.ask_for_all();
      reading = followed.poll(kEventsAtOnce);
      if (Clock::now() >= next || !reading) {
        const auto now = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch());
        screen.refresh(followed.moment(), static_cast<std::uint64_t>(now.count()));
        if (reading) {
          screen.forget_growth();
          screen.say("reading what happened so far ...");
        }
        draw(true);
        next = Clock::now() + std::chrono::microseconds(options.every_us);
      }
      if (!reading) {
        if (!gone && followed.abandoned()) {
          gone = true;
        }
        if (gone) screen.say("the recording ended unexpectedly; this is its last state (q quits)");
        draw(false);
        if (followed.ended() && end_with_program) break;
      }
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now()).count();
    std::uint64_t patience = static_cast<std::uint64_t>(std::clamp<std::int64_t>(left, 0, 500));
    if (screen.paused())
      patience = 500; // nothing is due
    else if (reading)
      patience = 0;
    const std::vector<FullScreen::Key> keys = terminal.keys(patience);
    bool leave = false;
    for (const FullScreen::Key& key : keys) {
      const TopAction action = std::visit([&](auto one) { return screen.key(one); }, key);
      if (action == TopAction::Quit) leave = true;
      if (action == TopAction::Refresh) next = Clock::now();
      if (action == TopAction::Mark) {
        const std::string name = "marked in top " + std::to_string(++marks);
        screen.say(followed.mark(name) ? "growth is counted from here; mark on the tape: '" + name + "'"
                                       : "growth is counted from here");
      }
    }
    if (leave) break;
    draw(false); // keys, and a window of another size
  }
  return kOk;
}

} // namespace

int run_live_top(const LiveTop& options) {
  Result<std::unique_ptr<Followed>> followed = Followed::open(options.tape);
  if (!followed) return fail(followed.error());
  return options.plain ? print_tables(options, *followed.value()) : show_screen(options, *followed.value(), false);
}

int run_top_beside(const LiveTop& options) {
  Result<std::unique_ptr<Followed>> followed = Followed::open(options.tape);
  if (!followed) return fail(followed.error());
  return show_screen(options, *followed.value(), true);
}

} // namespace heaptape::cli
