#include "report/export/heaptrack.h"

#include <charconv>
#include <iterator>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/heap/heap_state.h"
#include "base/mix.h"
#include "tape/memory_snapshot.h"

namespace heaptape {
namespace {

constexpr unsigned kHeaptrackVersion = 0x10400; // the version whose files these are like
constexpr unsigned kFileVersion = 3;
constexpr std::uint64_t kTickUs = 10'000; // heaptrack's resolution

using NumberPair = std::pair<std::uint64_t, std::uint64_t>;
struct PairHash {
  std::size_t operator()(const NumberPair& pair) const {
    return (mix(pair.first) + pair.second) * 0xc2b2ae3d27d4eb4f >> 13;
  }
};
using PairNumbers = std::unordered_map<NumberPair, std::uint64_t, PairHash>;

// Writes a text, an address, a stack or a pair of size and stack when it is first needed, and gives its number. All
// count from 1 but the pairs.
class Tables {
public:
  Tables(const ExportInput& input, Sink& sink)
      : names_(input.names), sink_(sink), stacks_(input.tape.stacks().size(), kUnknown) {}

  std::uint64_t allocation(std::uint64_t size, StackId stack) {
    const std::uint64_t trace = trace_of(stack);
    const auto [found, added] = allocations_.try_emplace({size, trace}, allocations_.size());
    if (added) sink_.print("a {:x} {:x}\n", size, trace);
    return found->second;
  }

private:
  // 0: no frames.
  std::uint64_t trace_of(StackId stack) {
    std::uint64_t& known = stacks_[stack.value];
    if (known != kUnknown) return known;
    const std::vector<FrameId> frames = names_.frames_of(stack);
    std::uint64_t trace = 0;
    for (std::size_t end = frames.size(); end > 0;) {
      // A frame and those inlined in it are one address.
      std::size_t first = end - 1;
      while (first > 0 && names_[frames[first - 1]].inlined) --first;
      trace = node_of(trace, ip_of({frames.data() + first, end - first}));
      end = first;
    }
    return known = trace;
  }

  std::uint64_t node_of(std::uint64_t parent, std::uint64_t ip) {
    const auto [found, added] = traces_.try_emplace({ip, parent}, traces_.size() + 1);
    if (added) sink_.print("t {:x} {:x}\n", ip, parent);
    return found->second;
  }

  std::uint64_t ip_of(std::span<const FrameId> frames) {
    const auto known = ips_.find(frames.front());
    if (known != ips_.end()) return known->second;
    const NamedFrame& outer = names_[frames.back()];
    const std::uint64_t module = outer.module != nullptr ? text(outer.module->path) : 0;
    const std::uint64_t bias = outer.module != nullptr ? outer.module->load_bias : 0;
    std::string places;
    for (const FrameId frame : frames) {
      const NamedFrame& named = names_[frame];
      if (named.linkage_name.empty()) break; // nothing is known
      const std::uint64_t function = text(names_.full_name(frame));
      places += fmt::format(" {:x}", function);
      const std::uint64_t file = text(names_.text(named.file));
      // A function alone may only be the last.
      if (file != 0 || frames.size() > 1) places += fmt::format(" {:x} {:x}", file, named.line);
    }
    // Theirs is the address of the call, ours where it returns to.
    sink_.print("i {:x} {:x}{}\n", inside_the_call(outer.offset + bias), module, places);
    return ips_.emplace(frames.front(), ips_.size() + 1).first->second;
  }

  std::uint64_t text(std::string_view wanted) {
    if (wanted.empty()) return 0;
    const auto [found, added] = texts_.try_emplace(one_line(wanted), texts_.size() + 1);
    if (added) sink_.print("s {:x} {}\n", found->first.size(), found->first);
    return found->second;
  }

  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  StackNames& names_;
  Sink& sink_;
  std::vector<std::uint64_t> stacks_; // by id: the number of the trace
  PairNumbers traces_;
  PairNumbers allocations_;
  std::unordered_map<FrameId, std::uint64_t> ips_; // by first frame
  std::unordered_map<std::string, std::uint64_t> texts_;
};

// Tells heaptrack what becomes of the blocks.
class Writer : public HeapListener {
public:
  Writer(const ExportInput& input, const OwnerTable& owners, Sink& sink)
      : owners_(owners), samples_(input.tape.samples()), tables_(input, sink), sink_(sink) {}

  void made(const Block& block) { tell('+', block); }
  void ended(const Block& block, const Event&) { tell('-', block); }
  void given_up(const Block& block, const Event&) { tell('-', block); }

  void before(const Event& event) {
    if (event.time_us >= next_tick_us_) tell_time(event.time_us);
  }
  void tell_time(std::uint64_t time_us) {
    sink_.print("c {:x}\n", time_us / 1000);
    next_tick_us_ = time_us / kTickUs * kTickUs + kTickUs;
    for (; sample_ < samples_.size() && samples_[sample_].time_us <= time_us; ++sample_) {
      sink_.print("R {:x}\n", samples_[sample_].rss_bytes / kPageBytes);
    }
  }

private:
  // One line of very many: written by hand.
  void tell(char what, const Block& block) {
    const std::uint64_t number =
        tables_.allocation(block.size, owners_[block.owner].stack); // may write lines of its own
    char line[32] = {what, ' '};
    char* end = std::to_chars(line + 2, std::end(line), number, 16).ptr;
    *end++ = '\n';
    sink_.add({line, static_cast<std::size_t>(end - line)});
  }

  const OwnerTable& owners_;
  const std::vector<Sample>& samples_;
  Tables tables_;
  Sink& sink_;
  std::uint64_t next_tick_us_ = kTickUs;
  std::size_t sample_ = 0;
};

} // namespace

void export_heaptrack(const ExportInput& input, Sink& sink) {
  sink.print("v {:x} {:x}\nX {}\nI {:x} 0\n", kHeaptrackVersion, kFileVersion, command_of(input.tape), kPageBytes);
  HeapState state;
  Writer writer(input, state.owners(), sink);
  EventCursor events = input.tape.events();
  while (const Event* event = events.next()) {
    writer.before(*event);
    state.apply(*event, writer);
    if (sink.failed()) return;
  }
  writer.tell_time(duration_us(input));
}

} // namespace heaptape
