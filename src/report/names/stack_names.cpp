#include "report/names/stack_names.h"

#include <cstdio>

#include "base/path_text.h"
#include "report/names/recorder_code.h"

namespace heaptape {
namespace {

// The functions of <heaptape/heaptape.h> that report to the recorder: their caller is the answer.
bool is_our_header(const SymbolPlace& place) {
  const std::string_view file = base_name(place.file);
  return place.function.starts_with("heaptape_") && (file == "heaptape.h" || file == "pool.h");
}

// Of functions that have no file, CPython says "<frozen importlib._bootstrap>" and "<string>".
bool is_python_file(std::string_view file) { return file.ends_with(".py") || file.starts_with('<'); }
bool is_script_file(std::string_view file) {
  return file.ends_with(".js") || file.ends_with(".mjs") || file.ends_with(".cjs") || file.ends_with(".ts") ||
         file.starts_with("node:");
}

std::string hex(std::uint64_t number) {
  char text[24];
  const int size = std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return {text, static_cast<std::size_t>(size)};
}

} // namespace

StackNames::StackNames(const std::vector<Module>& modules, const std::vector<StackNode>& stacks, const Symbols& symbols,
                       NameForm form)
    : stacks_(stacks), places_(modules, stacks, symbols), form_(form), by_node_(stacks.size()) {
  intern("");
  for (const RunTimeCode& code : symbols.run_time_code()) {
    names_python_ |= is_python_file(code.file);
    names_scripts_ |= is_script_file(code.file);
  }
}

bool StackNames::is_of_interpreter(FrameId frame) const {
  if (!names_python_ && !names_scripts_) return false;
  if (names_scripts_ && text(frames_[frame.value].file).starts_with("node:")) return true; // its library in JavaScript
  const std::string_view module = text(frames_[frame.value].module_name);
  return (names_python_ && (module.starts_with("python3") || module.starts_with("libpython3"))) ||
         (names_scripts_ && (module == "node" || module == "nodejs" || module.starts_with("libnode.so")));
}

std::vector<FrameId> StackNames::frames_of(StackId stack) {
  std::vector<FrameId> frames;
  each_frame(stack, [&](FrameId frame) { frames.push_back(frame); });
  return frames;
}

std::string StackNames::full_name(FrameId frame) const {
  const NamedFrame& named = frames_[frame.value];
  if (named.linkage_name.empty()) return std::string(text(named.function));
  return demangle(named.linkage_name, NameForm::Full);
}

StackNames::Expansion StackNames::expand(StackId node, bool interrupted) {
  const Frame frame = places_.frame_of(node, interrupted);
  // What code made at run time was there depends on the time, which the node stands for.
  if (frame.module == nullptr && !frame.places.empty()) {
    const SymbolPlace& place = frame.places.front();
    const auto [same, is_new] = by_name_.try_emplace({place.function, place.file, place.line});
    if (is_new) same->second = name_places(frame);
    return same->second;
  }
  // Many nodes are the same place with other callers.
  const auto [found, added] = by_address_.try_emplace({frame.module, frame.address});
  if (added) found->second = name_places(frame);
  Expansion expansion = found->second;
  expansion.trampoline = interrupted;
  return expansion;
}

StackNames::Expansion StackNames::name_places(const Frame& frame) {
  Expansion expansion{.first = static_cast<std::uint32_t>(frames_.size()), .known = true};
  // The hooks tail-call into the recorder's own code only where the compiler chose to; our code is never the answer.
  if (frame.module != nullptr && is_recorder(*frame.module)) return expansion;
  if (frame.places.empty()) add(frame, {}, false);
  for (std::size_t i = 0; i < frame.places.size(); ++i) {
    if (is_our_header(frame.places[i])) continue;
    // A compiler that splits a function inlines its one part into the other; that is still one call.
    const bool again =
        i != 0 && !frame.places[i].function.empty() && frame.places[i].function == frame.places[i - 1].function;
    if (!again)
      add(frame, frame.places[i], i + 1 < frame.places.size());
    else if (i + 1 == frame.places.size())
      frames_.back().inlined = false;
  }
  expansion.count = static_cast<std::uint32_t>(frames_.size()) - expansion.first;
  return expansion;
}

void StackNames::add(const Frame& frame, const SymbolPlace& place, bool inlined) {
  NamedFrame named{.linkage_name = place.function,
                   .line = place.line,
                   .column = place.column,
                   .module = frame.module,
                   .offset = frame.offset,
                   .inlined = inlined};
  const std::string_view module = frame.module != nullptr ? base_name(frame.module->path)
                                  : frame.places.empty()  ? "?"
                                                          : kRunTimeModule;
  named.module_name = intern(module);
  named.file = intern(place.file);
  if (place.function.empty()) {
    named.function = intern(std::string(module) + "+" + hex(frame.offset));
  } else {
    // Python's <module> and <lambda> look like types of Rust.
    const bool as_it_is = frame.module == nullptr && place.function.starts_with('<');
    named.function = as_it_is ? intern(place.function) : intern_function(place.function);
  }
  frames_.push_back(named);
}

NameId StackNames::intern(std::string_view text) {
  const auto [found, added] = ids_.try_emplace(std::string(text), NameId(static_cast<std::uint32_t>(texts_.size())));
  if (added) texts_.push_back(found->first);
  return found->second;
}

NameId StackNames::intern_function(std::string_view linkage_name) {
  const auto found = functions_.find(linkage_name);
  if (found != functions_.end()) return found->second;
  const NameId name = intern(demangle(linkage_name, form_));
  functions_.emplace(linkage_name, name);
  return name;
}

} // namespace heaptape
