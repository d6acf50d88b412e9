#include "collector/recording/footprint_follower.h"

#include <algorithm>
#include <utility>

namespace heaptape {

namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kFirstSampleAfter = kMs; // then ever farther apart, up to the next
constexpr std::uint64_t kFirstSampleEvery = 10 * kMs;
constexpr std::uint64_t kSamplesPerSpacing = 512; // then twice as far apart: an hour makes 5,000, a week 9,000
constexpr std::size_t kSamplesPerChunk = 256;

} // namespace

FootprintFollower::FootprintFollower(const ProcFiles& proc, const TickClock& clock, TapeSink& sink,
                                     RunTimeWatch& run_time, const wire::Header& header)
    : proc_(proc), clock_(clock), sink_(sink), run_time_(run_time), maps_(proc.pid(), &header), pages_(proc.pid()),
      sample_every_ns_(kFirstSampleAfter) {}

bool FootprintFollower::sample_when_due(std::uint64_t now_ns) {
  if (now_ns < next_sample_ns_) return false;
  sample();
  next_sample_ns_ = now_ns + sample_every_ns_;
  return ran_;
}

void FootprintFollower::note_cpu_time(const Sample& sample) {
  const std::uint64_t now_ns = monotonic_ns(), used_us = sample.cpu_us - std::min(cpu_us_, sample.cpu_us);
  ran_ = used_us != 0 || sample.cpu_us == 0; // the kernel may not say
  ran_since_maps_ |= ran_;
  if (used_us * 1000 * 100 > now_ns - sampled_ns_) last_busy_ns_ = now_ns;
  cpu_us_ = sample.cpu_us;
  sampled_ns_ = now_ns;
}

void FootprintFollower::sample() {
  std::optional<Sample> sample = proc_.sample();
  if (!sample) return;
  sample->time_us = clock_.plain_us(clock_.now());
  samples_.push_back(*sample);
  note_cpu_time(*sample);
  virtual_bytes_ = sample->virtual_bytes;
  if (sample->rss_bytes != rss_bytes_) peak_rss_bytes_ = std::max(peak_rss_bytes_, proc_.peak_rss_bytes());
  rss_bytes_ = sample->rss_bytes;
  pages_wanted_ |= !pages_.looking() && pages_pace_.due(monotonic_ns(), rss_bytes_);
  if (samples_.size() >= kSamplesPerChunk) write_samples();
  if (++samples_taken_ % kSamplesPerSpacing == 0) sample_every_ns_ *= 2;
  if (sample_every_ns_ < kFirstSampleEvery)
    sample_every_ns_ = std::min(kFirstSampleEvery, sample_every_ns_ + sample_every_ns_ / 4);
}

// A few thousand mappings at a time, so that the rings do not wait.
void FootprintFollower::look(std::uint64_t now_ns, bool busy) {
  if (failed() || !sink_.has_tape()) return;
  const std::uint64_t most_ns = busy ? 2 * kMs : 20 * kMs;
  if (pages_.looking()) return look_at_pages(most_ns);
  if (!maps_.reading()) {
    if (!pages_wanted_ && !(ran_since_maps_ && maps_pace_.due(now_ns, virtual_bytes_))) return;
    // Stamped before it is read: what is mapped meanwhile has an event behind it.
    maps_.begin(clock_.plain_us(clock_.now()));
    ran_since_maps_ = false;
  }
  read_maps(now_ns, most_ns);
}

void FootprintFollower::read_maps(std::uint64_t now_ns, std::uint64_t most_ns) {
  const std::optional<MapsChange> change = maps_.go_on(most_ns);
  if (maps_.reading()) return;
  maps_pace_.asked(now_ns, maps_.cost_ns(), virtual_bytes_, change.has_value());
  if (change) {
    run_time_.look_at_mapped(maps_.names());
    const std::uint64_t number = maps_.moments() - 1;
    sink_.write([&](TapeWriter& writer) { return writer.add_maps(number, *change, maps_.names()); });
  }
  if (!std::exchange(pages_wanted_, false)) return;
  const std::optional<Sample> sample = proc_.sample();
  if (!sample || sample->rss_bytes == 0) return;
  Residency begun{.time_us = clock_.plain_us(clock_.now()), .rss_bytes = sample->rss_bytes};
  pages_.begin(maps_.ranges(), maps_.names());
  begun_look_ = std::move(begun);
}

void FootprintFollower::finish_looking() {
  while (maps_.reading() && !failed()) read_maps(monotonic_ns(), 20 * kMs);
  while (pages_.looking() && !failed()) look_at_pages(20 * kMs);
}

// One that the program left before its end, or in which it gave most of its memory back, says nothing.
void FootprintFollower::look_at_pages(std::uint64_t most_ns) {
  std::optional<ResidentPages::Look> found = pages_.go_on(most_ns);
  if (pages_.looking()) return;
  pages_pace_.looked(pages_.cost_ns(), begun_look_.rss_bytes);
  if (!found) return;
  std::uint64_t bytes = 0;
  for (const ResidentRun& run : found->runs) bytes += run.bytes();
  const bool shrank = bytes < begun_look_.rss_bytes - begun_look_.rss_bytes / 10;
  if (found->whole && shrank && had_look_) return;
  begun_look_.whole = found->whole;
  begun_look_.runs = std::move(found->runs);
  look_ = std::move(begun_look_);
  had_look_ = true;
}

// Only the last look is of use, so it waits until it may be the last, or the tape is to be read.
void FootprintFollower::write_residency() {
  if (!look_ && peak_rss_bytes_ <= peak_rss_written_) return;
  sink_.write([&](TapeWriter& writer) { return writer.add_residency(look_ ? &*look_ : nullptr, peak_rss_bytes_); });
  look_.reset();
  peak_rss_written_ = peak_rss_bytes_;
}

void FootprintFollower::write_samples() {
  if (!samples_.empty()) sink_.write([&](TapeWriter& writer) { return writer.add_samples(samples_); });
  samples_.clear();
}

void FootprintFollower::look_at_all() {
  finish_looking(); // what was begun may lack what has come since
  pages_wanted_ |= pages_pace_.is_news(rss_bytes_);
  maps_.begin(clock_.plain_us(clock_.now()));
  finish_looking();
}

} // namespace heaptape
