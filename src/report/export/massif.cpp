#include "report/export/massif.h"

#include <algorithm>
#include <map>
#include <vector>

#include "report/export/quantity.h"

namespace heaptape {
namespace {

struct Snapshot {
  std::uint64_t time_us = 0;
  std::uint64_t bytes = 0;
  std::vector<CostOfStack> detail{}; // empty: none
  bool peak = false;
};

// Callers below callees, as massif prints them: a place is an address.
struct Node {
  std::uint64_t bytes = 0;
  std::map<FrameId, Node> callers{};
};

void add_stack(Node& root, const std::vector<FrameId>& frames, std::uint64_t bytes) {
  Node* node = &root;
  node->bytes += bytes;
  for (const FrameId frame : frames) {
    node = &node->callers[frame];
    node->bytes += bytes;
  }
}

class TreeWriter {
public:
  TreeWriter(const StackNames& names, double threshold_percent, Sink& sink)
      : names_(names), threshold_percent_(threshold_percent), sink_(sink) {}

  void write(const Node& root) {
    // 64 bits times 100 would not fit.
    least_bytes_ = static_cast<std::uint64_t>(static_cast<double>(root.bytes) * threshold_percent_ / 100);
    write_node(root, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.", 0);
  }

private:
  void write_node(const Node& node, const std::string& label, std::size_t depth) {
    std::vector<const std::pair<const FrameId, Node>*> shown;
    std::uint64_t rest_bytes = 0, rest_places = 0;
    for (const auto& caller : node.callers) {
      if (caller.second.bytes >= least_bytes_ && caller.second.bytes != 0) {
        shown.push_back(&caller);
      } else {
        rest_bytes += caller.second.bytes;
        ++rest_places;
      }
    }
    std::stable_sort(shown.begin(), shown.end(),
                     [](const auto* a, const auto* b) { return a->second.bytes > b->second.bytes; });
    const bool rest = rest_places != 0 && rest_bytes != 0;
    sink_.print("{:{}}n{}: {} {}\n", "", depth, shown.size() + (rest ? 1 : 0), node.bytes, label);
    for (const auto* caller : shown) write_node(caller->second, label_of(caller->first), depth + 1);
    if (rest) {
      sink_.print("{:{}}n0: {} in {} place{}, {} massif's threshold ({:.2f}%)\n", "", depth + 1, rest_bytes,
                  rest_places, rest_places == 1 ? "" : "s", rest_places == 1 ? "below" : "all below",
                  threshold_percent_);
    }
  }

  // "0x109422: push_back (stl_vector.h:378)", as valgrind writes a frame.
  std::string label_of(FrameId id) const {
    const NamedFrame& frame = names_[id];
    const std::string function = one_line(frame.linkage_name.empty() ? "???" : names_.text(frame.function));
    const std::string_view file = names_.text(frame.file);
    if (!file.empty() && frame.line != 0)
      return fmt::format("0x{:X}: {} ({}:{})", frame.offset, function, one_line(last_part(file)), frame.line);
    return fmt::format("0x{:X}: {} (in {})", frame.offset, function,
                       one_line(frame.module != nullptr ? frame.module->path : "?"));
  }

  const StackNames& names_;
  double threshold_percent_;
  Sink& sink_;
  std::uint64_t least_bytes_ = 0;
};

std::vector<Snapshot> snapshots_of(const Answers& answers) {
  std::vector<Snapshot> snapshots{{}};
  const TimelineLevel& level = answers.timeline.levels.front();
  for (std::size_t i = 0; i < level.buckets.size(); ++i) {
    snapshots.push_back({std::min((i + 1) * level.bucket_us - 1, answers.end_us), level.buckets[i].last_bytes});
  }
  for (std::size_t moment = 0; moment < kGrowthMoments; ++moment) {
    Snapshot snapshot{answers.growth.moments_us[moment], 0};
    for (const StackGrowth& stack : answers.growth.stacks) {
      if (stack.live[moment] == Cost{}) continue;
      snapshot.detail.push_back({stack.stack, stack.live[moment]});
      snapshot.bytes += stack.live[moment].bytes;
    }
    snapshots.push_back(std::move(snapshot));
  }
  snapshots.push_back({answers.totals.peak_us, answers.totals.peak_bytes, costs_of(answers, Quantity::Peak), true});
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
  for (const Snapshot& snapshot : snapshots_of(input.answers())) {
    sink.print("#-----------\nsnapshot={}\n#-----------\ntime={}\nmem_heap_B={}\nmem_heap_extra_B=0\nmem_stacks_B=0\n",
               number++, snapshot.time_us / 1000, snapshot.bytes);
    if (snapshot.detail.empty()) {
      sink.add("heap_tree=empty\n");
      continue;
    }
    Node root;
    for (const CostOfStack& entry : snapshot.detail)
      add_stack(root, input.names.frames_of(entry.stack), entry.cost.bytes);
    sink.print("heap_tree={}\n", snapshot.peak ? "peak" : "detailed");
    writer.write(root);
  }
}

} // namespace heaptape
