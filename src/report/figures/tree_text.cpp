#include "report/figures/tree_text.h"

#include <algorithm>

#include "analysis/index/log_buckets.h"
#include "base/number_text.h"
#include "base/path_text.h"
#include "report/names/charged_function.h"
#include "report/text/change_text.h"
#include "report/text/time_text.h"

namespace heaptape {
namespace {

constexpr std::size_t kLinesShown = 3;  // of one function
constexpr std::size_t kChainShown = 12; // frames in a row that nothing branches off from
constexpr std::size_t kNarrowestName = 16;
constexpr std::string_view kIn = " in "; // "in 3 places"

// "/build/project-1.2/src/cache.cpp": enough to know it by is "src/cache.cpp".
std::string_view last_two_parts(std::string_view path) {
  const std::size_t last = path.rfind('/');
  if (last == path.npos || last == 0) return path;
  const std::size_t before = path.rfind('/', last - 1);
  return before == path.npos ? path : path.substr(before + 1);
}

std::string node_location(const StackNames& names, const TreeNode& node) {
  return node.kind == TreeNodeKind::Function ? frame_location(names, node.frame, node.lines) : std::string();
}

const TreeNode kNothingMore{};

class TreeText {
public:
  TreeText(const StackNames& names, const std::vector<Thread>& threads, const TreeNode& root,
           const TreeTextOptions& options)
      : names_(names), threads_(threads), options_(options), total_(root.weight) {}

  std::string draw(const TreeNode& root) {
    children(root, "");
    return std::move(out_);
  }

private:
  void children(const TreeNode& node, const std::string& guides) {
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      const bool last = i + 1 == node.children.size();
      draw_node(node.children[i], guides, last);
      // Room between the larger ones.
      if (guides.empty() && !last && !node.children[i].children.empty()) out_ += "|\n";
    }
  }

  void draw_node(const TreeNode& node, const std::string& guides, bool last) {
    const std::string inner = guides + (last ? "  " : "| ");
    if (is_left_out(node)) {
      out_ += guides + figures(node.cost) + left_out(node) + "\n";
      return;
    }
    put(guides, figures(node.cost) + ": ", node, node.weight * 10 >= total_);
    const TreeNode& end = options_.expand ? node : chain(node, inner);
    if (!options_.expand && is_left_out(end)) {
      out_ += inner + arrow() + options_.style.dim(left_out(end).substr(kIn.size())) + "\n";
      return;
    }
    children(end, inner);
  }

  // An only child has its parent's cost: children add up.
  static bool follows_alone(const TreeNode& node) {
    return node.children.size() == 1 && !is_left_out(node.children[0]);
  }
  static bool is_left_out(const TreeNode& node) {
    return node.kind == TreeNodeKind::Pruned || node.kind == TreeNodeKind::Deeper;
  }
  const char* arrow() const { return options_.tree.direction == TreeDirection::BottomUp ? " <- " : " > "; }

  // Draws only children of only children; gives the last of them.
  const TreeNode& chain(const TreeNode& node, const std::string& guides) {
    const bool bottom_up = options_.tree.direction == TreeDirection::BottomUp;
    const TreeNode* at = &node;
    std::size_t shown = 0, hidden = 0;
    while (follows_alone(*at)) {
      if (bottom_up && is_start_up(at->children[0])) {
        at = &kNothingMore;
        break;
      }
      at = &at->children[0];
      if (shown < kChainShown || (hidden == 0 && !follows_alone(*at))) {
        put(guides, arrow(), *at, false);
        ++shown;
      } else {
        ++hidden;
      }
    }
    if (hidden != 0) {
      out_ += guides + arrow() +
              options_.style.dim("… " + count_of(hidden, bottom_up ? "more caller" : "more call") +
                                 " (--expand shows them)") +
              "\n";
    }
    // All of it is in places too small to be shown: no need to say so with the same figures again.
    return at->children.size() == 1 && is_left_out(at->children[0]) ? at->children[0] : *at;
  }

