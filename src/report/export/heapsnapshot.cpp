#include "report/export/heapsnapshot.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "analysis/memory/edge_walk.h"
#include "base/characters.h"
#include "base/mix.h"
#include "base/number_text.h"
#include "report/export/heapsnapshot_nodes.h"
#include "report/export/heapsnapshot_traces.h"

namespace heaptape {

namespace {

// Numbers of V8's own lists of types, which the file repeats.
enum NodeKind : unsigned { kStringNode = 2, kObjectNode = 3, kNativeNode = 8, kSyntheticNode = 9 };
enum EdgeKindOfV8 : unsigned { kElementEdge = 1, kPropertyEdge = 2, kInternalEdge = 3, kWeakEdge = 6 };
constexpr std::uint32_t kNodeFields = 7, kMostSize = ~std::uint32_t{};

constexpr std::string_view kMeta =
    R"("meta":{"node_fields":["type","name","id","self_size","edge_count","trace_node_id","detachedness"],)"
    R"("node_types":[["hidden","array","string","object","code","closure","regexp","number","native","synthetic",)"
    R"("concatenated string","sliced string","symbol","bigint","object shape"],"string","number","number","number",)"
    R"("number","number"],"edge_fields":["type","name_or_index","to_node"],"edge_types":[["context","element",)"
    R"("property","internal","hidden","shortcut","weak"],"string_or_number","node"],)"
    R"("trace_function_info_fields":["function_id","name","script_name","script_id","line","column"],)"
    R"("trace_node_fields":["id","function_info_index","count","size","children"],)"
    R"("sample_fields":["timestamp_us","last_assigned_id"],)"
    R"("location_fields":["object_index","script_id","line","column"]})";

// Numbered texts, in the order in which they are first asked for, from some number on.
class Strings {
public:
  explicit Strings(std::uint32_t first) : first_(first) {}

  std::uint32_t number_of(const std::string& text) {
    const auto [found, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(first_ + texts_.size()));
    if (is_new) texts_.push_back(&found->first);
    return found->second;
  }
  std::uint32_t end() const { return static_cast<std::uint32_t>(first_ + texts_.size()); }
  void write(Sink& sink) const {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (first_ + i != 0) sink.add(",\n");
      sink.json(*texts_[i]);
    }
  }

private:
  const std::uint32_t first_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> texts_; // which lie in numbers_
};

class HeapSnapshotWriter {
public:
  HeapSnapshotWriter(const ContentsInput& input, const HeapSnapshotOptions& options, Sink& sink)
      : input_(input), ranks_(input.heap.ranks), graph_(input.heap.graph), sink_(sink),
        nodes_(input, options.most_blocks), cursor_(input.heap.image) {
    if (input.stacks != nullptr) traces_.emplace(input.heap.ranks, *input.stacks);
  }

  HeapSnapshotWritten write() {
    // Strings come last in the file, and their numbers first: names of nodes, then texts of blocks, then names of edges.
    sink_.print("{{\"snapshot\":{{{},\"node_count\":{},\"edge_count\":{},\"trace_function_count\":{}}},\n\"nodes\":[",
                kMeta, nodes_.count(), count_edges(), traces_ ? traces_->functions() : 0);
    write_nodes();
    sink_.add("],\n\"edges\":[");
    write_edges();
    sink_.add("],\n\"trace_function_infos\":[");
    if (traces_) traces_->write_functions(sink_, [&](const std::string& text) { return edge_names_->number_of(text); });
    sink_.add("],\n\"trace_tree\":[");
    if (traces_) traces_->write_tree(sink_);
    sink_.add("],\n\"samples\":[],\n\"locations\":[],\n\"strings\":[");
    write_strings();
    sink_.add("]}\n");
    return written_;
  }

private:
  // ------------------------------------------------------------------------------------------------------------- nodes

