#include "report/changes/changes_text.h"

#include <cstdlib>

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/contents/root_names.h"
#include "report/names/stack_text.h"
#include "report/text/change_text.h"
#include "report/text/json_writer.h"
#include "report/text/snapshot_names.h"
#include "report/text/time_text.h"

namespace heaptape {
namespace {

std::string_view by_name(ChangesBy by) {
  switch (by) {
  case ChangesBy::Type: return "type";
  case ChangesBy::Function: return "function";
  case ChangesBy::Stack: return "stack";
  }
  return "";
}

std::string sum_text(const BlockSum& sum) { return bytes_text(sum.bytes) + " in " + count_of(sum.blocks, "block"); }

std::string side_text(const ChangedSide& side, bool with_tape) {
  std::string text = with_tape ? printable(side.view->path()) + ", " : std::string();
  text += side.memory != nullptr ? numbered_snapshot_text(side.memory->number, side.memory->name)
                                 : "'" + printable(side.moment.label) + "'";
  return text + fmt::format(", event {} at {} s: {}", with_separators(side.moment.event),
                            seconds_text(side.moment.time_us), sum_text(side.live));
}

// "+70.5 kB, +600 blocks: 601 new (71.5 kB), 1 gone (1.02 kB)"
std::string change_text(const SnapshotChanges& changes) {
  const auto bytes = static_cast<std::int64_t>(changes.after.live.bytes - changes.before.live.bytes);
  const auto blocks = static_cast<std::int64_t>(changes.after.live.blocks - changes.before.live.blocks);
  std::string text =
      signed_bytes_text(bytes) + ", " + signed_count_text(blocks) + (std::abs(blocks) == 1 ? " block" : " blocks");
  if (!changes.one_tape) return text;
  const auto part = [](const BlockSum& sum, std::string_view word) {
    if (sum.blocks == 0) return fmt::format("none {}", word);
    return fmt::format("{} {} ({})", with_separators(sum.blocks), word, bytes_text(sum.bytes));
  };
  return text + ": " + part(changes.made, "new") + ", " + part(changes.gone, "gone");
}

std::string change_word(const ChangedRow& row) {
  if (row.before.blocks == 0) return "new";
  if (row.after.blocks == 0) return "gone";
  if (row.bytes() == 0 && row.blocks() == 0) return "renewed";
  return (row.bytes() != 0 ? row.bytes() : row.blocks()) > 0 ? "grown" : "shrunk";
}

std::string place_text(const HeldAt& at) {
  if (!at.is_known() || at.highest == 0) return "";
  return at.lowest == at.highest ? fmt::format(" +{:#x}", at.lowest)
                                 : fmt::format(" +{:#x} to +{:#x}", at.lowest, at.highest);
}

// "g_cache (variables of shop) +0x10, through node of map<int, Order>"
std::string holder_text(const HeldBy& held) {
  if (held.is_lost) return "lost";
  const bool many_ways = held.root == kHeldInManyWays;
  std::string text = held.root + place_text(held.at);
  if (!held.holder.empty()) {
    text = held.holder + (held.holder_at != 0 ? fmt::format(" {:#x}", held.holder_at) : "") + place_text(held.at);
    text += (many_ways ? ", which is " : " in ") + held.root;
  }
  for (std::size_t i = 0; i < held.ways.size(); ++i)
    text += (i == 0 ? ": by " : i + 1 == held.ways.size() ? " and by " : ", by ") + held.ways[i];
  if (held.ways.size() == 1) text += " and others";
  return text;
}
// "through node of map<int, Order> -> Order"
std::string through_text(const HeldBy& held) {
  std::string text;
  for (std::size_t i = 0; i < held.through.size(); ++i)
    text.append(i == 0 ? "through " : " -> ").append(held.through[i]);
  return text.empty() ? "directly" : text;
}

std::string holders_text(const ChangedRow& row, bool one_tape) {
  constexpr std::string_view kIndent = "              ";
  const std::string_view now = one_tape ? "" : " now";
  std::string text;
  std::vector<bool> is_done(row.held_by.size());
  for (std::size_t i = 0; i < row.held_by.size(); ++i) {
    if (is_done[i]) continue;
    const HeldBy& first = row.held_by[i];
    const bool says_how = first.is_lost || (first.root == kHeldInManyWays && first.holder.empty());
    const std::string holder = (says_how ? "" : "held by ") + holder_text(first);
    BlockSum sum;
    std::string ways;
    std::size_t count = 0;
    for (std::size_t j = i; j < row.held_by.size(); ++j) {
      const HeldBy& held = row.held_by[j];
      if (held.is_lost != first.is_lost || holder_text(held) != holder_text(first)) continue;
      is_done[j] = true;
      ++count;
      sum.blocks += held.held.blocks;
      sum.bytes += held.held.bytes;
      ways +=
          fmt::format("{}  {}, such as {:#x}: {}\n", kIndent, sum_text(held.held), held.example, through_text(held));
    }
    if (count > 1)
      text += fmt::format("{}{}{}: {}\n{}", kIndent, sum_text(sum), now, holder, ways);
    else
      text += fmt::format("{}{}{}, such as {:#x}: {}{}\n", kIndent, sum_text(sum), now, first.example, holder,
                          first.through.empty() ? "" : (first.ways.empty() ? ", " : "; ") + through_text(first));
  }
  if (row.more_holders != 0)
    text += fmt::format("{}… {}\n", kIndent, count_of(row.more_holders, "more holder", "more holders"));
  return text;
}

// "new     21.3 MB in 259,510 blocks held by g_cache (variables of shop)", and what is lost; the largest.
std::string roots_text(const SnapshotChanges& changes) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < changes.roots.size() && i < kMost; ++i) {
    const RootSum& sum = changes.roots[i];
    text += i == 0 ? (changes.one_tape ? "new     " : "now     ") : "        ";
    if (sum.root.empty())
      text += fmt::format("{} lost: 'heaptape leaks {}@{}' has the causes\n", sum_text(sum.held),
                          printable(changes.after.view->path()), changes.after.memory->number);
    else if (sum.root == kHeldInManyWays)
      text += fmt::format("{} {}\n", sum_text(sum.held), sum.root);
    else
      text += fmt::format("{} held by {}\n", sum_text(sum.held), sum.root);
  }
  if (changes.roots.size() > kMost)
    text += fmt::format("        … {}\n", count_of(changes.roots.size() - kMost, "more holder", "more holders"));
  return text;
}

