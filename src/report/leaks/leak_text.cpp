#include "report/leaks/leak_text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/text/snapshot_names.h"
#include "report/text/time_text.h"

namespace heaptape {
namespace {

constexpr std::array kClasses{LeakClass::Definitely, LeakClass::Indirectly, LeakClass::Possibly, LeakClass::Reachable};
constexpr std::size_t kStacksShown = 5;
constexpr std::size_t kCallers = 3, kMostCallers = 8;

std::string sum_text(const LeakTotals& totals) {
  return bytes_text(totals.bytes) + " in " + count_of(totals.blocks, "block");
}

std::string class_line(std::string_view name, const LeakTotals& totals, std::string_view rest = {}) {
  return fmt::format("  {:<16} {:>10} in {}{}\n", name, bytes_text(totals.bytes), count_of(totals.blocks, "block"),
                     rest);
}

std::string reference_text(const LeakSite& site) {
  switch (site.reference) {
  case WeakReference::Inside: return fmt::format("pointed to only at +{:#x}", site.offset);
  case WeakReference::Unaligned: return "pointed to only by a word that is not aligned";
  case WeakReference::Behind: return "pointed to only right behind its end";
  }
  return "";
}

struct ShownSite {
  LeakSite site;
  std::string chain;
};
// Sites that would read alike are told apart by more callers, or else are one.
std::vector<ShownSite> shown_sites(const LeakReport& report, StackText& stacks, bool definite) {
  const auto key_of = [](const LeakSite& site, std::string chain) {
    return std::tuple(site.cycle, site.reference, site.offset, std::move(chain));
  };
  using Key = decltype(key_of(LeakSite(), ""));
  std::map<Key, std::size_t> alike;
  for (const LeakSite& site : report.sites)
    if (site.definite == definite) ++alike[key_of(site, stacks.chain(site.stack, kCallers))];
  std::vector<ShownSite> shown;
  std::map<Key, std::size_t> places;
  for (const LeakSite& site : report.sites) {
    if (site.definite != definite) continue;
    std::string chain = stacks.chain(site.stack, kCallers);
    if (alike[key_of(site, chain)] != 1) chain = stacks.chain(site.stack, kMostCallers);
    const auto [place, is_new] = places.try_emplace(key_of(site, chain), shown.size());
    if (is_new) {
      shown.push_back({site, std::move(chain)});
      continue;
    }
    LeakSite& sum = shown[place->second].site;
    sum.direct.blocks += site.direct.blocks, sum.direct.bytes += site.direct.bytes;
    sum.indirect.blocks += site.indirect.blocks, sum.indirect.bytes += site.indirect.bytes;
  }
  std::ranges::stable_sort(shown, std::ranges::greater(),
                           [](const ShownSite& each) { return each.site.direct.bytes + each.site.indirect.bytes; });
  return shown;
}

std::string site_text(const ShownSite& shown) {
  const LeakSite& site = shown.site;
  std::string text = fmt::format("  {:>10} in ", bytes_text(site.direct.bytes));
  text += site.cycle == 1 ? count_of(site.direct.blocks, "block")
                          : fmt::format("{} in a cycle of {}", count_of(site.direct.blocks, "block"), site.cycle);
  if (site.cycle != 1 && site.direct.blocks != 1) text += " each";
  if (!site.definite) text += ", " + reference_text(site);
  if (site.indirect.blocks != 0)
    text += fmt::format(", and {} that only {} to", sum_text(site.indirect),
                        site.direct.blocks == 1 ? "it leads" : "they lead");
  text += fmt::format(", such as {:#x}\n", site.example);
  return text + "             " + printable(shown.chain) + "\n";
}

std::string sites_text(const LeakReport& report, StackText& stacks, const TextStyle& style, std::size_t rows,
                       bool definite) {
  const std::vector<ShownSite> shown = shown_sites(report, stacks, definite);
  const std::size_t count = shown.size();
  if (count == 0) return {};
  std::string text;
  for (std::size_t i = 0; i < std::min(count, rows); ++i) text += site_text(shown[i]);
  if (count > rows) text += "  … " + with_separators(count - rows) + " more; -n shows them\n";
  return "\n" + style.bold(definite ? "Definitely lost" : "Possibly lost") + style.dim(", by where it was made") +
         "\n" + text;
}

std::string_view reference_word(WeakReference reference) {
  switch (reference) {
  case WeakReference::Inside: return "inside";
  case WeakReference::Unaligned: return "unaligned";
  case WeakReference::Behind: return "behind";
  }
  return "";
}

void write_totals(JsonWriter& json, const LeakTotals& totals) {
  json.begin_object().field("blocks", totals.blocks).field("bytes", totals.bytes).end_object();
}

void write_holders(JsonWriter& json, const std::vector<LeakHolder>& holders) {
  json.begin_array();
  for (const LeakHolder& holder : holders)
    json.begin_object()
        .field("root", std::string_view(holder.root))
        .field("blocks", holder.held.blocks)
        .field("bytes", holder.held.bytes)
        .end_object();
  json.end_array();
}

void write_sites(JsonWriter& json, const LeakReport& report, StackText& stacks, bool definite) {
  json.begin_array();
  for (const LeakSite& site : report.sites) {
    if (site.definite != definite) continue;
    json.begin_object().field("blocks", site.direct.blocks).field("bytes", site.direct.bytes);
    json.field("indirect_blocks", site.indirect.blocks).field("indirect_bytes", site.indirect.bytes);
    if (definite)
      json.field("cycle", site.cycle);
    else
      json.field("reference", reference_word(site.reference)).field("offset", site.offset);
    json.field("example", std::string_view(fmt::format("{:#x}", site.example))).field("stack_id", site.stack.value);
    stacks.write_json(json.key("stack"), site.stack);
    json.end_object();
  }
  json.end_array();
}

} // namespace

std::string snapshot_words(std::uint64_t number, const std::string& name, std::uint64_t event, std::uint64_t time_us) {
  return fmt::format("memory of {}, event {} at {} s", numbered_snapshot_text(number, name), with_separators(event),
                     seconds_text(time_us));
}

std::string leak_summary(const LeakReport& report) {
  const LeakTotals &definite = report.of(LeakClass::Definitely), &indirect = report.of(LeakClass::Indirectly),
                   &possible = report.of(LeakClass::Possibly);
  std::string text;
  if (definite.blocks != 0) text = "definitely lost " + sum_text(definite);
  if (indirect.blocks != 0) text += ", and " + sum_text(indirect) + " that only they lead to";
  if (possible.blocks != 0) text += (text.empty() ? "possibly lost " : "; possibly lost ") + sum_text(possible);
  return text.empty() ? "nothing is lost" : text;
}

std::string leak_text(const LeakReport& report, StackText& stacks, const TextStyle& style, std::size_t rows) {
  std::string text = style.dim(snapshot_words(report.snapshot, report.name, report.event, report.time_us)) + "\n" +
                     (report.strict ? "as memcheck without its heuristics\n" : "") +
                     (report.stacks ? "" : "registers and stacks do not count: what only they lead to is lost\n") +
                     "\n";
  for (const LeakClass each : kClasses) {
    const LeakTotals& totals = report.of(each);
    const std::string line = class_line(leak_class_name(each), totals);
    text += each == LeakClass::Definitely && totals.blocks != 0 ? style.alarm(line) : line;
  }
  if (report.only_from_stacks.blocks != 0) {
    text += class_line("of these", report.only_from_stacks, ", only from registers and stacks:");
    for (std::size_t i = 0; i < report.from_stacks.size(); ++i) {
      if (i == kStacksShown) {
        text += "                   … and others; --show-reachable lists all\n";
        break;
      }
      text += fmt::format("                   {} from the {}\n", sum_text(report.from_stacks[i].held),
                          report.from_stacks[i].root);
    }
  }
  if (report.released_later.blocks != 0)
    text += class_line("of these", report.released_later, ", only because they were released later");
  if (report.suppressed.blocks != 0) text += class_line("suppressed", report.suppressed);
  for (const std::string& doubt : report.doubts) text += "  " + doubt + "\n";
  text += sites_text(report, stacks, style, rows, true);
  text += sites_text(report, stacks, style, rows, false);
  if (report.holders.empty()) return text;
  text += "\n" + style.bold("Still reachable") + style.dim(", by what holds it") + "\n";
  std::size_t shown = 0;
  for (const LeakHolder& holder : report.holders) {
    if (shown++ == rows) break;
    text += fmt::format("  {:>10} in {:<22} {}\n", bytes_text(holder.held.bytes), count_of(holder.held.blocks, "block"),
                        printable(holder.root));
  }
  if (report.holders.size() > rows)
    text += "  … " + with_separators(report.holders.size() - rows) + " more; -n shows them\n";
  return text;
}

std::string lost_lines(const LeakReport& report, StackText& stacks, std::size_t rows) {
  std::string text =
      "  " + leak_summary(report) + "; still reachable " + sum_text(report.of(LeakClass::Reachable)) + "\n";
  const std::vector<ShownSite> shown = shown_sites(report, stacks, true);
  const std::size_t definite = shown.size();
  for (std::size_t i = 0; i < std::min(definite, rows); ++i) {
    const LeakSite& site = shown[i].site;
    text += fmt::format("  {:>10} in {:<12} {}\n", bytes_text(site.direct.bytes + site.indirect.bytes),
                        count_of(site.direct.blocks + site.indirect.blocks, "block"), printable(shown[i].chain));
  }
  if (definite > rows) text += "  and " + count_of(definite - rows, "cause") + " more\n";
  return text;
}

void write_leak_json(JsonWriter& json, const LeakReport& report, StackText& stacks) {
  json.begin_object().field("snapshot", report.snapshot).field("event", report.event).field("time_us", report.time_us);
  json.field("name", std::string_view(report.name)).field("strict", report.strict).field("stacks", report.stacks);
  json.key("classes").begin_array();
  for (const LeakClass each : kClasses)
    json.begin_object()
        .field("class", leak_class_name(each))
        .field("blocks", report.of(each).blocks)
        .field("bytes", report.of(each).bytes)
        .end_object();
  json.end_array().field("only_from_stacks_blocks", report.only_from_stacks.blocks);
  json.field("only_from_stacks_bytes", report.only_from_stacks.bytes);
  write_holders(json.key("only_from_stacks"), report.from_stacks);
  write_totals(json.key("released_later"), report.released_later);
  write_totals(json.key("suppressed"), report.suppressed);
  json.key("doubts").begin_array();
  for (const std::string& doubt : report.doubts) json.value(std::string_view(doubt));
  json.end_array();
  write_sites(json.key("definitely_lost"), report, stacks, true);
  write_sites(json.key("possibly_lost"), report, stacks, false);
  if (!report.holders.empty()) write_holders(json.key("still_reachable"), report.holders);
  json.end_object();
}

} // namespace heaptape
