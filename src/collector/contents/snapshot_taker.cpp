#include "collector/contents/snapshot_taker.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <thread>
#include <utility>

#include "collector/observe/maps_text.h"
#include "collector/observe/proc_files.h"
#include "collector/rings/tick_clock.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kSmall = 8 * kMiB;       // to copy this much, a stop of some milliseconds is the least trouble
constexpr std::uint64_t kMostShared = 64 * kMiB; // copied while the program stands still
constexpr std::uint64_t kSpare = 4;              // of the memory that is available we take at most this part
constexpr std::uint64_t kSmallMapping = 16 * kMiB;      // may be watched, however little of it is in use
constexpr std::uint64_t kSparse = 8;                    // others if at least this part of them is
constexpr std::uint64_t kMostCopiedGladly = 256 * kMiB; // while the program runs; if it writes much, more
constexpr int kMostRounds = 12;
constexpr std::uint64_t kFewPages = 1000; // left for the stop
constexpr std::uint64_t kWholeEvery = 16; // so that damage affects only a part of the snapshots
constexpr std::uint64_t kPageReadNs = 2'000, kCloneNsPerPage = 170, kLeastCloneNs = 2'000'000;
constexpr std::uint64_t kRunOnUs = 20, kRunOnPatienceNs = 10'000'000;

std::uint64_t pages_of(std::span<const PageRange> ranges) {
  std::uint64_t bytes = 0;
  for (const PageRange& range : ranges) bytes += range.end - range.begin;
  return bytes / kPageBytes;
}

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

