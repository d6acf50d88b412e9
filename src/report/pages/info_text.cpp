#include "report/pages/info_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/format_into.h"
#include "base/number_text.h"
#include "base/path_text.h"
#include "report/figures/pools.h"
#include "report/pages/loss_text.h"
#include "report/pages/memory_errors.h"
#include "report/pages/odd_calls.h"
#include "report/text/damage_text.h"
#include "report/text/inherited_text.h"

namespace heaptape {
namespace {

constexpr std::size_t kListed = 40; // pools, threads and modules

class InfoText {
public:
  InfoText(const TapeReader& tape, const TapeFacts& facts, bool list_all)
      : tape_(tape), facts_(facts), list_all_(list_all) {}

  std::string of(const std::string& name) {
    const TapeHeader& header = tape_.header();
    print("{}: {}, format {}\n\n", printable(name), exact_bytes_text(tape_.file_bytes()),
          header.damaged ? "unknown: the file header is damaged"
                         : fmt::format("{}.{}", header.version_major, header.version_minor));
    run();
    totals();
    losses();
    kinds();
    pools();
    threads();
    modules();
    blocks();
    return std::move(out_);
  }

private:
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    format_into(out_, format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void line(std::string_view label, fmt::format_string<Args...> format, Args&&... args) {
    print("  {:<12}", label);
    print(format, std::forward<Args>(args)...);
    print("\n");
  }

  std::string meta(const char* name) const {
    const auto entry = tape_.meta().find(name);
    return entry != tape_.meta().end() ? printable(entry->second) : std::string();
  }

  void run() {
    if (!meta("program").empty()) line("program", "{}", meta("program"));
    if (!meta("name").empty() && meta("name") != base_name(meta("program"))) line("started as", "{}", meta("name"));
    if (!facts_.command.empty()) line("command", "{}", command_text(facts_.command));
    if (!meta("directory").empty()) line("directory", "{}", meta("directory"));
    if (!meta("options").empty()) line("options", "{}", meta("options"));
    line("recorded", "{}, pid {}{}",
         tape_.header().damaged ? "at an unknown time" : local_time_text(tape_.header().start_realtime_ns),
         tape_.header().pid, meta("host").empty() ? "" : ", on " + meta("host"));
    line("duration", "{}", duration_text(facts_.summary.duration_us));
    line("ended", "{}", ending_text(facts_.summary, facts_.finished, facts_.abandoned));
  }

  void totals() {
    const Summary& summary = facts_.summary;
    print("\n");
    line("events", "{}, {:.2f} bytes each on the tape", with_separators(summary.events), facts_.bytes_per_event);
    line("allocated", "{} in {}", exact_bytes_text(summary.allocated_bytes),
         count_of(summary.allocated_blocks, "block"));
    line("peak", "{} at event {}, {} s", exact_bytes_text(summary.peak_bytes), summary.peak_event,
         seconds_text(summary.peak_us));
    line("still live", "{} in {}", exact_bytes_text(summary.live_bytes), count_of(summary.live_blocks, "block"));
    if (const CpuProfile& cpu = tape_.cpu(); !cpu.empty()) {
      line("CPU", "{} in {}; 'heaptape cpu' shows them", count_of(cpu.samples.size(), "sample"),
           count_of(cpu.segments.size(), "segment"));
    }
    if (facts_.peak_rss_bytes != 0)
      line("resident", "{} at most{}", bytes_text(facts_.peak_rss_bytes - facts_.recorder_bytes),
           facts_.recorder_bytes != 0 ? ", without " + bytes_text(facts_.recorder_bytes) + " of heaptape's own" : "");
    if (const auto& forks = tape_.forks(); !forks.empty()) {
      line("forks", "{}, the first after event {}; the children have tapes of their own",
           count_of(forks.size(), "fork"), with_separators(forks.front().event));
    }
    if (const std::string inherited = inheritance_text(tape_); !inherited.empty()) line("inherited", "{}", inherited);
    if (facts_.unknown_releases != 0 && tape_.odd_calls().calls.empty()) {
      line("unknown", "{} of what was no live block of this tape; 'heaptape verify' tells double frees",
           count_of(facts_.unknown_releases, "release"));
    }
    if (const std::string odd = odd_counts_text(tape_.odd_calls()); !odd.empty())
      line("odd calls", "{}; 'heaptape verify' lists them", odd);
    if (const std::string checks = checks_text(tape_.memory_errors()); !checks.empty()) line("checked", "{}", checks);
    if (summary.reordered != 0) {
      line("reordered", "{} put back in order because the clocks of two processors disagreed",
           count_of(summary.reordered, "event"));
    }
  }

  void losses() {
    std::string_view label = "lost";
    for (const auto& [name, count] : facts_.summary.losses) {
      line(label, "{}: {}", name, loss_sentence(name, count));
      label = "";
    }
    if (!facts_.finished)
      line(label, "unknown: only a finished tape says");
    else if (facts_.summary.losses.empty())
      line(label, "nothing{}", facts_.damage.empty() ? "" : " while recording; but the tape was damaged since");
    label = "not seen";
    for (const std::string& sentence : unseen_programs(tape_.meta())) {
      line(label, "{}", sentence);
      label = "";
    }
    if (facts_.damage.empty()) return;
    line("damaged", "{}", damage_sentence(facts_.damage, facts_.uncounted_events()));
    if (facts_.damage.places.size() < 2) return;
    for (const std::string& sentence : damage_sentences(facts_.damage.places)) line("", "{}", sentence);
  }

  void kinds() {
    print("\nEvents\n");
    for (std::size_t kind = 0; kind < facts_.summary.per_kind.size(); ++kind) {
      const std::uint64_t count = facts_.summary.per_kind[kind];
      if (count != 0) print("  {:>14}  {}\n", with_separators(count), kind_name(static_cast<EventKind>(kind)));
    }
  }

  void pools() {
    if (tape_.pools().empty()) return;
    print("\nPools\n");
    for (const Pool& pool : listed(tape_.pools())) {
      print("  {}{}\n", pool_name(tape_.pools(), pool.number), pool.kind == PoolKind::Function ? "  (--alloc-fn)" : "");
    }
    say_rest(tape_.pools().size());
  }

  void threads() {
    print("\nThreads\n");
    for (const Thread& thread : listed(tape_.threads())) {
      print("  T{:<5} tid {:<8} {:<16} from {} s{}\n", thread.id.value, thread.tid, printable(thread.name),
            seconds_text(thread.first_seen_us),
            thread.ended_us != 0 ? " to " + seconds_text(thread.ended_us) + " s" : "");
    }
    say_rest(tape_.threads().size());
  }

  void modules() {
    print("\nModules\n");
    for (const Module& module : listed(tape_.modules())) {
      const std::string id(module.build_id.begin(), module.build_id.end());
      print("  {:#014x}-{:#014x}  {:<40}  {}\n", module.start, module.end, id.empty() ? "no build-id" : hex_text(id),
            printable(module.path));
    }
    say_rest(tape_.modules().size());
  }

  void blocks() {
    print("\nSpace\n");
    for (const ChunkTypeSize& type : tape_.chunk_sizes()) {
      const double share = tape_.file_bytes() != 0
                               ? 100.0 * static_cast<double>(type.bytes) / static_cast<double>(tape_.file_bytes())
                               : 0;
      print("  {:>14} bytes {:5.1f} %  {} in {}\n", with_separators(type.bytes), share, type.name,
            count_of(type.chunks, "chunk"));
    }
  }

  template <class T>
  std::span<const T> listed(const std::vector<T>& all) const {
    return std::span(all).first(list_all_ ? all.size() : std::min(all.size(), kListed));
  }
  void say_rest(std::size_t count) {
    if (!list_all_ && count > kListed) print("  and {} more; --all lists them\n", with_separators(count - kListed));
  }

  const TapeReader& tape_;
  const TapeFacts& facts_;
  bool list_all_;
  std::string out_;
};

} // namespace

std::string info_text(const std::string& name, const TapeReader& tape, const TapeFacts& facts,
                      const InfoOptions& options) {
  return InfoText(tape, facts, options.list_all).of(name);
}

} // namespace heaptape
