#include "collector/contents/snapshot_desk.h"

#include <chrono>
#include <utility>

namespace heaptape {

namespace {

constexpr std::size_t kMostWaiting = 16;
constexpr std::size_t kMostPageBytes = std::size_t{16} << 20; // packed, on their way to the tape
constexpr std::size_t kBytesPerServe = std::size_t{1} << 20;  // so that the rings do not wait for the disk
constexpr auto kShortRest = std::chrono::microseconds(50);

} // namespace

SnapshotDesk::SnapshotDesk(pid_t pid, std::function<void()> wake, const wire::Header& header)
    : wake_(std::move(wake)), taker_(std::make_unique<SnapshotTaker>(pid, static_cast<SnapshotHost&>(*this), &header)) {
}

SnapshotDesk::~SnapshotDesk() {
  {
    const std::lock_guard lock(mutex_);
    phase_ = Phase::Closed;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool SnapshotDesk::ask(SnapshotTaker::Request request) {
  if (waiting_.size() >= kMostWaiting) return false;
  waiting_.push_back(std::move(request));
  if (!thread_.joinable()) start_next();
  return true;
}

void SnapshotDesk::start_next() {
  if (waiting_.empty()) return;
  request_ = std::move(waiting_.front());
  waiting_.pop_front();
  cut_.reset();
  is_copied_ = copied_is_told_ = false;
  refused_ = false;
  thread_ = std::thread([this] {
    Result<MemorySnapshot> snapshot = taker_->take(request_);
    {
      const std::lock_guard lock(mutex_);
      ended_.emplace(Ended{request_, std::move(snapshot)});
    }
    wake_();
  });
}

// The taker's side.

bool SnapshotDesk::attend() {
  std::unique_lock lock(mutex_);
  if (phase_ == Phase::Closed) return false;
  phase_ = Phase::WantsAttention;
  wake_();
  changed_.wait(lock, [&] { return phase_ == Phase::Attended || phase_ == Phase::Closed; });
  return phase_ == Phase::Attended;
}

std::optional<SnapshotCut> SnapshotDesk::cut() {
  std::unique_lock lock(mutex_);
  if (phase_ == Phase::Closed) return std::nullopt;
  phase_ = Phase::WantsCut;
  changed_.notify_all();
  changed_.wait(lock, [&] { return phase_ == Phase::HasCut || phase_ == Phase::Closed; });
  return phase_ == Phase::HasCut ? cut_ : std::nullopt;
}

void SnapshotDesk::let_go() {
  {
    const std::lock_guard lock(mutex_);
    if (phase_ != Phase::Closed) phase_ = Phase::Running;
  }
  changed_.notify_all();
}

void SnapshotDesk::let_end() {
  {
    const std::lock_guard lock(mutex_);
    is_copied_ = true;
  }
  wake_();
}

bool SnapshotDesk::write(std::vector<std::byte> pages) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return page_bytes_ < kMostPageBytes || refused_ || phase_ == Phase::Closed; });
  if (refused_ || phase_ == Phase::Closed) return false;
  page_bytes_ += pages.size();
  pages_.push_back(std::move(pages));
  if (page_bytes_ >= kBytesPerServe) wake_();
  return true;
}

// The recording's side.

void SnapshotDesk::attend_to(SnapshotWork& work, std::unique_lock<std::mutex>& lock) {
  number_ = taker_->next_number();
  phase_ = Phase::Attended;
  changed_.notify_all();
  while (phase_ == Phase::Attended || phase_ == Phase::WantsCut || phase_ == Phase::HasCut) {
    if (phase_ == Phase::WantsCut) {
      lock.unlock();
      SnapshotCut cut = work.cut();
      lock.lock();
      cut_ = std::move(cut);
      phase_ = Phase::HasCut;
      changed_.notify_all();
      continue;
    }
    // What is too much to be kept until the program runs again.
    if (phase_ == Phase::HasCut && !pages_.empty()) {
      write_some(work, lock);
      continue;
    }
    // Until all its threads stand still, the program may need room in its rings.
    const bool runs = phase_ == Phase::Attended;
    lock.unlock();
    if (runs) work.drain_a_little();
    lock.lock();
    changed_.wait_for(lock, kShortRest);
  }
  lock.unlock();
  work.moment_is_over(request_.name, cut_);
  lock.lock();
}

void SnapshotDesk::write_some(SnapshotWork& work, std::unique_lock<std::mutex>& lock) {
  for (std::size_t written = 0; !pages_.empty() && (written < kBytesPerServe || ended_);) {
    std::vector<std::byte> payload = std::move(pages_.front());
    pages_.pop_front();
    page_bytes_ -= payload.size();
    written += payload.size();
    lock.unlock();
    const bool taken = !refused_ && work.write_pages(std::move(payload));
    lock.lock();
    if (!taken) {
      refused_ = true;
      pages_.clear();
      page_bytes_ = 0;
    }
  }
  changed_.notify_all();
}

void SnapshotDesk::serve(SnapshotWork& work) {
  if (!thread_.joinable()) return start_next();
  std::unique_lock lock(mutex_);
  if (phase_ == Phase::WantsAttention) attend_to(work, lock);
  if (is_copied_ && !std::exchange(copied_is_told_, true)) work.is_copied(request_, number_);
  if (!pages_.empty()) write_some(work, lock);
}

bool SnapshotDesk::is_copied() {
  const std::lock_guard lock(mutex_);
  return is_copied_;
}

std::optional<SnapshotDesk::Ended> SnapshotDesk::take_ended() {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_ || !pages_.empty()) return std::nullopt;
  }
  thread_.join();
  std::optional<Ended> ended = std::exchange(ended_, std::nullopt);
  if (ended->snapshot && refused_) {
    taker_->begin_anew();
    ended->snapshot = Error{ErrorCode::Io, "the tape could not take the memory; the snapshot was dropped"};
  }
  return ended;
}

void SnapshotDesk::refuse_last() { taker_->begin_anew(); }

} // namespace heaptape
