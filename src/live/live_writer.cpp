#include "live/live_writer.h"

#include <unistd.h>

#include <utility>

namespace heaptape {

LiveWriter::LiveWriter(const LiveOptions& options, bool look_up, LogFacts facts, std::optional<LogFile> log,
                       std::optional<LogFile> tables, Tell tell)
    : options_(options), facts_(facts), names_(look_up), text_(std::move(facts), names_), log_(std::move(log)),
      tables_(std::move(tables)), log_path_(log_ ? log_->path() : ""), tell_(std::move(tell)) {
  names_.follow(static_cast<pid_t>(facts_.pid));
  // At once, for it says which process takes the signal. A failure here will happen again at the first snapshot, and is
  // reported then.
  if (log_) (void)log_->write(text_.begin_file());
  thread_ = std::thread([this] { run(); });
}

LiveWriter::~LiveWriter() { finish(); }

void LiveWriter::add(LiveJob job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  ++waiting_;
  changed_.notify_all();
}

std::size_t LiveWriter::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

void LiveWriter::leave_out() {
  const std::lock_guard lock(mutex_);
  ++left_out_;
}

void LiveWriter::finish() {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void LiveWriter::remove_files() {
  finish();
  if (log_) log_->remove();
  if (tables_) tables_->remove();
}

void LiveWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return finishing_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    LiveJob job = std::move(jobs_.front());
    jobs_.pop_front();
    text_.left_out(std::exchange(left_out_, 0));
    lock.unlock();
    write(job);
    lock.lock();
    --waiting_;
  }
}

std::string LiveWriter::table_of(const LiveJob& job) {
  const TopMoment moment{.program = facts_.program,
                         .pid = facts_.pid,
                         .time_us = job.snapshot.time_us,
                         .allocated = job.snapshot.allocated,
                         .freed = job.snapshot.freed,
                         .peak_bytes = job.snapshot.peak_bytes,
                         .ended = job.end.has_value()};
  return top_moment_text(moment, job.largest, names_, {.largest_first = options_.top_first});
}

void LiveWriter::write(LiveJob& job) {
  names_.add_modules(job.snapshot.modules);
  names_.add_stacks(job.snapshot.first_stack, job.snapshot.stacks);
  if (!job.alarm.empty()) {
    std::string text = job.alarm + "\n" + table_of(job);
    text.pop_back(); // a line's end follows
    tell_(text);
  }
  if (job.table) {
    const std::string table = "\n" + table_of(job);
    if (tables_)
      (void)tables_->write(table);
    else
      (void)!::write(STDERR_FILENO, table.data(), table.size());
  }
  if (log_ && !job.why.empty()) {
    const ChurnLog::Text text =
        text_.snapshot(job.snapshot, job.why, job.complete, {log_->room(), log_->room_in_next()});
    if (text.for_new_file) {
      if (const Result<> moved = log_->next(); !moved && !std::exchange(log_failed_, true))
        tell_(moved.error().sentence + "; the log has a gap here");
    }
    write_log(text.text);
    if (job.end) write_log(text_.end(*job.end));
  }
}

void LiveWriter::write_log(const std::string& text) {
  const Result<> written = log_->write(text);
  if (!written && !std::exchange(log_failed_, true)) tell_(written.error().sentence + "; the log has a gap here");
  if (written) log_failed_ = false;
}

} // namespace heaptape
