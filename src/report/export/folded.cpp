#include "report/export/folded.h"

#include <map>

#include "report/names/charged_function.h"

namespace heaptape {
namespace {

std::string folded_stack(Plumbing& plumbing, bool fold, StackId stack) {
  StackNames& names = plumbing.names();
  std::vector<FrameId> frames;
  const StackEnd end = names.each_frame(stack, [&](FrameId frame) { frames.push_back(frame); });
  if (fold) fold_plumbing(plumbing, frames);
  std::string line(stand_in(end, !frames.empty()));
  for (std::size_t i = frames.size(); i-- > 0;) {
    if (!line.empty()) line += ';';
    line += one_line(names.function(frames[i]), ";");
  }
  return line;
}

} // namespace

void export_folded(const ExportInput& input, const FoldedOptions& options, Sink& sink) {
  std::map<std::string, std::uint64_t> lines;
  Plumbing plumbing(input.names);
  const bool fold = input.fold_plumbing;
  if (input.cpu != nullptr) {
    for (const StackTime& entry : *input.cpu)
      lines[folded_stack(plumbing, fold, entry.stack)] += options.blocks ? entry.time.periods : entry.time.us;
  }
  for (const CostOfStack& entry :
       input.cpu == nullptr ? costs_of(input.findings(), options.quantity) : std::vector<CostOfStack>()) {
    lines[folded_stack(plumbing, fold, entry.stack)] += options.blocks ? entry.cost.blocks : entry.cost.bytes;
  }
  for (const auto& [stack, value] : lines) {
    if (value != 0) sink.print("{} {}\n", stack, value);
  }
}

} // namespace heaptape