std::string row_line(const ChangedRow& row, bool one_tape) {
  const std::string counts =
      one_tape ? fmt::format("{:>11} {:>11}", with_separators(row.made.blocks), with_separators(row.gone.blocks))
               : fmt::format("{:>11} {:>11}", with_separators(row.before.blocks), with_separators(row.after.blocks));
  return fmt::format("{:>11} {:>11} {} {:<8} {}", signed_bytes_text(row.bytes()), signed_count_text(row.blocks()),
                     counts, change_word(row), printable(row.name));
}

void write_sum(JsonWriter& json, std::string_view name, const BlockSum& sum) {
  json.field(std::string(name) + "_blocks", sum.blocks).field(std::string(name) + "_bytes", sum.bytes);
}

void write_side(JsonWriter& json, std::string_view name, const ChangedSide& side) {
  json.key(name).begin_object().field("tape", std::string_view(side.view->path()));
  json.field("event", side.moment.event).field("time_us", side.moment.time_us);
  if (side.memory != nullptr)
    json.field("snapshot", side.memory->number).field("name", std::string_view(side.memory->name));
  json.field("blocks", side.live.blocks).field("bytes", side.live.bytes).end_object();
}

void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
  json.key(name).begin_array();
  for (const std::string& text : texts) json.value(std::string_view(text));
  json.end_array();
}

void write_holder(JsonWriter& json, const HeldBy& held) {
  json.begin_object().field("blocks", held.held.blocks).field("bytes", held.held.bytes);
  json.field("example", std::string_view(fmt::format("{:#x}", held.example))).field("lost", held.is_lost);
  if (!held.is_lost) {
    json.field("root", std::string_view(held.root));
    if (!held.holder.empty()) json.field("holder", std::string_view(held.holder));
    if (held.holder_at != 0) json.field("holder_address", std::string_view(fmt::format("{:#x}", held.holder_at)));
    if (held.at.is_known()) json.field("offset", held.at.lowest).field("last_offset", held.at.highest);
    write_texts(json, "through", held.through);
    if (!held.ways.empty()) write_texts(json, "ways", held.ways);
  }
  json.end_object();
}

