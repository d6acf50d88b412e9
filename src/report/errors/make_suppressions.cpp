#include "report/errors/make_suppressions.h"

#include <bit>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/errors/error_words.h"
#include "report/names/charged_function.h"

namespace heaptape {
namespace {

constexpr std::size_t kMostFrames = 24; // as many as valgrind takes

std::string subject_of(const ErrorContext& error) {
  if (!is_access(error.kind)) return "Memcheck:Free";
  constexpr std::uint64_t kLargest = 32; // of the sizes that valgrind knows
  const bool known = std::has_single_bit(error.found.length) && error.found.length <= kLargest;
  return fmt::format("Memcheck:Addr{}", known ? error.found.length : 1);
}

// A name as a pattern that fits it: what cannot stand in a line, or at its end, is any character.
std::string as_pattern(std::string_view name) {
  std::string pattern(name);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const auto byte = static_cast<unsigned char>(pattern[i]);
    const bool at_edge = i == 0 || i + 1 == pattern.size();
    if (byte < ' ' || byte >= 0x7f || (at_edge && byte == ' ')) pattern[i] = '?';
  }
  return pattern;
}

} // namespace

std::string suppressions_for(const TapeView& view, const ErrorList& list) {
  StackNames& names = view.names();
  std::string text;
  for (const ErrorContext& error : list.contexts) {
    const std::string headline = as_pattern(error_headline(error, view.tape().threads()));
    // The call that found a write is not to blame for it, and may find others.
    const bool by_maker = is_damage(error.kind) && error.block;
    const std::vector<FrameId> frames = names.frames_of(by_maker ? error.block->owner.stack : error.found.stack);
    if (frames.empty() || error.kind == ErrorKind::Other) {
      text += fmt::format("# {}: {}\n", headline,
                          frames.empty() ? "it has no stack that an entry could name" : "no entry can name it");
      continue;
    }
    text += fmt::format("{{\n   {}\n   {}\n", headline, subject_of(error));
    for (std::size_t i = 0; i < frames.size() && i < kMostFrames; ++i) {
      const NamedFrame& frame = names[frames[i]];
      if (!frame.linkage_name.empty())
        text += "   fun:" + as_pattern(frame.linkage_name) + "\n";
      else if (frame.module != nullptr)
        text += "   obj:" + as_pattern(frame.module->path) + "\n";
      else
        text += "   obj:*\n";
      if (starts_thread(names, frames[i])) break; // what is outside of it differs from one C library to the next
    }
    text += "}\n";
  }
  return text;
}

} // namespace heaptape
