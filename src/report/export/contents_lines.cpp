#include "report/export/contents_lines.h"

#include <array>
#include <vector>

#include "analysis/memory/edge_walk.h"
#include "report/export/export_input.h"

namespace heaptape {

namespace {

std::string_view class_word(LeakClass leak_class) {
  switch (leak_class) {
  case LeakClass::Reachable: return "reachable";
  case LeakClass::Possibly: return "possibly";
  case LeakClass::Definitely: return "definitely";
  case LeakClass::Indirectly: return "indirectly";
  }
  return "";
}

class Lines {
public:
  Lines(const TapeReader& tape, const SnapshotMemory& memory, const ContentsInput& input, Sink& sink)
      : tape_(tape), memory_(memory), input_(input), ranks_(input.heap.ranks), sink_(sink) {}

  void write() {
    write_snapshot();
    write_regions();
    write_threads();
    write_stacks();
    write_types();
    write_roots();
    write_blocks();
  }

private:
  void write_snapshot() {
    const MemorySnapshot& facts = memory_.facts();
    sink_.print(R"({{"kind":"snapshot","number":{},"name":)", facts.number);
    sink_.json(facts.name);
    sink_.print(R"(,"event":{},"time_us":{},"method":"{}","pause_us":{},"pid":{},"command":)", facts.event,
                facts.time_us, snapshot_method_name(facts.method), facts.pause_us, tape_.header().pid);
    sink_.json(command_of(tape_));
    sink_.print(R"(,"blocks":{},"references":{}}})"
                "\n",
                ranks_.size(), input_.heap.graph.edges());
  }

  void write_regions() {
    for (const MappedRange& region : memory_.facts().regions) {
      const auto has = [&](std::uint8_t bit, char letter) { return (region.permissions & bit) != 0 ? letter : '-'; };
      sink_.print(R"({{"kind":"region","begin":"{:#x}","end":"{:#x}","permissions":"{}{}{}{}","offset":{},"name":)",
                  region.begin, region.end, has(kMapRead, 'r'), has(kMapWrite, 'w'), has(kMapExecute, 'x'),
                  (region.permissions & kMapShared) != 0 ? 's' : 'p', region.offset);
      sink_.json(memory_.name_of(region));
      sink_.add("}\n");
    }
  }

  void write_threads() {
    constexpr std::array<std::string_view, ThreadState::kRegisters> kNames{
        "r15", "r14",      "r13", "r12", "rbp",    "rbx", "r11", "r10",     "r9",      "r8", "rax", "rcx", "rdx", "rsi",
        "rdi", "orig_rax", "rip", "cs",  "eflags", "rsp", "ss",  "fs_base", "gs_base", "ds", "es",  "fs",  "gs"};
    for (const ThreadState& thread : memory_.facts().threads) {
      sink_.print(R"({{"kind":"thread","tid":{},"signal":{},"stopped":{})", thread.tid, thread.signal, thread.stopped);
      if (thread.stopped) {
        sink_.add(R"(,"registers":{)");
        for (std::size_t i = 0; i < kNames.size(); ++i)
          sink_.print(R"({}"{}":"{:#x}")", i == 0 ? "" : ",", kNames[i], thread.registers[i]);
        sink_.add("}");
      }
      sink_.add("}\n");
    }
  }

  void write_stacks() {
    if (input_.stacks == nullptr) return;
    std::vector<bool> is_used;
    for (std::uint32_t block = 0; block < ranks_.size(); ++block) {
      const std::uint32_t stack = ranks_.group(block);
      if (stack >= is_used.size()) is_used.resize(std::size_t{stack} + 1);
      is_used[stack] = true;
    }
    std::vector<bool> is_written; // by frame
    for (std::uint32_t stack = 1; stack < is_used.size() && !sink_.failed(); ++stack) {
      if (!is_used[stack]) continue;
      const std::vector<FrameId> frames = input_.stacks->frames_of(StackId(stack));
      for (const FrameId frame : frames) {
        if (frame.value >= is_written.size()) is_written.resize(input_.stacks->frame_count());
        if (!is_written[frame.value]) write_frame(frame);
        is_written[frame.value] = true;
      }
      sink_.print(R"({{"kind":"stack","id":{},"frames":[)", stack);
      for (std::size_t i = 0; i < frames.size(); ++i) sink_.print("{}{}", i == 0 ? "" : ",", frames[i].value);
      sink_.add("]}\n");
    }
  }
  void write_frame(FrameId frame) {
    const NamedFrame& named = (*input_.stacks)[frame];
    sink_.print(R"({{"kind":"frame","id":{},"function":)", frame.value);
    sink_.json(input_.stacks->text(named.function));
    sink_.add(R"(,"module":)");
    sink_.json(input_.stacks->text(named.module_name));
    if (const std::string_view file = input_.stacks->text(named.file); !file.empty()) {
      sink_.add(R"(,"file":)");
      sink_.json(file);
      sink_.print(R"(,"line":{})", named.line);
    }
    sink_.add("}\n");
  }

  void write_types() {
    for (std::size_t i = 0; i < input_.types.size(); ++i) {
      sink_.print(R"({{"kind":"type","id":{},"name":)", i);
      sink_.json(input_.types[i].name);
      sink_.print(R"(,"known":{}}})"
                  "\n",
                  input_.types[i].is_known);
    }
  }

  void write_roots() {
    const Roots& roots = input_.heap.roots;
    for (const RootWord& word : roots.words()) {
      if (sink_.failed()) return;
      const RootRange& range = roots.ranges()[word.range];
      sink_.add(R"({"kind":"root","group":)");
      sink_.json(input_.group_name(range));
      sink_.add(R"(,"name":)");
      sink_.json(input_.word_name(range, word.address));
      if (range.kind != RootKind::Registers) sink_.print(R"(,"at":"{:#x}")", word.address);
      sink_.print(R"(,"to":"{:#x}","inside":{}}})"
                  "\n",
                  ranks_.begin(word.block), word.offset);
    }
  }

  void write_blocks() {
    std::uint32_t begun = BlockRanks::kNone;
    const auto begin = [&](std::uint32_t block) {
      begun = block;
      sink_.print(R"({{"kind":"block","address":"{:#x}","bytes":{},"type":{},"class":"{}","stack":{},"event":{})",
                  ranks_.begin(block), ranks_.bytes(block), input_.type_of(block),
                  class_word(input_.reachability.class_of(block)), ranks_.group(block), input_.event_of(block));
    };
    walk_edges(
        input_.heap,
        [&](std::uint32_t block, const WalkedEdge& edge) {
          if (begun == block) {
            sink_.add(",{");
          } else {
            begin(block);
            sink_.add(R"(,"references":[{)");
          }
          if (edge.offset != WalkedEdge::kUnknown) sink_.print(R"("offset":{},)", edge.offset);
          sink_.print(R"("to":"{:#x}","inside":{}}})", ranks_.begin(edge.target), edge.inside);
          return !sink_.failed();
        },
        [&](std::uint32_t block) {
          if (begun == block)
            sink_.add("]");
          else
            begin(block);
          sink_.add("}\n");
        });
  }

  const TapeReader& tape_;
  const SnapshotMemory& memory_;
  const ContentsInput& input_;
  const BlockRanks& ranks_;
  Sink& sink_;
};

} // namespace

void export_contents_lines(const TapeReader& tape, const SnapshotMemory& memory, const ContentsInput& input,
                           Sink& sink) {
  Lines(tape, memory, input, sink).write();
}

} // namespace heaptape
