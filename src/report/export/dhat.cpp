#include "report/export/dhat.h"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/heap/heap_state.h"
#include "base/path_text.h"

namespace heaptape {
namespace {

struct StackMost {
  Cost live;
  Cost most;                          // when bytes were at their most
  std::uint64_t live_lifetime_us = 0; // of blocks that never ended
};

class MostListener : public HeapListener {
public:
  MostListener(const OwnerTable& owners, std::unordered_map<StackId, StackMost>& stacks)
      : owners_(owners), stacks_(stacks) {}

  void made(const Block& block) {
    StackMost& stack = of(block);
    stack.live += Cost::of(block.size);
    if (stack.live.bytes > stack.most.bytes || (stack.most.blocks == 0)) stack.most = stack.live;
  }
  void ended(const Block& block, const Event&) { of(block).live -= Cost::of(block.size); }
  void given_up(const Block& block, const Event&) { of(block).live -= Cost::of(block.size); }

private:
  StackMost& of(const Block& block) { return stacks_[owners_[block.owner].stack]; }

  const OwnerTable& owners_;
  std::unordered_map<StackId, StackMost>& stacks_;
};

std::unordered_map<StackId, StackMost> most_of_stacks(const ExportInput& input) {
  std::unordered_map<StackId, StackMost> stacks;
  HeapState state;
  MostListener listener(state.owners(), stacks);
  EventCursor events = input.tape.events();
  while (const Event* event = events.next()) state.apply(*event, listener);
  state.blocks().for_each([&](const Block& block) {
    stacks[state.owners()[block.owner].stack].live_lifetime_us += input.findings().end_us - block.time_us;
  });
  return stacks;
}

// Texts of frames, numbered; 0 is the root that DHAT wants.
class FrameTable {
public:
  explicit FrameTable(const StackNames& names) : names_(names) {}

  std::size_t number_of(FrameId id) {
    const NamedFrame& frame = names_[id];
    const std::string_view file = names_.text(frame.file);
    const std::string_view function = frame.linkage_name.empty() ? "???" : names_.text(frame.function);
    if (!file.empty() && frame.line != 0)
      return number_of(fmt::format("0x{:X}: {} ({}:{})", frame.offset, function, base_name(file), frame.line));
    return number_of(
        fmt::format("0x{:X}: {} (in {})", frame.offset, function, frame.module != nullptr ? frame.module->path : "?"));
  }
  std::size_t number_of(std::string text) {
    const auto [found, added] = numbers_.try_emplace(std::move(text), order_.size() + 1);
    if (added) order_.push_back(&found->first);
    return found->second;
  }

  void write(Sink& sink) const {
    sink.add(",\"ftbl\":\n [\"[root]\"\n");
    for (const std::string* text : order_) {
      sink.add(" ,");
      sink.json(*text);
      sink.add("\n");
    }
    sink.add(" ]\n");
  }

private:
  const StackNames& names_;
  std::map<std::string, std::size_t> numbers_;
  std::vector<const std::string*> order_;
};

} // namespace

void export_dhat(const ExportInput& input, Sink& sink) {
  const Findings& findings = input.findings();
  sink.add("{\"dhatFileVersion\":2\n,\"mode\":\"heap\",\"verb\":\"Allocated\"\n,\"bklt\":true,\"bkacc\":false\n"
           ",\"tu\":\"us\",\"Mtu\":\"s\"\n,\"tuth\":500\n,\"cmd\":");
  sink.json(command_of(input.tape));
  sink.print("\n,\"pid\":{}\n,\"te\":{}\n,\"tg\":{}\n,\"pps\":\n [", input.tape.header().pid, findings.end_us,
             findings.totals.peak_us);
  auto most = most_of_stacks(input);
  FrameTable frames(input.names);
  const char* separator = "";
  for (const StackFigures& figures : findings.by_stack) {
    std::vector<std::size_t> stack;
    const StackEnd end =
        input.names.each_frame(figures.stack, [&](FrameId frame) { stack.push_back(frames.number_of(frame)); });
    if (const auto text = stand_in(end, !stack.empty()); !text.empty())
      stack.push_back(frames.number_of(std::string(text)));
    const StackMost& of_stack = most[figures.stack];
    sink.print("{}{{\"tb\":{},\"tbk\":{}\n  ,\"tl\":{}\n  ,\"mb\":{},\"mbk\":{}\n  ,\"gb\":{},\"gbk\":{}\n"
               "  ,\"eb\":{},\"ebk\":{}\n  ,\"fs\":[{}]\n  }}\n",
               separator, figures.allocated.bytes, figures.allocated.blocks,
               figures.lifetime_us + of_stack.live_lifetime_us, of_stack.most.bytes, of_stack.most.blocks,
               figures.at_peak.bytes, figures.at_peak.blocks, figures.live().bytes, figures.live().blocks,
               fmt::join(stack, ","));
    separator = " ,";
  }
  sink.add(" ]\n");
  frames.write(sink);
  sink.add("}\n");
}

} // namespace heaptape
