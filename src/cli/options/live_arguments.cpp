#include "cli/options/live_arguments.h"

#include "base/number_text.h"
#include "cli/options/take_value.h"
#include "collector/launch/launch_environment.h"
#include "collector/options/option_values.h"
#include "live/live_watcher.h"

namespace heaptape::cli {

void LiveArguments::add(OptionList& list) {
  list.flag("--no-tape", no_tape_, "write no tape; needs --log, --max-live or --top-every");
  list.optional_text("--log[=FILE]", log_,
                     "--log or --log=FILE: write a log of who allocates and frees, at every --log-churn bytes "
                     "(default: heaptape.%n.%p.log)");
  list.text("--log-churn SIZE", churn_, "bytes allocated and freed between two snapshots, 0: none (default: 1MiB)");
  list.text("--log-every TIME", every_, "also take a snapshot at this interval (10s, 2min)");
  list.text("--log-signal NAME", signal_, "also take one when the collector gets this signal (USR1, USR2, HUP)")
      .one_of({"USR1", "USR2", "HUP", "ALRM", "WINCH"})
      .also({"SIGUSR1", "SIGUSR2", "SIGHUP", "SIGALRM", "SIGWINCH", "10", "12", "1", "14", "28"});
  list.flag("--log-all", all_, "every source in every snapshot, not only those that changed");
  list.text("--log-max SIZE", log_max_, "start a new file at this size; the old one becomes FILE.1");
  list.text("--log-keep N", log_keep_, "keep N older files (default: 5)");
  list.text("--max-live SIZE", max_live_, "when more than this is live: report the largest stacks and end the program");
  list.flag("--max-live-report", report_, "with --max-live: only report, once");
  list.text("--top-every TIME", top_every_, "print the largest stacks at this interval, and at exit");
  list.text("--top-rows N", top_rows_, "with --top-every: print N stacks (default: 10)");
  list.text("--top-sort FIGURE", top_sort_,
            "with --top-every: sort by bytes in use (live, the default), bytes ever allocated, or blocks in use")
      .one_of({"live", "allocated", "blocks"})
      .also({"total", "count"});
  list.flag("--top-first", top_first_, "with --top-every: largest first, not last");
  list.text("--top-file FILE", top_file_, "with --top-every: write to this file instead of standard error");
}

Result<> LiveArguments::take(CollectorOptions& options) const {
  LiveOptions& live = options.live;
  if (log_) live.log = true;
  if (log_ && !log_->empty()) {
    live.log_name = *log_;
    live.log_named = true;
  }
  const auto at_least = [](std::uint32_t least) {
    return [least](const std::string& text) { return parse_count(text, least); };
  };
  for (const Result<>& taken : {take_value("--log-churn", churn_, parse_bytes, live.log_churn),
                                take_value("--log-every", every_, parse_interval_us, live.log_every_us),
                                take_value("--log-signal", signal_, parse_log_signal, live.log_signal),
                                take_value("--log-max", log_max_, parse_bytes, live.log_max_bytes),
                                take_value("--log-keep", log_keep_, at_least(0), live.log_keep),
                                take_value("--max-live", max_live_, parse_bytes, live.max_live_bytes),
                                take_value("--top-every", top_every_, parse_interval_us, live.top_every_us),
                                take_value("--top-sort", top_sort_, parse_table_sort, live.top_sort),
                                take_value("--top-rows", top_rows_, at_least(1), live.top_rows)}) {
    if (!taken) return taken.error();
  }
  if (!max_live_.empty() && live.max_live_bytes == 0) return Error{ErrorCode::Usage, "--max-live: 0 is not a limit"};
  if (all_) live.log_all = true;
  if (report_) live.max_live_report = true;
  if (top_first_) live.top_first = true;
  if (!top_file_.empty()) live.top_file = top_file_;
  if (no_tape_) options.write_tape = false;
  const auto needs = [](const char* what, const char* other) {
    return Error{ErrorCode::Usage, std::string(what) + " has no effect without " + other};
  };
  if (live.max_live_report && live.max_live_bytes == 0) return needs("--max-live-report", "--max-live SIZE");
  if (live.top_every_us == 0 && (live.top_first || !live.top_file.empty() || !top_rows_.empty() || !top_sort_.empty()))
    return needs("--top-rows, --top-sort, --top-first or --top-file", "--top-every TIME");
  if (!live.log && (live.log_all || !churn_.empty() || !every_.empty() || !signal_.empty() || !log_max_.empty() ||
                    !log_keep_.empty()))
    return needs("--log-...", "--log");
  return Unit{};
}

Result<> add_watcher(CollectorOptions& options) {
  if (!options.write_tape && !options.live.wanted())
    return Error{ErrorCode::Usage, "--no-tape leaves nothing to do; add --log, --max-live or --top-every"};
  options.watch = live_watcher_factory(options.live, options.symbols, HEAPTAPE_VERSION);
  return Unit{};
}

} // namespace heaptape::cli