  void write_nodes() {
    node_names_.number_of("");
    std::vector<std::uint32_t> type_names;
    type_names.reserve(input_.types.size());
    for (const ExportedType& type : input_.types) type_names.push_back(node_names_.number_of(type_name(type)));
    const std::uint32_t root_edges = 1 + static_cast<std::uint32_t>(nodes_.groups().size()) + 2;
    constexpr std::array<const char*, 4> kNames{"", "(GC roots)", "(lost blocks)", "(doubtful references)"};
    const std::array<std::uint32_t, 4> edges{root_edges, edges_of_gc_roots(), edges_of_lost(),
                                             static_cast<std::uint32_t>(nodes_.doubtful().size())};
    for (std::uint32_t i = 0; i < kNames.size(); ++i)
      write_node(kSyntheticNode, node_names_.number_of(kNames[i]), 2 * i + 1, 0, edges[i], 0);
    for (const NodeGroup& group : nodes_.groups())
      write_node(kObjectNode, node_names_.number_of(group.name), group_id(group.name), 0, edges_of_group(group), 0);
    for (const FoldedNode& node : nodes_.folded()) folded_names_.push_back(node_names_.number_of(folded_name(node)));

    texts_end_ = node_names_.end();
    for (std::uint32_t block = 0; block < ranks_.size() && !sink_.failed(); ++block) {
      if (nodes_.node_of(block) == kNoNode) continue;
      const ExportedType& type = input_.types[input_.type_of(block)];
      const bool is_text = holds_text(block, type);
      const unsigned kind = is_text ? kStringNode : type.is_known ? kObjectNode : kNativeNode;
      const std::uint32_t trace = traces_ ? traces_->node_of(StackId(ranks_.group(block))) : 0;
      write_node(kind, is_text ? texts_end_++ : type_names[input_.type_of(block)], id_of(block), ranks_.bytes(block),
                 edges_of_block(block), trace);
    }
    for (std::size_t i = 0; i < nodes_.folded().size(); ++i) {
      const FoldedNode& node = nodes_.folded()[i];
      written_.folded_blocks += node.blocks;
      write_node(kObjectNode, folded_names_[i], folded_id(i), node.bytes, 0, 0);
    }
    edge_names_.emplace(texts_end_);
  }

  void write_node(unsigned kind, std::uint32_t name, std::uint32_t id, std::uint64_t bytes, std::uint32_t edges,
                  std::uint32_t trace) {
    if (bytes > kMostSize) ++written_.too_large;
    sink_.print("{}{},{},{},{},{},{},0", std::exchange(first_node_, false) ? "" : ",\n", kind, name, id,
                std::min<std::uint64_t>(bytes, kMostSize), edges, trace);
  }

  // Of a name that begins with '<' DevTools take the first word, as the name of a tag.
  static std::string type_name(const ExportedType& type) {
    if (!type.name.starts_with('<')) return type.name;
    std::string name;
    for (const char c : type.name) name += c == ' ' ? std::string("\u00a0") : std::string(1, c);
    return name;
  }
  std::string folded_name(const FoldedNode& node) const {
    return with_separators(node.blocks) + " × " + input_.types[node.type].name;
  }

  // The same in every snapshot of a tape, so that DevTools can compare them: even ones for the events that made the blocks, odd ones
  // for groups by their names, for folded nodes, which nothing else is the same as, and for blocks of which no event is known.
  static std::uint32_t group_id(std::string_view name) {
    return static_cast<std::uint32_t>(mix(std::hash<std::string_view>()(name)) >> 35) * 2 + 9;
  }
  static std::uint32_t folded_id(std::size_t number) {
    return (1U << 30) + 11 + static_cast<std::uint32_t>(number) * 2;
  }
  std::uint32_t id_of(std::uint32_t block) const {
    constexpr std::uint64_t kMostEvents = (std::uint64_t{1} << 31) - 1;
    const std::uint64_t event = input_.event_of(block);
    if (event != 0 && event <= kMostEvents) return static_cast<std::uint32_t>(event * 2);
    return static_cast<std::uint32_t>(ranks_.begin(block) / 8 % (1U << 30)) * 2 + (1U << 31) + 1;
  }

  // ------------------------------------------------------------------------------------------------------------- texts

  static constexpr std::size_t kLongestText = 120, kShortestText = 4;

