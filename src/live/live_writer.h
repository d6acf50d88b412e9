// The slow half of a live watcher: names, formats and writes what the quick half counted, in a thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "collector/options/live_options.h"
#include "live/churn_log.h"
#include "live/heap_snapshot.h"
#include "live/live_names.h"
#include "live/log_file.h"
#include "live/top_text.h"

namespace heaptape {

// One thing to write. Whatever it is, its new modules and stacks are learnt.
struct LiveJob {
  HeapSnapshot snapshot{};
  std::string why{};                 // for the log; empty: not for the log
  bool complete = false;             // all sources
  std::vector<StackTally> largest{}; // for a table
  bool table = false;
  std::string alarm{}; // a sentence with a table, for the user; empty: none
  std::optional<Summary> end{};
};

class LiveWriter {
public:
  using Tell = std::function<void(const std::string& text)>;

  LiveWriter(const LiveOptions& options, bool look_up, LogFacts facts, std::optional<LogFile> log,
             std::optional<LogFile> tables, Tell tell);
  ~LiveWriter();
  LiveWriter(const LiveWriter&) = delete;
  LiveWriter& operator=(const LiveWriter&) = delete;

  // Takes over the job. Returns at once.
  void add(LiveJob job);
  // How many wait, the one being written included.
  std::size_t waiting() const;
  // Counts a snapshot that could not be taken.
  void leave_out();
  // Writes all that waits and ends the thread.
  void finish();

  std::string path() const { return log_path_; }
  void remove_files();

private:
  void run();
  void write(LiveJob& job);
  void write_log(const std::string& text);
  std::string table_of(const LiveJob& job);

  LiveOptions options_;
  LogFacts facts_;
  LiveNames names_;
  ChurnLog text_;
  std::optional<LogFile> log_, tables_;
  std::string log_path_;
  Tell tell_;
  bool log_failed_ = false;

  mutable std::mutex mutex_; // of what follows
  std::condition_variable changed_;
  std::deque<LiveJob> jobs_;
  std::size_t waiting_ = 0;
  std::uint64_t left_out_ = 0;
  bool finishing_ = false;
  std::thread thread_;
};

} // namespace heaptape
