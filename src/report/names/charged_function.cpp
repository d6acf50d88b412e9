#include "report/names/charged_function.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

namespace heaptape {
namespace {

// Libraries that allocate on behalf of their caller.
constexpr std::array kPlumbingModules = std::to_array<std::string_view>(
    {"libc.so", "libc-", "libstdc++.so", "libc++.so", "libc++abi.so", "ld-linux", "libgcc_s.so", "libpthread"});
constexpr std::array kPlumbingScopes =
    std::to_array<std::string_view>({"std::", "__gnu_cxx::", "operator new", "alloc::", "core::", "hashbrown::"});
constexpr std::array kPlumbingWords = std::to_array<std::string_view>({"alloc", "strdup", "strndup", "memdup"});

constexpr std::array kStarts =
    std::to_array<std::string_view>({"__libc_start_call_main", "__libc_start_main", "__libc_start_main_impl", "_start",
                                     "start_thread", "clone", "clone3", "__clone", "__clone3", "__GI___clone3"});

template <class List>
bool begins_with_any(std::string_view text, const List& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view each) { return text.starts_with(each); });
}

// The name behind the last "::", in small letters and without template arguments.
std::string last_word(std::string_view name) {
  name = name.substr(0, std::min(name.find('<'), name.find('(')));
  if (const std::size_t scope = name.rfind("::"); scope != name.npos) name.remove_prefix(scope + 2);
  std::string word(name);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

bool has_allocating_name(const StackNames& names, const NamedFrame& frame) {
  if (frame.linkage_name.empty()) return false;
  const std::string word = last_word(names.text(frame.function));
  return std::any_of(kPlumbingWords.begin(), kPlumbingWords.end(),
                     [&](std::string_view each) { return word.find(each) != word.npos; });
}

bool is_plumbing(const StackNames& names, const NamedFrame& frame) {
  if (begins_with_any(names.text(frame.module_name), kPlumbingModules)) return true;
  if (frame.linkage_name.empty()) return false;
  const std::string_view name = names.text(frame.function);
  return begins_with_any(name, kPlumbingScopes) || has_allocating_name(names, frame);
}

} // namespace

bool starts_thread(const StackNames& names, FrameId frame) {
  const std::string_view name = names[frame].linkage_name;
  return std::find(kStarts.begin(), kStarts.end(), name) != kStarts.end();
}

bool Plumbing::is_nameless(FrameId frame) const { return names_[frame].linkage_name.empty(); }
bool Plumbing::allocates(FrameId frame) const { return has_allocating_name(names_, names_[frame]); }

bool Plumbing::operator()(FrameId frame) {
  if (known_.size() <= frame.value) known_.resize(std::max<std::size_t>(names_.frame_count(), frame.value + 1));
  std::uint8_t& known = known_[frame.value];
  if (known == 0) known = is_plumbing(names_, names_[frame]) ? 2 : 1;
  return known == 2;
}

std::size_t charged_frame(Plumbing& plumbing, std::span<const FrameId> frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (plumbing(frames[i])) continue;
    const bool helps = plumbing.is_nameless(frames[i]) && i + 1 < frames.size() && plumbing.allocates(frames[i + 1]);
    if (!helps) return i;
  }
  return 0;
}

} // namespace heaptape
