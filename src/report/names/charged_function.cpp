#include "report/names/charged_function.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "report/names/plumbing_names.h"

namespace heaptape {
namespace {

constexpr std::array kStarts =
    std::to_array<std::string_view>({"__libc_start_call_main", "__libc_start_main", "__libc_start_main_impl", "_start",
                                     "start_thread", "clone", "clone3", "__clone", "__clone3", "__GI___clone3"});

bool is_plumbing(const StackNames& names, FrameId id) {
  const NamedFrame& frame = names[id];
  const bool in_brackets = names.is_run_time(id) && frame.linkage_name.starts_with('<'); // Python's <module>, <lambda>
  if (is_plumbing_module(names.text(frame.module_name))) return true;
  if (!in_brackets && is_plumbing_function(frame.linkage_name)) return true;
  return std::any_of(names.plumbing().begin(), names.plumbing().end(), [&](const Pattern& pattern) {
    return pattern.matches(names.text(frame.function)) || pattern.matches(names.full_name(id));
  });
}

bool is_nameless(const StackNames& names, FrameId frame) { return names[frame].linkage_name.empty(); }

// A function without a name whose caller is plumbing of the same module, or allocates by its name: its helper. In a stripped library a
// helper has helpers of its own: g_realloc <- glib+0x404f4 <- glib+0x407f0 <- g_hash_table_insert.
bool helps_plumbing(Plumbing& plumbing, std::span<const FrameId> frames) {
  constexpr std::size_t kMostHelpers = 8;
  const StackNames& names = plumbing.names();
  if (!is_nameless(names, frames[0])) return false;
  std::size_t at = 1;
  while (at < frames.size() && at < kMostHelpers && is_nameless(names, frames[at]) &&
         names[frames[at]].module == names[frames[0]].module)
    ++at;
  if (at == frames.size() || is_nameless(names, frames[at]) || !plumbing(frames[at])) return false;
  return names[frames[0]].module == names[frames[at]].module ||
         (at == 1 && is_named_after_allocating(names[frames[at]].linkage_name));
}

bool runs_python_function(const StackNames& names, std::span<const FrameId> frames) {
  if (!is_python_loop(names[frames[0]].linkage_name)) return false;
  constexpr std::size_t kNear =
      4; // between the loop and the function's frame there are a few functions of the interpreter
  for (std::size_t i = 1; i < frames.size() && i <= kNear; ++i)
    if (is_python_function(names[frames[i]].linkage_name)) return true;
  return false;
}

std::size_t next_outside(Plumbing& plumbing, std::span<const FrameId> frames, std::size_t at) {
  for (++at; at < frames.size() && plumbing(frames[at]);) ++at;
  return at;
}

// Whether a demangled name is this function's, or a closure's in it.
bool is_part_of(std::string_view name, std::string_view function) {
  const std::size_t at = name.find(function);
  if (at == name.npos || (at != 0 && name[at - 1] != ' ')) return false; // D puts attributes in front
  const std::size_t end = at + function.size();
  return end == name.size() || std::string_view(":<(.!").find(name[end]) != std::string_view::npos;
}

} // namespace

bool starts_thread(const StackNames& names, FrameId frame) {
  const std::string_view name = names[frame].linkage_name;
  return std::find(kStarts.begin(), kStarts.end(), name) != kStarts.end();
}

bool Plumbing::between(FrameId inside, FrameId frame) {
  return (*this)(frame) || (names_.is_of_interpreter(frame) && !names_.is_of_interpreter(inside));
}

bool Plumbing::operator()(FrameId frame) {
  if (known_.size() <= frame.value) known_.resize(std::max<std::size_t>(names_.frame_count(), frame.value + 1));
  std::uint8_t& known = known_[frame.value];
  if (known == 0) known = is_plumbing(names_, frame) ? 2 : 1;
  return known == 2;
}

std::string_view Plumbing::container(FrameId frame) {
  const auto [found, added] = containers_.try_emplace(frame);
  if (added) found->second = container_made_by(names_[frame].linkage_name);
  return found->second;
}

std::size_t charged_frame(Plumbing& plumbing, std::span<const FrameId> frames) {
  const StackNames& names = plumbing.names();
  std::optional<std::size_t> interpreter; // the innermost of its frames that could be charged
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (plumbing(frames[i])) continue;
    if (helps_plumbing(plumbing, frames.subspan(i))) continue;
    if (names.is_of_interpreter(frames[i])) {
      if (!interpreter) interpreter = i;
      continue;
    }
    if (interpreter && !names.is_run_time(frames[i])) break; // it works for an extension, or for itself
    if (runs_python_function(names, frames.subspan(i))) continue;
    const std::string around = enclosing_function(names[frames[i]].linkage_name);
    if (around.empty()) return i;
    const std::size_t next = next_outside(plumbing, frames, i);
    if (next == frames.size() || !is_part_of(names.full_name(frames[next]), around)) return i;
  }
  return interpreter.value_or(0);
}

void fold_plumbing(Plumbing& plumbing, std::vector<FrameId>& frames) {
  if (frames.empty()) return;
  const auto charged = frames.begin() + static_cast<std::ptrdiff_t>(charged_frame(plumbing, frames));
  auto kept = charged;
  for (auto frame = charged + 1; frame != frames.end(); ++frame) {
    if (!plumbing.between(*kept, *frame)) *++kept = *frame;
  }
  frames.erase(kept + 1, frames.end());
  frames.erase(frames.begin(), charged);
}

std::string_view made_in(Plumbing& plumbing, std::span<const FrameId> frames) {
  if (frames.empty()) return "block";
  std::string_view made;
  const std::size_t charged = charged_frame(plumbing, frames);
  for (std::size_t i = 0; i < charged; ++i) {
    const std::string_view what = plumbing.container(frames[i]);
    if (what.empty() || what == made) continue;
    // The innermost container made it; but strings of Rust are vectors inside.
    if (!made.empty()) return made == "vector" && what == "string" ? what : made;
    made = what;
  }
  return made.empty() ? "block" : made;
}

} // namespace heaptape