  // Whether from here on there is nothing but the C library starting the program, which is the same for every stack.
  bool is_start_up(const TreeNode& node) const {
    const TreeNode* at = &node;
    while (follows_alone(*at)) at = &at->children[0];
    return at->children.empty() && node.kind == TreeNodeKind::Function && starts_thread(names_, node.frame);
  }

  void put(const std::string& guides, const std::string& front, const TreeNode& node, bool heavy) {
    std::string label = node_label(names_, threads_, node, options_.tree.direction);
    std::string location = node_location(names_, node);
    if (options_.style.width != 0) {
      const std::size_t taken = columns_of(guides) + columns_of(front);
      const std::size_t room = options_.style.width > taken ? options_.style.width - taken : 0;
      // A name says more than its place.
      if (columns_of(location) + 3 + kNarrowestName > room && columns_of(label) + columns_of(location) + 3 > room)
        location.clear();
      label = shortened(label, room - std::min(room, location.empty() ? 0 : columns_of(location) + 3));
    }
    out_ += guides + front + (heavy ? options_.style.bold(label) : label);
    if (!location.empty()) out_ += options_.style.dim(in_brackets(location));
    out_ += '\n';
  }

  std::string figures(const Cost& cost) const {
    const bool changes = options_.tree.changes;
    const std::uint64_t amount = measured(cost, options_.tree.measure);
    const double part = changes ? static_cast<double>(signed_of(amount)) : static_cast<double>(amount);
    const double share = total_ == 0 ? 0 : 100.0 * part / static_cast<double>(total_);
    const std::string percent =
        "-> " + padded_right((changes && share > 0 ? "+" : "") + decimal_text(share, 2), changes ? 6 : 5) + "% (";
    if (options_.unit == TreeUnit::CpuTime) return percent + cpu_time_text(cost.bytes) + ")";
    if (changes)
      return percent + signed_count_text(signed_of(cost.bytes)) + "B, " + signed_count_text(signed_of(cost.blocks)) +
             "x)";
    return percent + with_separators(cost.bytes) + "B, " + with_separators(cost.blocks) + "x)";
  }

  std::string left_out(const TreeNode& node) const {
    const std::string places = std::string(kIn) + count_of(node.places, "place");
    if (node.kind == TreeNodeKind::Deeper) return places + " below --depth " + std::to_string(options_.tree.depth);
    return places + (node.places == 1 ? ", below the " : ", all below the ") +
           decimal_text(options_.tree.threshold_percent, 2) + "% threshold";
  }

  const StackNames& names_;
  const std::vector<Thread>& threads_;
  const TreeTextOptions& options_;
  std::uint64_t total_;
  std::string out_;
};

const char* kind_word(TreeNodeKind kind) {
  switch (kind) {
  case TreeNodeKind::Root: return "root";
  case TreeNodeKind::Function: return "function";
  case TreeNodeKind::File: return "file";
  case TreeNodeKind::Module: return "module";
  case TreeNodeKind::Thread: return "thread";
  case TreeNodeKind::Size: return "size";
  case TreeNodeKind::Itself: return "itself";
  case TreeNodeKind::NoStack: return "no stack";
  case TreeNodeKind::Cut: return "cut";
  case TreeNodeKind::TooDeep: return "too deep";
  case TreeNodeKind::Pruned: return "pruned";
  case TreeNodeKind::Deeper: return "deeper";
  }
  return "?";
}

void write_cost(JsonWriter& json, const Cost& cost, TreeUnit unit) {
  const bool heap = unit != TreeUnit::CpuTime;
  if (unit == TreeUnit::Changes)
    json.field("bytes", signed_of(cost.bytes)).field("blocks", signed_of(cost.blocks));
  else
    json.field(heap ? "bytes" : "us", cost.bytes).field(heap ? "blocks" : "periods", cost.blocks);
}

void write_frame(JsonWriter& json, const StackNames& names, const TreeNode& node, TreeUnit unit) {
  const NamedFrame& frame = names[node.frame];
  if (frame.file.value != 0) json.field("file", names.text(frame.file));
  if (!node.lines.empty()) {
    json.key("lines").begin_array();
    for (const LineCost& line : node.lines) {
      json.begin_object().field("line", line.line);
      write_cost(json, line.cost, unit);
      json.end_object();
    }
    json.end_array();
  }
  if (frame.module != nullptr) json.field("module", std::string_view(frame.module->path));
}

} // namespace

