#include "report/export/callgrind.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "report/export/quantity.h"

namespace heaptape {
namespace {

// One per event that the head names. The second is how often something was called, or seen.
using Values = std::vector<std::uint64_t>;

constexpr const char* kCpuHead = R"(positions: line
event: CpuTime : CPU time, microseconds
event: Samples : Samples
events: CpuTime Samples
)";
constexpr const char* kHead = R"(positions: line
event: AllocBytes : Allocated, bytes
event: AllocBlocks : Allocated, blocks
event: PeakBytes : Live at the peak, bytes
event: PeakBlocks : Live at the peak, blocks
event: LiveBytes : Live at the end, bytes
event: LiveBlocks : Live at the end, blocks
event: TempBytes : Temporary, bytes
event: TempBlocks : Temporary, blocks
events: AllocBytes AllocBlocks PeakBytes PeakBlocks LiveBytes LiveBlocks TempBytes TempBlocks
)";

Values values_of(const Figures& figures) {
  Values values;
  for (const Quantity quantity : {Quantity::Allocated, Quantity::Peak, Quantity::Live, Quantity::Temporary}) {
    const Cost cost = cost_of(figures, quantity);
    values.push_back(cost.bytes);
    values.push_back(cost.blocks);
  }
  return values;
}

Values& operator+=(Values& sum, const Values& more) {
  sum.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
  return sum;
}

// A function to callgrind is an object, a file and a name.
struct Function {
  NameId module, file, name;
  std::string_view stand_in{}; // instead of a name
  friend auto operator<=>(const Function&, const Function&) = default;
};
struct Place {
  Function function;
  std::uint32_t line = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};
struct Call {
  std::uint32_t line;
  Place callee;
  friend auto operator<=>(const Call&, const Call&) = default;
};
struct FunctionCosts {
  std::map<std::uint32_t, Values> own; // by line
  std::map<Call, Values> calls;        // with all that happened inside
};

class Profile {
public:
  explicit Profile(StackNames& names) : names_(names) {}

  void add(StackId stack, const Values& values) {
    const std::vector<Place> places = places_of(stack);
    total_ += values;
    functions_[places.front().function].own[places.front().line] += values;
    // A recursive call that occurs twice in one stack still costs what it costs once.
    std::set<std::pair<Function, Call>> seen;
    for (std::size_t i = 1; i < places.size(); ++i) {
      const Call call{places[i].line, {places[i - 1].function, 0}};
      if (!seen.emplace(places[i].function, call).second) continue;
      functions_[places[i].function].calls[call] += values;
    }
  }

  void write(Sink& sink) {
    sink.print("summary: {}\n", fmt::join(total_, " "));
    for (const auto& [function, costs] : functions_) {
      sink.add("\n");
      name_function(sink, function, "");
      for (const auto& [line, values] : costs.own) sink.print("{} {}\n", line, fmt::join(values, " "));
      for (const auto& [call, values] : costs.calls) {
        name_function(sink, call.callee.function, "c");
        constexpr std::size_t kCalls = 1;
        sink.print("calls={} {}\n{} {}\n", values[kCalls], call.callee.line, call.line, fmt::join(values, " "));
      }
    }
  }

private:
  // Innermost first; at least one.
  std::vector<Place> places_of(StackId stack) {
    std::vector<Place> places;
    const StackEnd end = names_.each_frame(stack, [&](FrameId id) {
      const NamedFrame& frame = names_[id];
      places.push_back({{frame.module_name, frame.file, frame.function}, frame.line});
    });
    if (const auto text = stand_in(end, !places.empty()); !text.empty()) places.push_back({{{}, {}, {}, text}});
    return places;
  }

  // A name is written out once and has a number from then on.
  void name(Sink& sink, const char* key, std::map<std::string, std::size_t>& known, std::string_view text) {
    const auto [found, added] = known.try_emplace(text.empty() ? "???" : one_line(text), known.size() + 1);
    sink.print("{}=({}){}{}\n", key, found->second, added ? " " : "", added ? found->first : "");
  }
  void name_function(Sink& sink, const Function& function, const char* called) {
    const bool call = *called != '\0';
    name(sink, call ? "cob" : "ob", objects_, names_.text(function.module));
    name(sink, call ? "cfi" : "fl", files_, names_.text(function.file));
    name(sink, call ? "cfn" : "fn", function_names_,
         function.stand_in.empty() ? names_.text(function.name) : function.stand_in);
  }

  StackNames& names_;
  Values total_;
  std::map<Function, FunctionCosts> functions_;
  std::map<std::string, std::size_t> objects_, files_, function_names_;
};

} // namespace

void export_callgrind(const ExportInput& input, Sink& sink) {
  Profile profile(input.names);
  if (input.cpu != nullptr) {
    for (const StackTime& entry : *input.cpu) profile.add(entry.stack, {entry.time.us, entry.time.periods});
  } else {
    for (const StackFigures& figures : input.findings().by_stack) profile.add(figures.stack, values_of(figures));
  }
  sink.print("# callgrind format\nversion: 1\ncreator: heaptape\npid: {}\ncmd: {}\npart: 1\n", input.tape.header().pid,
             command_of(input.tape));
  sink.print("desc: Trigger: Program termination\n");
  sink.add(input.cpu != nullptr ? kCpuHead : kHead);
  profile.write(sink);
}

} // namespace heaptape
