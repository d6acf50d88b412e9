#include "report/export/massif.h"

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/path_text.h"
#include "report/export/quantity.h"

namespace heaptape {
namespace {

struct Snapshot {
  std::uint64_t time_us = 0;
  std::uint64_t bytes = 0;
  std::vector<CostOfStack> detail{}; // empty: none
  bool peak = false;
};

// A stack's share of a snapshot; its frames are innermost first.
struct Share {
  const std::vector<FrameId>* frames;
  std::uint64_t bytes;
};

// Writes callers below callees, as massif prints them. Only goes where enough bytes are, so that the many small places
// of a large program cost nothing.
class TreeWriter {
public:
  TreeWriter(StackNames& names, double threshold_percent, Sink& sink)
      : names_(names), threshold_percent_(threshold_percent), sink_(sink) {}

  void write(std::span<const CostOfStack> costs) {
    std::vector<Share> shares;
    std::uint64_t bytes = 0;
    for (const CostOfStack& entry : costs) {
      shares.push_back({&frames_of(entry.stack), entry.cost.bytes});
      bytes += entry.cost.bytes;
    }
    // 64 bits times 100 would not fit.
    least_bytes_ = static_cast<std::uint64_t>(static_cast<double>(bytes) * threshold_percent_ / 100);
    write_place(shares, bytes, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.", 0);
  }

private:
  struct Caller {
    FrameId frame;
    std::uint64_t bytes = 0;
    std::vector<Share> shares{};
  };

  const std::vector<FrameId>& frames_of(StackId stack) {
    const auto [found, added] = frames_.try_emplace(stack);
    if (added) found->second = names_.frames_of(stack);
    return found->second;
  }

  // By the frame at this depth, the most expensive first.
  static std::vector<Caller> callers_of(const std::vector<Share>& shares, std::size_t depth) {
    std::vector<Caller> callers;
    std::unordered_map<FrameId, std::size_t> places;
    for (const Share& share : shares) {
      if (depth >= share.frames->size() || share.bytes == 0) continue;
      const FrameId frame = (*share.frames)[depth];
      const auto [place, added] = places.try_emplace(frame, callers.size());
      if (added) callers.push_back({frame});
      callers[place->second].bytes += share.bytes;
      callers[place->second].shares.push_back(share);
    }
    std::stable_sort(callers.begin(), callers.end(),
                     [](const Caller& a, const Caller& b) { return a.bytes > b.bytes; });
    return callers;
  }

  void write_place(const std::vector<Share>& shares, std::uint64_t bytes, const std::string& label, std::size_t depth) {
    const std::vector<Caller> callers = callers_of(shares, depth);
    const auto first_small =
        std::find_if(callers.begin(), callers.end(), [&](const Caller& caller) { return caller.bytes < least_bytes_; });
    const auto small = static_cast<std::size_t>(callers.end() - first_small);
    const std::size_t lines = callers.size() - small + (small != 0 ? 1 : 0);
    sink_.print("{:{}}n{}: {} {}\n", "", depth, lines, bytes, label);
    std::uint64_t small_bytes = 0;
    for (auto caller = callers.begin(); caller != callers.end(); ++caller) {
      if (caller < first_small)
        write_place(caller->shares, caller->bytes, label_of(caller->frame), depth + 1);
      else
        small_bytes += caller->bytes;
    }
    if (small == 0) return;
    sink_.print("{:{}}n0: {} in {} place{}, {} massif's threshold ({:.2f}%)\n", "", depth + 1, small_bytes, small,
                small == 1 ? "" : "s", small == 1 ? "below" : "all below", threshold_percent_);
  }

  // "0x109422: push_back (stl_vector.h:378)", as valgrind writes a frame.
  std::string label_of(FrameId id) const {
    const NamedFrame& frame = names_[id];
    const std::string function = one_line(frame.linkage_name.empty() ? "???" : names_.text(frame.function));
    const std::string_view file = names_.text(frame.file);
    if (!file.empty() && frame.line != 0)
      return fmt::format("0x{:X}: {} ({}:{})", frame.offset, function, one_line(base_name(file)), frame.line);
    return fmt::format("0x{:X}: {} (in {})", frame.offset, function,
                       one_line(frame.module != nullptr ? frame.module->path : "?"));
  }

  StackNames& names_;
  double threshold_percent_;
  Sink& sink_;
  std::unordered_map<StackId, std::vector<FrameId>> frames_;
  std::uint64_t least_bytes_ = 0;
};

std::vector<Snapshot> snapshots_of(const Findings& findings) {
  std::vector<Snapshot> snapshots{{}};
  const TimelineLevel& level = findings.timeline.levels.front();
  for (std::size_t i = 0; i < level.buckets.size(); ++i) {
    snapshots.push_back({std::min((i + 1) * level.bucket_us - 1, findings.end_us), level.buckets[i].last_bytes});
  }
  for (std::size_t moment = 0; moment < kGrowthMoments; ++moment) {
    Snapshot snapshot{findings.growth.moments_us[moment], 0};
    for (const StackGrowth& stack : findings.growth.stacks) {
      if (stack.live[moment] == Cost{}) continue;
      snapshot.detail.push_back({stack.stack, stack.live[moment]});
      snapshot.bytes += stack.live[moment].bytes;
    }
    snapshots.push_back(std::move(snapshot));
  }
  snapshots.push_back({findings.totals.peak_us, findings.totals.peak_bytes, costs_of(findings, Quantity::Peak), true});
  std::stable_sort(snapshots.begin(), snapshots.end(),
                   [](const Snapshot& a, const Snapshot& b) { return a.time_us < b.time_us; });
  // At one moment the peak says more than a detailed snapshot, and that more than a plain one.
  std::vector<Snapshot> kept;
  const auto weight = [](const Snapshot& s) { return (s.peak ? 2 : 0) + (s.detail.empty() ? 0 : 1); };
  for (Snapshot& snapshot : snapshots) {
    const bool same = !kept.empty() && kept.back().time_us == snapshot.time_us && !kept.back().peak && !snapshot.peak;
    if (!same)
      kept.push_back(std::move(snapshot));
    else if (weight(snapshot) >= weight(kept.back()))
      kept.back() = std::move(snapshot);
  }
  return kept;
}

} // namespace

void export_massif(const ExportInput& input, const MassifOptions& options, Sink& sink) {
  sink.print("desc: heaptape\ncmd: {}\ntime_unit: ms\n", command_of(input.tape));
  TreeWriter writer(input.names, options.threshold_percent, sink);
  std::size_t number = 0;
  for (const Snapshot& snapshot : snapshots_of(input.findings())) {
    sink.print("#-----------\nsnapshot={}\n#-----------\ntime={}\nmem_heap_B={}\nmem_heap_extra_B=0\nmem_stacks_B=0\n",
               number++, snapshot.time_us / 1000, snapshot.bytes);
    if (snapshot.detail.empty()) {
      sink.add("heap_tree=empty\n");
      continue;
    }
    sink.print("heap_tree={}\n", snapshot.peak ? "peak" : "detailed");
    writer.write(snapshot.detail);
  }
}

} // namespace heaptape
