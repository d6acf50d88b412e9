#include "report/export/speedscope.h"

#include <map>
#include <tuple>
#include <vector>

#include "report/export/quantity.h"
#include "report/figures/tree_text.h"

namespace heaptape {
namespace {

// Frames with the same function and line are one to speedscope.
class Frames {
public:
  explicit Frames(const StackNames& names) : names_(names) {}

  std::size_t number_of(FrameId frame) {
    const NamedFrame& named = names_[frame];
    const auto [found, added] = numbers_.try_emplace({named.function, named.file, named.line, named.column}, count_);
    if (added) ++count_, order_.emplace_back(frame, std::string_view());
    return found->second;
  }
  std::size_t stand_in_number(std::string_view text) {
    const auto [found, added] = stand_ins_.try_emplace(text, count_);
    if (added) ++count_, order_.emplace_back(FrameId(), text);
    return found->second;
  }

  void write(Sink& sink) const {
    const char* separator = "\n  ";
    for (const auto& [frame, text] : order_) {
      sink.print("{}{{\"name\": ", separator);
      separator = ",\n  ";
      sink.json(text.empty() ? names_.function(frame) : text);
      if (text.empty()) write_place(names_[frame], sink);
      sink.add("}");
    }
  }

private:
  void write_place(const NamedFrame& named, Sink& sink) const {
    if (const std::string_view file = names_.text(named.file); !file.empty()) {
      sink.add(", \"file\": ");
      sink.json(file);
    }
    if (named.line != 0) sink.print(", \"line\": {}", named.line);
    if (named.column != 0) sink.print(", \"col\": {}", named.column);
  }

  using Key = std::tuple<NameId, NameId, std::uint32_t, std::uint32_t>;
  const StackNames& names_;
  std::size_t count_ = 0;
  std::map<Key, std::size_t> numbers_;
  std::map<std::string_view, std::size_t> stand_ins_;
  std::vector<std::pair<FrameId, std::string_view>> order_;
};

struct Profile {
  Quantity quantity;
  bool blocks;
  const char* name;
};
constexpr Profile kProfiles[] = {
    {Quantity::Peak, false, "live at the peak, bytes"}, {Quantity::Live, false, "live at the end, bytes"},
    {Quantity::Allocated, false, "allocated, bytes"},   {Quantity::Allocated, true, "allocated, blocks"},
    {Quantity::Temporary, true, "temporary, blocks"},
};

struct Weighed {
  StackId stack;
  std::uint64_t value;
};

void write_sampled(std::string_view name, const char* unit, const std::vector<Weighed>& costs, StackNames& names,
                   Frames& frames, Sink& sink) {
  std::uint64_t total = 0;
  for (const Weighed& entry : costs) total += entry.value;
  sink.add("{\"type\": \"sampled\", \"name\": ");
  sink.json(name);
  sink.print(", \"unit\": \"{}\", \"startValue\": 0, \"endValue\": {},\n  \"samples\": [", unit, total);
  const char* separator = "\n  ";
  for (const Weighed& entry : costs) {
    std::vector<std::size_t> stack;
    const StackEnd end =
        names.each_frame(entry.stack, [&](FrameId frame) { stack.push_back(frames.number_of(frame)); });
    if (const auto text = stand_in(end, !stack.empty()); !text.empty()) stack.push_back(frames.stand_in_number(text));
    sink.print("{}[{}]", separator, fmt::join(stack.rbegin(), stack.rend(), ","));
    separator = ",\n  ";
  }
  sink.add("],\n  \"weights\": [");
  separator = "";
  for (const Weighed& entry : costs) {
    sink.print("{}{}", separator, entry.value);
    separator = ",";
  }
  sink.add("]}");
}

void write_profile(const ExportInput& input, const Profile& profile, Frames& frames, Sink& sink) {
  std::vector<Weighed> costs;
  for (const CostOfStack& entry : costs_of(input.findings(), profile.quantity))
    costs.push_back({entry.stack, profile.blocks ? entry.cost.blocks : entry.cost.bytes});
  write_sampled(profile.name, profile.blocks ? "none" : "bytes", costs, input.names, frames, sink);
}

// All threads together, and each alone when there are several.
void write_cpu_profiles(const ExportInput& input, Frames& frames, Sink& sink) {
  std::vector<Weighed> all;
  std::map<ThreadId, std::vector<Weighed>> threads;
  for (const StackTime& entry : *input.cpu) {
    all.push_back({entry.stack, entry.time.us});
    threads[entry.thread].push_back(all.back());
  }
  sink.add("\n");
  write_sampled("CPU time", "microseconds", all, input.names, frames, sink);
  for (const auto& [thread, costs] : threads) {
    if (threads.size() == 1) break;
    sink.add(",\n");
    write_sampled("CPU time of " + thread_label(input.tape.threads(), thread), "microseconds", costs, input.names,
                  frames, sink);
  }
}

} // namespace

void export_speedscope(const ExportInput& input, Sink& sink) {
  sink.add(
      "{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\": \"heaptape\",\n\"name\": ");
  sink.json(command_of(input.tape));
  sink.add(",\n\"activeProfileIndex\": 0,\n\"profiles\": [");
  Frames frames(input.names);
  const char* separator = "\n";
  if (input.cpu != nullptr) write_cpu_profiles(input, frames, sink);
  for (const Profile& profile : kProfiles) {
    if (input.cpu != nullptr) break;
    sink.add(separator);
    separator = ",\n";
    write_profile(input, profile, frames, sink);
  }
  sink.add("],\n\"shared\": {\"frames\": [");
  frames.write(sink);
  sink.add("]}}\n");
}

} // namespace heaptape
