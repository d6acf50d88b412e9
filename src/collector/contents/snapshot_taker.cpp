#include "collector/contents/snapshot_taker.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <thread>
#include <utility>

#include "collector/observe/maps_text.h"
#include "collector/observe/proc_files.h"
#include "collector/observe/recorder_memory.h"
#include "collector/rings/tick_clock.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kSmall = 8 * kMiB; // to copy this much, a stop of some milliseconds is the least trouble
constexpr std::uint64_t kSpare = 4;        // of the memory that is available we take at most this part
constexpr std::uint64_t kMostCopiedGladly = 256 * kMiB; // while the program runs; if it writes much, more
constexpr int kMostRounds = 12;
constexpr std::uint64_t kFewPages = 1000; // left for the stop
constexpr std::uint64_t kWholeEvery = 16; // so that damage affects only a part of the snapshots
constexpr std::uint64_t kPageReadNs = 2'000, kCloneNsPerPage = 170, kLeastCloneNs = 2'000'000;
constexpr std::uint64_t kRunOnUs = 20, kRunOnPatienceNs = 10'000'000;

// Calls add(text) for the file, piece by piece. False: it cannot be read.
template <class Add>
bool read_text(const std::string& path, Add add) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  constexpr std::uint64_t kMost = 256 * kMiB;
  std::vector<char> buffer(std::size_t{64} << 10);
  for (std::uint64_t total = 0; total < kMost;) {
    const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
    if (size <= 0) return size == 0 && total != 0;
    add(std::string_view(buffer.data(), static_cast<std::size_t>(size)));
    total += static_cast<std::uint64_t>(size);
  }
  return true;
}

std::uint64_t available_bytes() {
  const std::string text = read_small_file("/proc/meminfo");
  const std::size_t at = text.find("MemAvailable:");
  if (at == std::string::npos) return 0;
  const std::size_t digit = text.find_first_of("0123456789", at);
  std::uint64_t kib = 0;
  if (digit != std::string::npos) std::from_chars(text.data() + digit, text.data() + text.size(), kib);
  return kib * 1024;
}

const Error kEnded{ErrorCode::NotFound, "the program ended before the snapshot was finished"};

} // namespace

SnapshotTaker::SnapshotTaker(pid_t pid, SnapshotHost& host, const wire::Header* header)
    : pid_(pid), host_(host), header_(header),
      pages_([this](std::vector<std::byte> payload) { return host_.write(std::move(payload)); }),
      finder_(pid, names_, pages_, calls_) {}

void SnapshotTaker::begin_anew() {
  pages_.begin_anew();
  finder_.begin_anew();
  last_runs_.clear();
  anew_ = true;
}

bool SnapshotTaker::read_regions() {
  MapsText text;
  if (!read_text("/proc/" + std::to_string(memory_pid_) + "/maps",
                 [&](std::string_view part) { text.add(part, names_); }))
    return false;
  std::vector<MappedRange> ranges = text.take();
  if (header_ != nullptr) name_recorder_memory(ranges, names_, *header_);
  plan_ = plan_memory(ranges, names_, wishes_.not_dumped);
  return true;
}

std::optional<MemoryWishes> SnapshotTaker::read_wishes() const {
  SmapsText text;
  if (!read_text("/proc/" + std::to_string(memory_pid_) + "/smaps", [&](std::string_view part) { text.add(part); }))
    return std::nullopt;
  return text.take();
}

bool SnapshotTaker::look(bool with_not_dumped) {
  std::optional<MemoryWishes> wishes = read_wishes();
  if (!wishes) return false;
  wishes_ = std::move(*wishes);
  if (with_not_dumped) wishes_.not_dumped.clear();
  wishes_are_new_ = true;
  return read_regions();
}

// To ask, the kernel looks at every page of the program. Of one that is watched nothing is packed before it stood still and was asked then, so those
// of the last snapshot will do.
bool SnapshotTaker::look_quickly(const Request& request) {
  wishes_are_new_ = false;
  return anew_ || request.with_not_dumped || !finder_.watches() ? look(request.with_not_dumped) : read_regions();
}

// Of what is more than we can keep some is packed at once, which must not be a secret.
bool SnapshotTaker::drop_secrets_of(std::vector<PageRange>& pages, bool at_once) {
  copied_ += pages_of(pages);
  if (wishes_are_new_ || (!at_once && copied_ * kPageBytes <= pages_.most_copied())) return true;
  if (!look(false)) return false;
  pages = without(pages, wishes_.not_dumped);
  return true;
}

std::uint64_t SnapshotTaker::resident_bytes() const {
  const std::optional<Sample> sample = ProcFiles(memory_pid_).sample();
  return sample ? sample->anonymous_bytes : 0;
}

// A filter may kill a program that makes a system call it was not made for.
bool SnapshotTaker::can_inject() const { return !has_seccomp(pid_); }