void write_row(JsonWriter& json, const SnapshotChanges& changes, const ChangedRow& row) {
  json.begin_object().field(by_name(changes.by), std::string_view(row.name));
  if (!row.known_by.empty()) json.field("known_by", row.known_by);
  json.field("change", std::string_view(change_word(row)));
  json.field("bytes", row.bytes()).field("blocks", row.blocks());
  write_sum(json, "before", row.before);
  write_sum(json, "after", row.after);
  if (changes.one_tape) {
    write_sum(json, "new", row.made);
    write_sum(json, "gone", row.gone);
  }
  if (changes.by == ChangesBy::Stack) {
    const ChangedSide& side = row.of_after ? changes.after : changes.before;
    json.key("frames");
    StackText(side.view->names()).write_json(json, row.stack);
  }
  json.key("held_by").begin_array();
  for (const HeldBy& held : row.held_by) write_holder(json, held);
  json.end_array().field("more_holders", row.more_holders).end_object();
}

} // namespace

std::string changes_text(const SnapshotChanges& changes, const ChangesText& options) {
  std::string out;
  const auto line = [&](const std::string& text) {
    out += (options.style.width != 0 ? shortened(text, options.style.width) : text) + "\n";
  };
  line("before  " + side_text(changes.before, !changes.one_tape));
  line("after   " + side_text(changes.after, !changes.one_tape));
  if (changes.rows.empty()) {
    line(changes.one_tape
             ? "nothing changed: no block was made in between that is still there, and none is gone"
             : "nothing changed: both have as many blocks and bytes of each " + std::string(by_name(changes.by)));
    return out;
  }
  line("change  " + change_text(changes));
  if (!changes.no_holders.empty()) line("what holds the new blocks is not known: " + changes.no_holders);
  out += roots_text(changes) + "\n";
  out += options.style.dim(fmt::format("{:>11} {:>11} {:>11} {:>11} {:<8} {}", "bytes", "blocks",
                                       changes.one_tape ? "new" : "before", changes.one_tape ? "gone" : "after", "",
                                       by_name(changes.by))) +
         "\n";
  BlockSum more{}, less{};
  for (std::size_t i = 0; i < changes.rows.size(); ++i) {
    const ChangedRow& row = changes.rows[i];
    if (i < options.rows) {
      line(row_line(row, changes.one_tape));
      out += holders_text(row, changes.one_tape);
      continue;
    }
    more.blocks += row.after.blocks, more.bytes += row.after.bytes;
    less.blocks += row.before.blocks, less.bytes += row.before.bytes;
  }
  if (changes.rows.size() > options.rows)
    out += fmt::format("{:>11} {:>11}  in {} more; -n shows them\n",
                       signed_bytes_text(static_cast<std::int64_t>(more.bytes - less.bytes)),
                       signed_count_text(static_cast<std::int64_t>(more.blocks - less.blocks)),
                       with_separators(changes.rows.size() - options.rows));
  return out;
}

std::string changes_json(const SnapshotChanges& changes) {
  JsonWriter json;
  json.begin_object().field("by", by_name(changes.by));
  write_side(json, "from", changes.before);
  write_side(json, "to", changes.after);
  if (changes.one_tape) {
    write_sum(json, "new", changes.made);
    write_sum(json, "gone", changes.gone);
  }
  if (!changes.no_holders.empty()) json.field("no_holders", std::string_view(changes.no_holders));
  json.key("roots").begin_array();
  for (const RootSum& sum : changes.roots) {
    json.begin_object().field("lost", sum.root.empty());
    if (!sum.root.empty()) json.field("root", std::string_view(sum.root));
    json.field("blocks", sum.held.blocks).field("bytes", sum.held.bytes).end_object();
  }
  json.end_array();
  json.field("unchanged", changes.unchanged).key("changes").begin_array();
  for (const ChangedRow& row : changes.rows) write_row(json, changes, row);
  return json.end_array().end_object().text() + "\n";
}

} // namespace heaptape
