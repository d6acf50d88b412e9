#include "report/text/inherited_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_text.h"

namespace heaptape {

std::string inheritance_text(const TapeReader& tape) {
  const auto& figures = tape.inheritance();
  if (!figures) return {};
  std::string text = fmt::format("{} in {} from process {} at the fork", bytes_text(figures->bytes),
                                 count_of(figures->blocks, "block"), figures->parent_pid);
  if (figures->left_out != 0)
    text += fmt::format(" (the smallest {} are not listed)", with_separators(figures->left_out));
  if (figures->released_blocks == 0) return text + ", of which none was released";
  return text + fmt::format(", of which {} in {} {} released", bytes_text(figures->released_bytes),
                            count_of(figures->released_blocks, "block"),
                            figures->released_blocks == 1 ? "was" : "were");
}

void write_inheritance_json(JsonWriter& json, const Inheritance& figures) {
  json.begin_object().field("parent_pid", figures.parent_pid).field("parent_event", figures.parent_event);
  json.field("parent_tape", std::string_view(figures.parent_tape));
  json.field("bytes", figures.bytes).field("blocks", figures.blocks);
  json.field("released_bytes", figures.released_bytes).field("released_blocks", figures.released_blocks);
  json.field("left_out_blocks", figures.left_out).end_object();
}

std::uint64_t truly_unknown(const TapeReader& tape, std::uint64_t unknown_releases) {
  return unknown_releases - std::min(unknown_releases, tape.inheritance() ? tape.inheritance()->released_blocks : 0);
}

} // namespace heaptape
