// A tree of costs as text and as JSON.
//
//   -> 39.26% (2,048B, 2x): test_calloc [sample.cpp:41]
//   |  <- main [sample.cpp:120]
//   |
//   -> 19.63% (1,024B, 1x): test_malloc [sample.cpp:30]
//
// A node whose cost is that of its only child does not repeat it: the child follows as "<-" (a caller) or ">" (a
// callee).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/figures/call_tree.h"
#include "report/names/stack_text.h"
#include "report/text/json_writer.h"
#include "report/text/text_style.h"
#include "tape/contents.h"

namespace heaptape {

// What the costs of a tree are: bytes and blocks, differences of these, or microseconds of CPU time and samples.
enum class TreeUnit : std::uint8_t { Heap, Changes, CpuTime };

struct TreeTextOptions {
  TreeOptions tree; // that it was made with
  TextStyle style{};
  bool expand = false; // every frame with its cost on a line, as a node of its own
  TreeUnit unit = TreeUnit::Heap;
};

// Lines that end with a newline; nothing for an empty tree.
std::string tree_text(const StackNames& names, const std::vector<Thread>& threads, const TreeNode& root,
                      const TreeTextOptions& options);

// {"bytes":..,"blocks":..,"function":..,"children":[..]}: one object per node. Of CPU time: "us" and "periods".
void write_tree_json(JsonWriter& json, const StackNames& names, const std::vector<Thread>& threads,
                     const TreeNode& node, TreeUnit unit = TreeUnit::Heap);

// "Cache::insert", "thread 3 (worker)", "blocks of 16 to 31 bytes", "(no caller)", ...
std::string node_label(const StackNames& names, const std::vector<Thread>& threads, const TreeNode& node,
                       TreeDirection direction);
// frame_location() for a function that was passed at these lines of its file: "cache.cpp:88,91,70,…".
std::string frame_location(const StackNames& names, FrameId frame, std::span<const LineCost> lines);
// "thread 3 (worker)"
std::string thread_label(const std::vector<Thread>& threads, ThreadId thread);

} // namespace heaptape