SnapshotMethod SnapshotTaker::choose(const Request& request) {
  const std::uint64_t resident = resident_bytes();
  const bool any = request.method == SnapshotMethod::Unknown;
  if (request.method == SnapshotMethod::Stop || (any && !finder_.watches() && resident < kSmall) || !can_inject())
    return SnapshotMethod::Stop;
  if (request.method != SnapshotMethod::Twin && finder_.can_watch()) return SnapshotMethod::Live;
  // In the worst case everything is copied by the kernel, because the program writes to it.
  return available_bytes() > resident ? SnapshotMethod::Twin : SnapshotMethod::Stop;
}

bool SnapshotTaker::twin_takes_less(std::uint64_t pages) {
  const std::uint64_t read_ns = pages * kPageReadNs;
  if (read_ns < kLeastCloneNs) return false;
  const std::uint64_t resident = resident_bytes();
  return read_ns > resident / kPageBytes * kCloneNsPerPage + kLeastCloneNs && available_bytes() > resident;
}

bool SnapshotTaker::copy_while_running(SnapshotMethod& method) {
  std::uint64_t before = ~std::uint64_t{0}; // pages of the round before
  bool copied = false;                      // and whether it did not wait for their packing
  for (int round = 0; round < kMostRounds; ++round) {
    if (round != 0 && !read_regions()) return false;
    std::vector<PageRange> pages = finder_.take_changed(plan_, false);
    const std::uint64_t count = pages_of(pages);
    const bool no_progress = count > before - before / 4;
    const bool hopeless =
        no_progress && (copied || count * kPageBytes > pages_.most_copied()); // it writes as fast as we read
    if (hopeless && twin_takes_less(count)) {
      method = SnapshotMethod::Twin;
      return wishes_are_new_ || look(false);
    }
    copied = no_progress || count * kPageBytes <= kMostCopiedGladly;
    if (!drop_secrets_of(pages, !copied)) return false;
    if (!(copied ? pages_.copy(memory_pid_, pages) : pages_.store(memory_pid_, pages)) || pages_.failed()) return false;
    if (hopeless || count < kFewPages) return true;
    before = count;
  }
  return true;
}

// A thread between the two halves of a realloc may have moved a block to where nobody knows it: it runs on until it is through.
std::optional<SnapshotCut> SnapshotTaker::find_cut(StoppedProcess& stopped) {
  std::optional<SnapshotCut> cut = host_.cut();
  const std::uint64_t until_ns = monotonic_ns() + kRunOnPatienceNs;
  while (cut && !cut->moving.empty() && monotonic_ns() < until_ns) {
    bool ran = false;
    for (const SnapshotCut::Moving& moving : cut->moving) ran |= stopped.let_run(moving.thread, kRunOnUs);
    if (!ran) break;
    cut = host_.cut();
  }
  return cut;
}

struct SnapshotTaker::Moment {
  SnapshotMethod method = SnapshotMethod::Unknown;
  std::optional<SnapshotCut> cut{};
  std::vector<ThreadState> threads{};
  std::uint64_t pause_us = 0;
};

// A program that has written more than we thought it would: what is left of it is read from a twin, if that takes less time.
bool SnapshotTaker::leave_to_twin_if_less_trouble(StoppedProcess& stopped, std::vector<PageRange>& pages) {
  if (!twin_takes_less(pages_of(pages))) return true;
  if (!wishes_are_new_ && !look(false)) return false;
  twin_ = stopped.make_twin();
  if (twin_.pid == 0) return true;
  const auto in_twin = std::partition(pages.begin(), pages.end(),
                                      [&](const PageRange& range) { return overlaps(wishes_.not_forked, range); });
  of_twin_.assign(in_twin, pages.end());
  pages.erase(in_twin, pages.end());
  return true;
}

Result<> SnapshotTaker::copy_in_stop(StoppedProcess& stopped, const Request& request, Moment& moment) {
  SnapshotMethod& method = moment.method;
  // Of more than we can keep some is stored at once, which must not be a secret.
  const bool may_store =
      method == SnapshotMethod::Stop && resident_bytes() + PageFinder::kMostSharedBytes > pages_.most_copied();
  if (may_store ? !look(request.with_not_dumped) : !read_regions()) return kEnded;
  if (!finder_.is_there()) return kEnded;
  const std::vector<PageRange> shared = finder_.shared(plan_);
  std::vector<PageRange> pages;
  if (method == SnapshotMethod::Twin) {
    twin_ = stopped.make_twin();
    if (twin_.pid == 0) method = SnapshotMethod::Stop;
  }
  switch (method) {
  case SnapshotMethod::Twin:
    pages = finder_.touched_in(plan_, wishes_.not_forked);
    break; // it is asked itself for the rest, later
  case SnapshotMethod::Live:
    pages = finder_.take_changed(plan_, true);
    if (!leave_to_twin_if_less_trouble(stopped, pages)) return kEnded;
    break;
  default: pages = finder_.all_touched(plan_); break;
  }
  if (!drop_secrets_of(pages, false) || !pages_.copy(memory_pid_, pages) || !pages_.copy(memory_pid_, shared))
    return kEnded;
  return Unit{};
}

