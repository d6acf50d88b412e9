// A program made of named functions, and stacks through them, without any file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/names/stack_names.h"
#include "wire/stack_roots.h"

namespace heaptape::test {

class Stacks {
public:
  Stacks() { add_module("/usr/bin/program"); }

  // Functions added from now on lie in it.
  void add_module(const std::string& path) {
    const std::uint64_t start = 0x10'0000 * (modules.size() + 1);
    modules.push_back({.path = path,
                       .build_id = {static_cast<std::uint8_t>(modules.size())},
                       .load_bias = start,
                       .start = start,
                       .end = start + 0x10'0000,
                       .first_seen_us = 0,
                       .segments = {}});
  }
  // A place in a function, which later stacks can go through by this key. Without a function it stays unknown. Those
  // inlined there come first.
  void add_place(const std::string& key, const std::vector<SourcePlace>& places) {
    const std::uint64_t offset = 0x1000 + 0x10 * places_.size();
    places_[key] = modules.back().load_bias + offset;
    const Symbols::File file = symbols.add_file(modules.back().path, modules.back().build_id);
    symbols.set(file, offset - 1, places);
  }
  void add_function(const std::string& name, const std::string& file = "", std::uint32_t line = 0) {
    add_place(name, {SourcePlace{.function = name, .file = file, .line = line}});
  }

  // A stack through places, outermost first. Functions that were not added are made up, without a line.
  StackId stack(const std::vector<std::string>& keys, std::uint64_t root_mark = 0, StackId outside = {}) {
    StackId at = outside;
    if (root_mark != 0) at = node(at, root_mark);
    for (const std::string& key : keys) {
      if (!places_.contains(key)) add_function(key);
      at = node(at, places_[key]);
    }
    return at;
  }

  std::vector<Module> modules;
  std::vector<StackNode> stacks{StackNode{}};
  Symbols symbols;

  // Any address, called from a stack.
  StackId node(StackId parent, std::uint64_t pc) {
    const auto [found, added] =
        nodes_.try_emplace({parent.value, pc}, StackId(static_cast<std::uint32_t>(stacks.size())));
    if (added) stacks.push_back({parent, pc});
    return found->second;
  }

private:
  std::map<std::string, std::uint64_t> places_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, StackId> nodes_;
};

} // namespace heaptape::test