UniqueFd open_pagemap(pid_t pid) {
  return UniqueFd(::open(("/proc/" + std::to_string(pid) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
}

const Error kEnded{ErrorCode::NotFound, "the program ended before the snapshot was finished"};

} // namespace

SnapshotTaker::SnapshotTaker(pid_t pid, SnapshotHost& host)
    : pid_(pid), host_(host), pagemap_(open_pagemap(pid)),
      store_([this](std::vector<std::byte> payload) { return host_.write(std::move(payload)); }) {}

void SnapshotTaker::begin_anew() {
  store_.forget();
  table_.clear();
  copied_.clear();
  last_runs_.clear();
  constants_.clear();
  watched_.clear();
  tracker_.reset(); // closing it ends the protection: all pages count as changed
  tried_tracker_ = false;
  anew_ = true;
}

bool SnapshotTaker::read_regions() {
  MapsText text;
  if (!read_text("/proc/" + std::to_string(pid_) + "/maps", [&](std::string_view part) { text.add(part, names_); }))
    return false;
  plan_ = plan_memory(text.take(), names_, wishes_.not_dumped);
  return true;
}

std::optional<MemoryWishes> SnapshotTaker::read_wishes() const {
  SmapsText text;
  if (!read_text("/proc/" + std::to_string(pid_) + "/smaps", [&](std::string_view part) { text.add(part); }))
    return std::nullopt;
  return text.take();
}

bool SnapshotTaker::look(bool with_not_dumped) {
  std::optional<MemoryWishes> wishes = read_wishes();
  if (!wishes) return false;
  wishes_ = std::move(*wishes);
  if (with_not_dumped) wishes_.not_dumped.clear();
  return read_regions();
}

std::uint64_t SnapshotTaker::resident_bytes() const {
  const std::optional<Sample> sample = ProcFiles(pid_).sample();
  return sample ? sample->anonymous_bytes : 0;
}

// A filter may kill a program that makes a system call it was not made for.
bool SnapshotTaker::can_inject() const { return !has_seccomp(pid_); }

bool SnapshotTaker::make_tracker() {
  if (tracker_ || std::exchange(tried_tracker_, true)) return tracker_.has_value();
  Result<StoppedProcess> stopped = StoppedProcess::stop_one_thread(pid_);
  if (stopped) tracker_ = PageTracker::make(pid_, stopped.value());
  return tracker_.has_value();
}

SnapshotMethod SnapshotTaker::choose(const Request& request) {
  const std::uint64_t resident = resident_bytes();
  const bool any = request.method == SnapshotMethod::Unknown;
  if (request.method == SnapshotMethod::Stop || (any && !tracker_ && resident < kSmall) || !can_inject())
    return SnapshotMethod::Stop;
  if (request.method != SnapshotMethod::Twin && make_tracker()) return SnapshotMethod::Live;
  // In the worst case everything is copied by the kernel, because the program writes to it.
  return available_bytes() > resident ? SnapshotMethod::Twin : SnapshotMethod::Stop;
}

void SnapshotTaker::put(std::uint64_t address, std::span<const std::byte> bytes) {
  if (bytes.empty()) return table_.set(address, PageState::Refused);
  for (std::size_t at = 0; at < bytes.size(); at += kPageBytes) {
    const PageStore::Stored stored = store_.add(bytes.subspan(at, kPageBytes));
    table_.set(address + at, stored.state, stored.value);
  }
}

void SnapshotTaker::forget(std::uint64_t begin, std::uint64_t end) {
  table_.clear(begin, end);
  copied_.forget(begin, end);
}

bool SnapshotTaker::store(pid_t from, std::span<const PageRange> ranges) {
  ProgramMemory memory(from);
  return memory.read(ranges, [&](std::uint64_t address, std::span<const std::byte> bytes) {
    copied_.forget(address, address + std::max<std::uint64_t>(bytes.size(), kPageBytes));
    put(address, bytes);
  });
}

bool SnapshotTaker::copy(std::span<const PageRange> ranges) {
  ProgramMemory memory(pid_);
  return memory.read(ranges, [&](std::uint64_t address, std::span<const std::byte> bytes) {
    if (bytes.empty()) {
      copied_.forget(address, address + kPageBytes);
      return put(address, bytes);
    }
    for (std::size_t at = 0; at < bytes.size(); at += kPageBytes) {
      const std::span<const std::byte> page = bytes.subspan(at, kPageBytes);
      if (!copied_.add(address + at, page)) put(address + at, page);
    }
  });
}

void SnapshotTaker::store_copied() {
  for (const PageRange& secret : wishes_.not_dumped) copied_.forget(secret.begin, secret.end);
  copied_.for_each([&](std::uint64_t address, std::span<const std::byte> page) { put(address, page); });
  copied_.clear();
}

// Pages of a private mapping that hold something.
std::vector<PageRange> SnapshotTaker::touched(const PlannedRegion& region) {
  // Its pages are the kernel's: there, though the program has never been to them.
  if (names_[region.range.name] == "[vdso]") return {region.addresses()};
  std::vector<PageRange> pages;
  // A file that is gone cannot be asked later: all of its pages count.
  const bool of_file = region.treatment == Treatment::Anonymous && region.range.name != 0;
  if (touched_pages(pagemap_.get(), region.addresses(), of_file, pages)) return pages;
  pages.clear();
  table_.set(region.range.begin, PageState::Refused); // too large to look for what it holds
  return pages;
}

std::vector<PageRange> SnapshotTaker::all_touched() {
  std::vector<PageRange> pages;
  for (const PlannedRegion& region : plan_) {
    if (!region.is_private() || (twin_.pid != 0 && overlaps(wishes_.not_forked, region.addresses()))) continue;
    forget(region.range.begin, region.range.end);
    const std::vector<PageRange> found = touched(region);
    pages.insert(pages.end(), found.begin(), found.end());
  }
  return pages;
}

std::vector<PageRange> SnapshotTaker::touched_but_not_in_twin() {
  std::vector<PageRange> pages;
  for (const PlannedRegion& region : plan_) {
    if (!region.is_private() || !overlaps(wishes_.not_forked, region.addresses())) continue;
    forget(region.range.begin, region.range.end);
    const std::vector<PageRange> found = touched(region);
    pages.insert(pages.end(), found.begin(), found.end());
  }
  return pages;
}

bool SnapshotTaker::is_known_constant(PageRange mapping) {
  const auto [known, is_new] = constants_.try_emplace(mapping.begin, mapping.end);
  return !is_new && std::exchange(known->second, mapping.end) == mapping.end;
}

// To protect a mapping, the kernel makes page tables for all of it: of a reservation of terabytes more than there is memory. A mapping of which
// little is in use is therefore not watched.
bool SnapshotTaker::may_watch(PageRange mapping, std::span<const PageRange> touched) {
  const std::uint64_t bytes = mapping.end - mapping.begin;
  return bytes <= kSmallMapping || pages_of(touched) * kPageBytes >= bytes / kSparse;
}

// Pages that the program has changed since the last call, all of what is new, and, if it stands still, all of what is not watched. What can be
// watched is from now on.
std::vector<PageRange> SnapshotTaker::take_changed(bool stands_still) {
  std::vector<PageRange> pages;
  for (const PlannedRegion& region : plan_) {
    if (!region.is_private()) continue;
    const PageRange mapping = region.addresses();
    // What the program may not write to was written by the loader, long ago, and is not watched: libraries are many.
    const bool is_constant = region.treatment == Treatment::File && (region.range.permissions & kMapWrite) == 0;
    if (is_constant && is_known_constant(mapping)) continue;
    const auto watched = watched_.find(mapping.begin);
    const bool is_watched = !is_constant && watched != watched_.end() && watched->second == mapping.end;
    std::vector<PageRange> found;
    if (is_watched && tracker_->take_changed(mapping, found)) {
      pages.insert(pages.end(), found.begin(), found.end());
      continue;
    }
    if (!is_constant) watched_.erase(mapping.begin);
    found = touched(region);
    if (!is_constant && !may_watch(mapping, found) && !stands_still) continue;
    if (!is_constant && may_watch(mapping, found) && tracker_->watch(mapping)) {
      std::vector<PageRange> protects;
      (void)tracker_->take_changed(mapping, protects);
      watched_[mapping.begin] = mapping.end;
      found = touched(region); // what came before it was protected is among these
    }
    forget(mapping.begin, mapping.end);
    pages.insert(pages.end(), found.begin(), found.end());
  }
  return pages;
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
    const std::vector<PageRange> pages = take_changed(false);
    const std::uint64_t count = pages_of(pages);
    const bool no_progress = count > before - before / 4;
    const bool hopeless =
        no_progress && (copied || count * kPageBytes > copied_.most_bytes()); // it writes as fast as we read
    if (hopeless && twin_takes_less(count)) {
      method = SnapshotMethod::Twin;
      return true;
    }
    copied = no_progress || count * kPageBytes <= kMostCopiedGladly;
    if (!(copied ? copy(pages) : store(pid_, pages)) || store_.failed()) return false;
    if (hopeless || count < kFewPages) return true;
    before = count;
  }
  return true;
}

std::vector<PageRange> SnapshotTaker::shared_pages() {
  std::vector<PageRange> pages;
  std::uint64_t left = kMostShared / kPageBytes;
  for (const PlannedRegion& region : plan_) {
    if (region.treatment != Treatment::Shared) continue;
    forget(region.range.begin, region.range.end);
    std::vector<PageRange> found;
    if (!touched_pages(pagemap_.get(), region.addresses(), true, found) || pages_of(found) > left) continue;
    left -= pages_of(found);
    pages.insert(pages.end(), found.begin(), found.end());
  }
  return pages;
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

// The mappings of a program that has executed another one are gone, and their table is empty.
bool SnapshotTaker::is_there() const {
  std::uint64_t entry = 0;
  return ::pread(pagemap_.get(), &entry, sizeof entry, 0) == sizeof entry;
}

struct SnapshotTaker::Moment {
  SnapshotMethod method = SnapshotMethod::Unknown;
  std::optional<SnapshotCut> cut{};
  std::vector<ThreadState> threads{};
  std::uint64_t pause_us = 0;
};

// A program that has written more than we thought it would: what is left of it is read from a twin, if that takes less time.
void SnapshotTaker::leave_to_twin_if_less_trouble(StoppedProcess& stopped, std::vector<PageRange>& pages) {
  if (!twin_takes_less(pages_of(pages))) return;
  twin_ = stopped.make_twin();
  if (twin_.pid == 0) return;
  const auto in_twin = std::partition(pages.begin(), pages.end(),
                                      [&](const PageRange& range) { return overlaps(wishes_.not_forked, range); });
  of_twin_.assign(in_twin, pages.end());
  pages.erase(in_twin, pages.end());
}

Result<> SnapshotTaker::copy_in_stop(StoppedProcess& stopped, const Request& request, Moment& moment) {
  SnapshotMethod& method = moment.method;
  // Of more than we can keep some is stored at once, which must not be a secret.
  const bool may_store = method == SnapshotMethod::Stop && resident_bytes() + kMostShared > copied_.most_bytes();
  if (may_store ? !look(request.with_not_dumped) : !read_regions()) return kEnded;
  if (!is_there()) return kEnded;
  const std::vector<PageRange> shared = shared_pages();
  std::vector<PageRange> pages;
  if (method == SnapshotMethod::Twin) {
    twin_ = stopped.make_twin();
    if (twin_.pid == 0) method = SnapshotMethod::Stop;
  }
  switch (method) {
  case SnapshotMethod::Twin: pages = touched_but_not_in_twin(); break; // it is asked itself for the rest, later
  case SnapshotMethod::Live:
    pages = take_changed(true);
    leave_to_twin_if_less_trouble(stopped, pages);
    break;
  default: pages = all_touched(); break;
  }
  if (!copy(pages) || !copy(shared)) return kEnded;
  return Unit{};
}

Result<> SnapshotTaker::take_moment(const Request& request, Moment& moment) {
  const std::uint64_t begin_ns = monotonic_ns();
  Result<StoppedProcess> stopped = StoppedProcess::stop(pid_);
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
    UniqueFd own = std::exchange(pagemap_, open_pagemap(twin_.pid));
    of_twin_ = all_touched();
    pagemap_ = std::move(own);
  }
  std::erase_if(of_twin_, [&](const PageRange& range) { return overlaps(wishes_.not_dumped, range); });
  const bool read = store(twin_.pid, of_twin_);
  StoppedProcess::end_twin(pid_, std::exchange(twin_, {}));
  of_twin_.clear();
  return read ? Result<>(Unit{}) : Result<>(kEnded);
}

std::vector<PageRun> SnapshotTaker::all_runs() {
  std::vector<PageRun> runs;
  std::uint64_t behind = 0;
  for (const PlannedRegion& region : plan_) {
    table_.clear(behind, region.range.begin); // what was unmapped
    behind = region.range.end;
    table_.append_runs(region.range.begin, region.range.end, region.otherwise(), runs);
  }
  return runs;
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
  const std::uint64_t pages_before = store_.pages_written();
  if (!look(request.with_not_dumped)) return kEnded;
  const std::string auxiliary = read_small_file("/proc/" + std::to_string(pid_) + "/auxv");
  MemorySnapshot snapshot;
  snapshot.name = request.name;
  snapshot.method = choose(request);
  copied_.clear();
  copied_.set_most_bytes(std::min(request.most_copied, available_bytes() / kSpare));
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
  store_copied();
  store_.flush();
  if (store_.failed()) {
    begin_anew();
    return Error{ErrorCode::Io, "the tape could not take the memory; the snapshot was dropped"};
  }
  std::vector<PageRun> runs = all_runs();
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
  snapshot.new_pages = store_.pages_written() - pages_before;
  snapshot.duration_us = (monotonic_ns() - begin_ns) / 1000;
  return snapshot;
}

} // namespace heaptape