std::string thread_label(const std::vector<Thread>& threads, ThreadId thread) {
  const auto found =
      std::find_if(threads.begin(), threads.end(), [&](const Thread& each) { return each.id == thread; });
  std::string label = "thread " + std::to_string(thread.value);
  return found != threads.end() && !found->name.empty() ? label + " (" + printable(found->name) + ")" : label;
}

std::string frame_location(const StackNames& names, FrameId frame, std::span<const LineCost> lines) {
  if (lines.size() < 2) return frame_location(names, frame);
  std::string text = printable(base_name(names.text(names[frame].file))) + ":";
  for (std::size_t i = 0; i < lines.size() && i < kLinesShown; ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(lines[i].line);
  }
  return lines.size() > kLinesShown ? text + ",…" : text;
}

std::string node_label(const StackNames& names, const std::vector<Thread>& threads, const TreeNode& node,
                       TreeDirection direction) {
  switch (node.kind) {
  case TreeNodeKind::Thread: return thread_label(threads, node.thread);
  case TreeNodeKind::Size: {
    if (node.size_bucket <= 1) return "blocks of " + count_of(node.size_bucket, "byte");
    return "blocks of " + with_separators(log_bucket_first(node.size_bucket)) + " to " +
           with_separators(log_bucket_last(node.size_bucket)) + " bytes";
  }
  case TreeNodeKind::Itself: return direction == TreeDirection::BottomUp ? "(no caller)" : "(itself)";
  case TreeNodeKind::NoStack: return "(no stack)";
  case TreeNodeKind::Cut: return "(outer frames unknown)";
  case TreeNodeKind::TooDeep: return "(more frames than were recorded)";
  case TreeNodeKind::File: return printable(last_two_parts(names.text(node.name)));
  case TreeNodeKind::Root:
  case TreeNodeKind::Function:
  case TreeNodeKind::Module:
  case TreeNodeKind::Pruned:
  case TreeNodeKind::Deeper: break;
  }
  return printable(names.text(node.name));
}

std::string tree_text(const StackNames& names, const std::vector<Thread>& threads, const TreeNode& root,
                      const TreeTextOptions& options) {
  return TreeText(names, threads, root, options).draw(root);
}

void write_tree_json(JsonWriter& json, const StackNames& names, const std::vector<Thread>& threads,
                     const TreeNode& node, TreeUnit unit) {
  json.begin_object().field("kind", kind_word(node.kind));
  write_cost(json, node.cost, unit);
  if (node.kind == TreeNodeKind::Function) {
    json.field("function", names.text(node.name));
    write_frame(json, names, node, unit);
  } else if (node.kind == TreeNodeKind::File || node.kind == TreeNodeKind::Module) {
    json.field("name", names.text(node.name));
  } else if (node.kind == TreeNodeKind::Thread) {
    json.field("thread", node.thread.value).field("name", std::string_view(thread_label(threads, node.thread)));
  } else if (node.kind == TreeNodeKind::Size) {
    json.field("smallest", log_bucket_first(node.size_bucket)).field("largest", log_bucket_last(node.size_bucket));
  } else if (node.kind == TreeNodeKind::Pruned || node.kind == TreeNodeKind::Deeper) {
    json.field("places", node.places);
  }
  if (!node.children.empty()) {
    json.key("children").begin_array();
    for (const TreeNode& child : node.children) write_tree_json(json, names, threads, child, unit);
    json.end_array();
  }
  json.end_object();
}

} // namespace heaptape
