#include "report/export/gprof2dot.h"

#include <map>
#include <utility>
#include <vector>

namespace heaptape {
namespace {

// gprof2dot draws one node per function, so lines do not matter here.
class Functions {
public:
  explicit Functions(const StackNames& names) : names_(names) {}

  std::size_t number_of(FrameId frame) {
    const NamedFrame& named = names_[frame];
    const auto [found, added] = numbers_.try_emplace({named.function, named.module_name}, order_.size());
    if (added) order_.push_back(found->first);
    return found->second;
  }
  std::size_t stand_in_number(std::string_view text) {
    const auto [found, added] = stand_ins_.try_emplace(text, order_.size());
    if (added) order_.push_back({NameId(), NameId()});
    return found->second;
  }

  void write(Sink& sink) const {
    std::map<std::size_t, std::string_view> texts;
    for (const auto& [text, number] : stand_ins_) texts[number] = text;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      sink.add(i == 0 ? "\n    {\"name\": " : ",\n    {\"name\": ");
      if (const auto found = texts.find(i); found != texts.end()) {
        sink.json(found->second);
      } else {
        sink.json(names_.text(order_[i].first));
        sink.add(", \"module\": ");
        sink.json(names_.text(order_[i].second));
      }
      sink.add("}");
    }
  }

private:
  using Key = std::pair<NameId, NameId>;
  const StackNames& names_;
  std::map<Key, std::size_t> numbers_;
  std::map<std::string_view, std::size_t> stand_ins_;
  std::vector<Key> order_;
};

} // namespace

void export_gprof2dot(const ExportInput& input, std::span<const CostOfStack> costs, Sink& sink) {
  Functions functions(input.names);
  sink.add("{\n  \"version\": 0,\n  \"costs\": [{\"description\": \"Memory\", \"unit\": \"bytes\"}],\n  \"events\": [");
  const char* separator = "\n    ";
  for (const CostOfStack& entry : costs) {
    std::vector<std::size_t> chain;
    const StackEnd end =
        input.names.each_frame(entry.stack, [&](FrameId frame) { chain.push_back(functions.number_of(frame)); });
    if (const auto text = stand_in(end, !chain.empty()); !text.empty())
      chain.push_back(functions.stand_in_number(text));
    sink.print("{}{{\"callchain\": [{}], \"cost\": [{}]}}", separator, fmt::join(chain, ", "),
               static_cast<std::int64_t>(entry.cost.bytes)); // a change may be negative
    separator = ",\n    ";
  }
  sink.add("\n  ],\n  \"functions\": [");
  functions.write(sink);
  sink.add("\n  ]\n}\n");
}

} // namespace heaptape