Result<> SnapshotTaker::take_moment(const Request& request, Moment& moment) {
  const std::uint64_t begin_ns = monotonic_ns();
  Result<StoppedProcess> stopped = StoppedProcess::stop(pid_, calls_);
  if (stopped) moment.cut = find_cut(stopped.value());
  Result<> done = !stopped ? Result<>(stopped.error()) : moment.cut ? Result<>(Unit{}) : Result<>(kEnded);
  if (done) done = copy_in_stop(stopped.value(), request, moment);
  if (done) moment.threads = stopped.value().states();
  if (done && request.asked_by) request.asked_by->put_into(moment.threads, pid_);
  if (stopped) stopped.value().release();
  host_.let_go();
  moment.pause_us = (monotonic_ns() - begin_ns) / 1000;
  return done;
}

Result<> SnapshotTaker::finish_twin(SnapshotMethod method) {
  if (twin_.pid == 0) return Unit{};
  if (method == SnapshotMethod::Twin) {
    // What it holds is found here and not while the program stands still, which would take longer than to make it.
    of_twin_ = finder_.all_touched_of_twin(twin_.pid, plan_, wishes_.not_forked);
  }
  std::erase_if(of_twin_, [&](const PageRange& range) { return overlaps(wishes_.not_dumped, range); });
  const bool read = pages_.store(twin_.pid, of_twin_);
  StoppedProcess::end_twin(pid_, std::exchange(twin_, {}), calls_);
  of_twin_.clear();
  return read ? Result<>(Unit{}) : Result<>(kEnded);
}

// What was mapped a moment ago may be a secret; of what was copied in the stop or is in a twin nothing has been stored yet.
bool SnapshotTaker::leave_out_secrets() {
  std::optional<MemoryWishes> wishes = read_wishes();
  if (!wishes) return false;
  wishes_ = std::move(*wishes);
  for (PlannedRegion& region : plan_) {
    if (region.is_private() && overlaps(wishes_.not_dumped, region.addresses())) region.treatment = Treatment::LeftOut;
  }
  return true;
}

Result<MemorySnapshot> SnapshotTaker::take(const Request& request) {
  const std::uint64_t begin_ns = monotonic_ns();
  const std::uint64_t pages_before = pages_.written();
  memory_pid_ = living_thread(pid_);
  if (!look_quickly(request)) return kEnded;
  const std::string auxiliary = read_small_file("/proc/" + std::to_string(memory_pid_) + "/auxv");
  MemorySnapshot snapshot;
  snapshot.name = request.name;
  snapshot.method = choose(request);
  if (snapshot.method != SnapshotMethod::Live && !wishes_are_new_ && !look(false)) return kEnded;
  copied_ = 0;
  pages_.begin(std::min(request.most_copied, available_bytes() / kSpare));
  if ((snapshot.method == SnapshotMethod::Live && !copy_while_running(snapshot.method)) || !host_.attend()) {
    begin_anew();
    return kEnded;
  }
  Moment moment{.method = snapshot.method};
  Result<> done = Unit{};
  // A twin, and a thread that could not be stopped in time, are ours until the thread ends that stopped the program.
  std::thread([&] {
    done = take_moment(request, moment);
    if (done && !request.with_not_dumped && !leave_out_secrets()) done = kEnded;
    if (done) host_.let_end();
    const Result<> twin_read = finish_twin(moment.method);
    if (done) done = twin_read;
  }).join();
  if (!done) {
    begin_anew();
    return done.error();
  }
  snapshot.method = moment.method;
  snapshot.pause_us = moment.pause_us;
  snapshot.threads = std::move(moment.threads);
  snapshot.auxiliary.assign(std::as_bytes(std::span(auxiliary)).begin(), std::as_bytes(std::span(auxiliary)).end());
  if (!pages_.store_copied(wishes_.not_dumped)) {
    begin_anew();
    return Error{ErrorCode::Io, "the tape could not take the memory; the snapshot was dropped"};
  }
  std::vector<PageRun> runs = pages_.runs(plan_);
  snapshot.number = ++number_;
  snapshot.event = moment.cut->event;
  snapshot.time_us = moment.cut->time_us;
  snapshot.live = moment.cut->live;
  for (const SnapshotCut::Moving& moving : moment.cut->moving) snapshot.in_flight.push_back(moving.block);
  for (const PlannedRegion& region : plan_) {
    if (region.treatment != Treatment::Skip) snapshot.regions.push_back(region.range);
  }
  snapshot.whole = std::exchange(anew_, false) || number_ % kWholeEvery == 1;
  snapshot.runs = snapshot.whole ? runs : page_changes(last_runs_, runs);
  last_runs_ = std::move(runs);
  snapshot.new_pages = pages_.written() - pages_before;
  snapshot.duration_us = (monotonic_ns() - begin_ns) / 1000;
  return snapshot;
}

} // namespace heaptape
