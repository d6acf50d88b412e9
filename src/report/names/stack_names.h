// The frames of call stacks as people see them: named functions with their source lines, inlined ones among them.
// Frames and names have dense numbers, so that comparing or grouping many stacks need not touch text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "report/names/frame_places.h"
#include "report/names/pattern.h"
#include "symbols/demangle.h"
#include "tape/contents.h"
#include "tape/symbols.h"
#include "wire/stack_roots.h"

namespace heaptape {

// One function's part in a stack: a call that was made there, or where the stack ends. Two stacks that came by the same
// place share its FrameId.
using FrameId = Id<struct FrameTag>;
// A text of a StackNames; equal texts have equal ids.
using NameId = Id<struct NameTag>;

struct NamedFrame {
  NameId function{}; // in the form asked for; "libc.so.6+0x8a1f3" when it is not known, "?+0x7f.." without a module
  NameId file{};     // path; empty: not known
  NameId
      module_name{}; // last part of the module's path; "?" when there is none, kRunTimeModule for code made at run time
  std::string_view linkage_name{}; // as in the binary; empty: not known
  std::uint32_t line = 0;          // 0: not known
  std::uint32_t column = 0;        // 0: not known
  const Module* module = nullptr;
  std::uint64_t offset = 0; // return address as the module's file counts it; the memory address without a module
  bool inlined = false;     // its code lies in the function of the next frame outside
};

// What stands for the module of code that the program made at run time and gave a name to.
inline constexpr std::string_view kRunTimeModule = "[jit]";

// How the stack ends at its outer side.
enum class StackEnd : std::uint8_t { Whole, Cut, TooDeep };

// The tables must outlive it. Names each frame when it is first asked for and then knows it. One thread at a time.
class StackNames {
public:
  StackNames(const std::vector<Module>& modules, const std::vector<StackNode>& stacks, const Symbols& symbols,
             NameForm form);
  StackNames(const StackNames&) = delete;
  StackNames& operator=(const StackNames&) = delete;

  // Calls visit(FrameId) for every frame, innermost first. Frames of the recorder itself are left out.
  template <class Visit>
  StackEnd each_frame(StackId stack, Visit visit) {
    StackEnd end = StackEnd::Whole;
    bool interrupted = false;
    while (stack.value != 0 && stack.value < stacks_.size()) {
      const StackNode& node = stacks_[stack.value];
      if (node.pc >= wire::kFirstAddress) {
        const Expansion frames = expansion_of(stack, interrupted);
        for (std::uint32_t i = 0; i < frames.count; ++i) visit(FrameId(frames.first + i));
        interrupted = frames.trampoline;
      } else if (node.pc == wire::kRootCut) {
        end = StackEnd::Cut;
      } else if (node.pc == wire::kRootTooDeep) {
        end = StackEnd::TooDeep;
      }
      if (node.parent.value >= stack.value) break; // never on a good tape
      stack = node.parent;
    }
    return end;
  }
  // The same as a list.
  std::vector<FrameId> frames_of(StackId stack);

  // Valid until the next call of each_frame() or frames_of().
  const NamedFrame& operator[](FrameId frame) const { return frames_[frame.value]; }
  std::size_t frame_count() const { return frames_.size(); }

  // Valid as long as this object.
  std::string_view text(NameId name) const { return texts_[name.value]; }
  std::string_view function(FrameId frame) const { return text(frames_[frame.value].function); }
  // What the user calls plumbing, besides what charged_function.h knows. Set it before anything is charged.
  void set_plumbing(std::vector<Pattern> patterns) { plumbing_ = std::move(patterns); }
  const std::vector<Pattern>& plumbing() const { return plumbing_; }
  // The frame lies in the program of an interpreter (CPython, node) whose functions have frames and names of their own on this tape: it
  // works for the function outside of it.
  bool is_of_interpreter(FrameId frame) const;
  // Made at run time, and it has a name.
  bool is_run_time(FrameId frame) const {
    return frames_[frame.value].module == nullptr && !frames_[frame.value].linkage_name.empty();
  }
  // The demangled name with parameters, whatever form was asked for; equal to function() when that is not known.
  std::string full_name(FrameId frame) const;

private:
  struct Expansion {
    std::uint32_t first = 0; // in frames_
    std::uint32_t count = 0;
    bool known = false;
    bool trampoline = false; // the frame outside it was interrupted
  };

  Expansion expansion_of(StackId node, bool interrupted) {
    if (!interrupted) {
      const Expansion& kept = by_node_[node.value];
      return kept.known ? kept : by_node_[node.value] = expand(node, false);
    }
    return expand(node, true);
  }
  Expansion expand(StackId node, bool interrupted);
  Expansion name_places(const Frame& frame);
  void add(const Frame& frame, const SymbolPlace& place, bool inlined);
  NameId intern(std::string_view text);
  NameId intern_function(std::string_view linkage_name);

  const std::vector<StackNode>& stacks_;
  FramePlaces places_;
  NameForm form_;
  bool names_python_ = false, names_scripts_ = false; // functions of these have names, as code made at run time
  std::vector<Pattern> plumbing_;
  std::vector<NamedFrame> frames_;
  std::vector<Expansion> by_node_;
  std::map<std::pair<const Module*, std::uint64_t>, Expansion> by_address_;
  std::map<std::tuple<std::string_view, std::string_view, std::uint32_t>, Expansion> by_name_; // made at run time
  std::vector<std::string_view> texts_; // by NameId; they lie in ids_
  std::unordered_map<std::string, NameId> ids_;
  std::unordered_map<std::string_view, NameId> functions_; // by linkage name, which lies in the symbols
};

} // namespace heaptape