  // Puts what the block begins with into text_; false: that is no text.
  bool read_text(std::uint32_t block) {
    text_.resize(std::min<std::uint64_t>(ranks_.bytes(block), kLongestText));
    text_.resize(cursor_.read(ranks_.begin(block), std::as_writable_bytes(std::span(text_))));
    const std::size_t end = text_.find('\0');
    const bool is_cut = end == std::string::npos && ranks_.bytes(block) > kLongestText;
    text_.resize(std::min(end, text_.size()));
    for (std::size_t at = 0; at < text_.size();) {
      const Character character = first_character(std::string_view(text_).substr(at));
      if (character.bytes == 0 && is_cut && at + 4 > text_.size()) {
        text_.resize(at); // a character that was cut
        break;
      }
      const bool is_space = character.code == '\n' || character.code == '\t' || character.code == '\r';
      if (character.bytes == 0 || (character.code < 0x20 && !is_space) || character.code == 0x7f) return false;
      at += character.bytes;
    }
    if (text_.size() < kShortestText) return false;
    if (is_cut) text_ += "…";
    return true;
  }
  bool holds_text(std::uint32_t block, const ExportedType& type) {
    if (graph_.first(block) != graph_.first(block + 1)) return false;
    return (!type.is_known || type.name.starts_with("char")) && read_text(block);
  }

  void write_strings() {
    node_names_.write(sink_);
    std::uint32_t at = node_names_.end();
    for (std::uint32_t block = 0; at < texts_end_ && block < ranks_.size() && !sink_.failed(); ++block) {
      if (nodes_.node_of(block) == kNoNode || !holds_text(block, input_.types[input_.type_of(block)])) continue;
      sink_.add(",\n");
      sink_.json(text_);
      ++at;
    }
    edge_names_->write(sink_);
  }

  // ------------------------------------------------------------------------------------------------------------- edges

  std::uint32_t edges_of_gc_roots() const {
    return static_cast<std::uint32_t>(nodes_.groups().size() + nodes_.held_by(kNoNode).size()) +
           static_cast<std::uint32_t>(std::ranges::count(nodes_.folded_in(kNoNode), false, &FoldedNode::is_lost));
  }
  std::uint32_t edges_of_lost() const {
    return static_cast<std::uint32_t>(
        nodes_.lost().size() +
        static_cast<std::size_t>(std::ranges::count(nodes_.folded_in(kNoNode), true, &FoldedNode::is_lost)));
  }
  std::uint32_t edges_of_group(const NodeGroup& group) const {
    if (!nodes_.is_folding()) return static_cast<std::uint32_t>(group.words.size());
    return static_cast<std::uint32_t>(std::ranges::count_if(group.words, [&](std::uint32_t word) {
      return nodes_.node_of(input_.heap.roots.words()[word].block) != kNoNode;
    }));
  }
  std::uint32_t edges_of_block(std::uint32_t block) const {
    if (!nodes_.is_folding()) return graph_.first(block + 1) - graph_.first(block);
    const auto shown = std::ranges::count_if(graph_.targets(block),
                                             [&](std::uint32_t target) { return nodes_.node_of(target) != kNoNode; });
    return static_cast<std::uint32_t>(static_cast<std::size_t>(shown) + nodes_.held_by(block).size() +
                                      nodes_.folded_in(block).size());
  }
  std::uint64_t count_edges() const {
    std::uint64_t edges = 3 + nodes_.groups().size() + edges_of_gc_roots() + edges_of_lost() + nodes_.doubtful().size();
    for (const NodeGroup& group : nodes_.groups()) edges += edges_of_group(group);
    if (!nodes_.is_folding()) return edges + graph_.edges();
    for (std::uint32_t block = 0; block < ranks_.size(); ++block) {
      if (nodes_.node_of(block) != kNoNode) edges += edges_of_block(block);
    }
    return edges;
  }

  void write_edges() {
    for (std::uint32_t i = HeapSnapshotNodes::kGcRoots; i < HeapSnapshotNodes::kFirstGroup; ++i)
      write_edge(kInternalEdge, name(""), i);
    // DevTools count distances from what the root itself leads to.
    for (std::uint32_t i = 0; i < nodes_.groups().size(); ++i)
      write_edge(kInternalEdge, name(""), HeapSnapshotNodes::kFirstGroup + i);
    for (std::uint32_t i = 0; i < nodes_.groups().size(); ++i)
      write_edge(kInternalEdge, name(""), HeapSnapshotNodes::kFirstGroup + i);
    write_extra_edges(kNoNode, false);
    for (const std::uint32_t block : nodes_.lost()) write_edge(kInternalEdge, name("lost"), nodes_.node_of(block));
    write_folded_edges(kNoNode, true);
    for (const std::uint32_t block : nodes_.doubtful()) write_edge(kInternalEdge, name("maybe"), nodes_.node_of(block));
    for (const NodeGroup& group : nodes_.groups()) write_group_edges(group);
    write_block_edges();
  }
  void write_group_edges(const NodeGroup& group) {
    const Roots& roots = input_.heap.roots;
    for (const std::uint32_t i : group.words) {
      const RootWord& word = roots.words()[i];
      if (sink_.failed() || nodes_.node_of(word.block) == kNoNode) continue;
      const bool is_weak = group.weak && !input_.reachability.only_from_stacks(word.block);
      write_edge(is_weak ? kWeakEdge : kPropertyEdge,
                 edge_names_->number_of(input_.word_name(roots.ranges()[word.range], word.address)),
                 nodes_.node_of(word.block));
    }
  }

  void write_block_edges() {
    walk_edges(
        input_.heap,
        [&](std::uint32_t block, const WalkedEdge& edge) {
          const std::uint32_t to = nodes_.node_of(edge.target);
          if (to == kNoNode || nodes_.node_of(block) == kNoNode) return !sink_.failed();
          if (edge.offset == WalkedEdge::kUnknown)
            write_edge(kInternalEdge, name("?"), to);
          else if (edge.offset < kNamedOffsets)
            write_edge(kPropertyEdge, offset_name(edge.offset), to);
          else
            write_edge(kElementEdge, static_cast<std::uint32_t>(std::min(edge.offset, kLargest)), to);
          return !sink_.failed();
        },
        [&](std::uint32_t block) {
          if (nodes_.is_folding() && nodes_.node_of(block) != kNoNode) write_extra_edges(block, false);
        });
  }

  // Of a heap that is folded.
  void write_extra_edges(std::uint32_t holder, bool is_lost) {
    if (!nodes_.is_folding()) return;
    for (const std::uint32_t held : nodes_.held_by(holder))
      write_edge(kInternalEdge, name("holds"), nodes_.node_of(held));
    write_folded_edges(holder, is_lost);
  }
  void write_folded_edges(std::uint32_t holder, bool is_lost) {
    for (const FoldedNode& node : nodes_.folded_in(holder)) {
      if (node.is_lost == is_lost)
        write_edge(kInternalEdge, name("holds"),
                   nodes_.first_folded() + static_cast<std::uint32_t>(&node - nodes_.folded().data()));
    }
  }

  void write_edge(unsigned kind, std::uint32_t name, std::uint32_t to) {
    sink_.print("{}{},{},{}", std::exchange(first_edge_, false) ? "" : ",\n", kind, name,
                std::uint64_t{to} * kNodeFields);
  }
  std::uint32_t name(const char* text) { return edge_names_->number_of(text); }
  std::uint32_t offset_name(std::uint64_t offset) {
    std::uint32_t& known = offset_names_[offset / 8];
    // Blocks of the program's own making may begin anywhere.
    if (offset % 8 != 0) return edge_names_->number_of(fmt::format("+{:#x}", offset));
    if (known == 0) known = edge_names_->number_of(fmt::format("+{:#x}", offset));
    return known;
  }

  static constexpr std::uint64_t kNamedOffsets = 0x10000, kLargest = ~std::uint32_t{};

  const ContentsInput& input_;
  const BlockRanks& ranks_;
  const ReferenceGraph& graph_;
  Sink& sink_;
  const HeapSnapshotNodes nodes_;
  std::optional<HeapSnapshotTraces> traces_;
  MemoryCursor cursor_;
  HeapSnapshotWritten written_{};
  Strings node_names_{0};
  std::uint32_t texts_end_ = 0;
  std::optional<Strings> edge_names_;
  std::vector<std::uint32_t> folded_names_;
  std::array<std::uint32_t, kNamedOffsets / 8> offset_names_{};
  std::string text_;
  bool first_node_ = true, first_edge_ = true;
};

} // namespace

HeapSnapshotWritten export_heapsnapshot(const ContentsInput& input, const HeapSnapshotOptions& options, Sink& sink) {
  return HeapSnapshotWriter(input, options, sink).write();
}

} // namespace heaptape
