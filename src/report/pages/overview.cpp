#include "report/pages/overview.h"

#include <signal.h>

#include <map>

#include "base/number_text.h"
#include "report/crash/crash_line.h"
#include "report/figures/worst_text.h"
#include "report/leaks/leak_text.h"
#include "report/pages/loss_text.h"
#include "report/pages/runtime_text.h"
#include "report/pages/tape_facts.h"
#include "report/text/inherited_text.h"
#include "tape/python_remark.h"
#include "wire/loss_name.h"

namespace heaptape {
namespace {

constexpr std::size_t kLabel = 9; // columns of "  churn  "
constexpr std::size_t kPoolsShown = 10;
constexpr std::size_t kLostShown = 5; // causes

std::string command_of_run(const TapeReader& tape) {
  const auto command = tape.meta().find("command");
  return command != tape.meta().end() ? command_text(split_command(command->second)) : std::string();
}

std::string ending_of_run(const TapeView& view, bool is_running) {
  const TapeReader& tape = view.tape();
  if (const std::string crash = crash_line(tape, view.names()); !crash.empty())
    return "died of " + crash + "; 'heaptape crash " + printable(view.path()) + "' explains it";
  if (!tape.summary()) return is_running ? "not yet: it is still running" : ending_text({}, false);
  const Summary& summary = *tape.summary();
  const bool well = summary.ending == Ending::Exited && summary.ending_detail == 0 && summary.note.empty();
  if (well) return {};
  const bool crashed =
      summary.ending == Ending::Killed && (summary.ending_detail == SIGSEGV || summary.ending_detail == SIGBUS);
  return ending_text(summary, true) +
         (crashed ? "; 'heaptape explain ADDR' tells who freed the memory there (dmesg or a core file has the address)"
                  : "");
}

// What was lost on the way to the tape, makes no sense on it, or cannot be read from it.
void add_unseen_events(const TapeView& view, std::vector<std::string>& sentences) {
  if (view.tape().summary()) {
    for (const auto& [name, count] : view.tape().summary()->losses)
      sentences.push_back(name + ": " + loss_sentence(name, count));
  }
  const Findings& findings = view.findings();
  const bool is_told = !view.tape().odd_calls().calls.empty(); // under "wrong", and better
  if (const std::uint64_t unknown = truly_unknown(view.tape(), findings.totals.unknown_releases);
      unknown != 0 && !is_told) {
    sentences.push_back(count_of(unknown, "block") + " freed that " + (unknown == 1 ? "was" : "were") +
                        " not live then; 'heaptape verify' tells double frees");
  }
  if (findings.unread_events != 0)
    sentences.push_back(count_of(findings.unread_events, "event") + " in damaged parts of the tape");
  for (std::string& sentence : unseen_programs(view.tape().meta())) sentences.push_back(std::move(sentence));
}

// A label in its column, then the text; what is too long goes on below it.
void put_wrapped(std::string& out, const TextStyle& style, const std::string& label, const std::string& text) {
  std::size_t column = kLabel;
  out += style.dim(padded_left("  " + label, kLabel));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = std::string_view(text).substr(at, end - at);
    const std::size_t columns = columns_of(word);
    if (style.width != 0 && column > kLabel && column + 1 + columns > style.width) {
      out += "\n" + std::string(kLabel, ' ');
      column = kLabel;
    } else if (column > kLabel || at != 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns;
    at = end + 1;
  }
  out += '\n';
}

void put_odd_lines(std::string& out, const TextStyle& style, const std::vector<OddLine>& lines) {
  const char* label = "wrong";
  for (const OddLine& line : lines) {
    if (!is_fault(line.sort)) continue;
    put_wrapped(out, style, label, line.sentence + "; 'heaptape verify' lists " + (line.count == 1 ? "it" : "them"));
    label = "";
  }
  label = "odd";
  for (const OddLine& line : lines) {
    if (is_fault(line.sort)) continue;
    put_wrapped(out, style, label, line.sentence);
    label = "";
  }
}

std::string seen_text(const TapeView& view, const Overview& overview) {
  std::string text;
  if (overview.memory.ledger) {
    const MemoryLedger& ledger = *overview.memory.ledger;
    text += percent_text(ledger.total_bytes() - ledger.other_bytes, ledger.total_bytes()) + " of the resident memory; ";
  }
  const bool known = view.tape().summary() && !view.tape().summary()->losses.contains(wire::kLossUnknown);
  text += known                 ? count_of(overview.lost_events, "event") + " lost"
          : overview.is_running ? "what was lost is counted at the end"
                                : "lost events unknown";
  if (known)
    text +=
        overview.cut_stacks == 0 ? "; all stacks whole" : "; " + count_of(overview.cut_stacks, "stack") + " cut short";
  return text;
}

// ", 72.7 kB of it libstdc++'s emergency pool"
std::string runtime_share(const Overview& overview) {
  for (const OverviewSection& part : overview.sections) {
    if (part.name != "leaks" || part.runtime.empty()) continue;
    const bool all = part.worst.total == Cost{};
    return (all ? ", all" : ", " + bytes_text(sum_of(part.runtime).bytes)) + " of it " +
           (part.runtime.size() == 1 ? std::string(part.runtime[0].name) : "the runtime's own");
  }
  return {};
}

std::string lost_section(const TapeView& view, const LeakReport& leaks, const TextStyle& style) {
  StackText stacks(view.names());
  return style.bold("Lost") +
         style.dim(": nothing leads there any more; 'heaptape leaks " + printable(view.path()) + "' has all causes") +
         "\n" + lost_lines(leaks, stacks, kLostShown);
}

} // namespace

std::string nameless_sentence(const StackNames& names) {
  std::map<NameId, std::size_t> modules;
  std::size_t nameless = 0;
  for (std::uint32_t i = 0; i < names.frame_count(); ++i) {
    const NamedFrame& frame = names[FrameId(i)];
    if (!frame.linkage_name.empty()) continue;
    ++nameless;
    ++modules[frame.module_name];
  }
  if (nameless * 10 < names.frame_count() || nameless == 0) return {};
  const auto most = std::max_element(modules.begin(), modules.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return "no names for " + with_separators(nameless) + " of " + count_of(names.frame_count(), "place") +
         " in the code, " + (modules.size() == 1 ? "all in " : "most in ") + printable(names.text(most->first)) +
         ": debug symbols would help";
}

Overview make_overview(const TapeView& view, const OverviewRequest& request) {
  Overview overview;
  overview.command = command_of_run(view.tape());
  overview.is_running = request.is_running && !view.tape().summary();
  overview.ending = ending_of_run(view, request.is_running);
  const Findings& findings = view.findings();
  overview.memory = make_memory_page(view, request.filter, request.show_runtime);
  for (const ThreadFigures& thread : findings.by_thread) {
    overview.short_lived += thread.short_lived;
    overview.temporary += thread.temporary;
  }
  if (view.tape().summary()) {
    for (const auto& [name, count] : view.tape().summary()->losses) {
      const bool stack =
          name == wire::loss_name(wire::Loss::StackCut) || name == wire::loss_name(wire::Loss::StackTooDeep);
      const bool event =
          name != wire::kPausedName && name != wire::kLossUnknown && name != wire::loss_name(wire::Loss::NotFollowed);
      if (event) (stack ? overview.cut_stacks : overview.lost_events) += count;
    }
  }
  OverviewRequest with_leaks{request.suppressions, request.filter, request.is_running, request.show_runtime};
  if (const std::optional<std::size_t> snapshot = snapshot_at_end(view.tape())) {
    // The list of what was never freed counts the suppressed ones, and each is to be counted once.
    Suppressions suppressions = request.suppressions;
    Result<LeakReport> leaks =
        make_leak_report(view, *snapshot, {}, {.suppressions = &suppressions, .filter = &request.filter});
    if (leaks)
      overview.leaks = std::move(leaks).value();
    else
      overview.not_seen.push_back("what can still be reached: " + leaks.error().sentence);
    if (overview.leaks) with_leaks.leaks = &*overview.leaks;
  }
  overview.sections = make_overview_sections(view, with_leaks);
  if (has_pools(findings.totals)) overview.pools = pool_lines(view.tape().pools(), pools_after(view.tape()).state);
  if (std::string sentence = nameless_sentence(view.names()); !sentence.empty())
    overview.not_seen.push_back(std::move(sentence));
  add_unseen_events(view, overview.not_seen);
  overview.odd = odd_lines(view);
  constexpr std::uint32_t kPythonMallocSince = 4; // older tapes do not say
  if (view.tape().header().version_minor >= kPythonMallocSince) {
    if (std::string sentence = python_remark(view.tape().modules(), view.tape().meta()); !sentence.empty())
      overview.not_seen.push_back(std::move(sentence));
  }
  if (!overview.memory.ledger) overview.not_seen.push_back("the kernel was not asked about the program's memory");
  return overview;
}

std::string overview_text(const TapeView& view, const Overview& overview, const TextStyle& style) {
  const Findings& findings = view.findings();
  const HeapTotals& totals = findings.totals;
  const std::string facts = "   pid " + std::to_string(view.tape().header().pid) + "   " +
                            duration_text(findings.end_us) + "   " + count_of(totals.events, "event") + "   " +
                            count_of(findings.by_thread.size(), "thread");
  std::string out;
  const std::size_t room = style.width > 10 + facts.size() + 12 ? style.width - 10 - facts.size() : 0;
  constexpr std::size_t kLongestCommand = 100; // where there is no width; 'heaptape info' shows all of it
  if (style.width == 0 || columns_of(overview.command) <= room) {
    out = style.dim("heaptape  ") + style.bold(shortened(overview.command, style.width == 0 ? kLongestCommand : room)) +
          facts + "\n";
  } else {
    out = style.dim("heaptape  ") + style.bold(shortened(overview.command, std::max(style.width, 30u) - 10)) + "\n" +
          std::string(10, ' ') + facts.substr(3) + "\n";
  }
  const auto line = [&](const char* label, const std::string& text) { put_wrapped(out, style, label, text); };

  std::string peak = bytes_text(totals.peak_bytes);
  if (totals.peak_event != 0)
    peak += " at " + duration_text(totals.peak_us) + " (event " + with_separators(totals.peak_event) + ")";
  const std::string live = bytes_text(totals.live_bytes) + " in " + count_of(totals.live_blocks, "block");
  line("peak", peak);
  if (const std::string total = total_peak_line(findings); !total.empty()) line("", total);
  line("live", live + (overview.is_running ? " now" : " at the end") + runtime_share(overview));
  if (const std::string inherited = inheritance_text(view.tape()); !inherited.empty())
    line("fork", "inherited " + inherited + "; not part of these sums");
  line("churn", bytes_text(totals.allocated_bytes) + " allocated in " + count_of(totals.allocated_blocks, "block") +
                    "; " + percent_text(overview.short_lived.blocks, totals.allocated_blocks) +
                    " of the blocks freed within 1 ms, " +
                    percent_text(overview.temporary.blocks, totals.allocated_blocks) + " at once");
  if (overview.memory.ledger) line("RSS", resident_line(*overview.memory.ledger));
  line("seen", seen_text(view, overview));
  for (const std::string& sentence : overview.not_seen) line("", sentence);
  put_odd_lines(out, style, overview.odd);
  if (!overview.ending.empty()) line("ended", overview.ending);

  const bool mappings_first = is_mostly_mappings(findings); // then the heap's peak is not the answer
  if (mappings_first) out += "\n" + total_peak_text(view, overview.memory, style);
  for (const OverviewSection& part : overview.sections) {
    if (part.name == "leaks" && overview.leaks) out += "\n" + lost_section(view, *overview.leaks, style);
    out += "\n" + section_text(view.names(), part, style);
  }
  out += memory_page_text(view, overview.memory, style);
  if (!mappings_first && !total_peak_line(findings).empty())
    out += "\n" + total_peak_text(view, overview.memory, style);
  if (!overview.pools.empty()) {
    out += "\n" + style.bold("Pools") + style.dim(", inside the memory above and not part of its sums") + "\n";
    const std::size_t shown = std::min(overview.pools.size(), kPoolsShown);
    out += pool_table({overview.pools.begin(), overview.pools.begin() + static_cast<std::ptrdiff_t>(shown)}, style, 2);
    if (shown < overview.pools.size())
      out += "  and " + with_separators(overview.pools.size() - shown) + " more: heaptape pools\n";
  }
  return out;
}

void write_overview_json(JsonWriter& json, const TapeView& view, const Overview& overview) {
  const Findings& findings = view.findings();
  const HeapTotals& totals = findings.totals;
  json.field("command", std::string_view(overview.command)).field("pid", view.tape().header().pid);
  json.field("duration_us", findings.end_us).field("events", totals.events).field("threads", findings.by_thread.size());
  json.field("peak_bytes", totals.peak_bytes).field("peak_event", totals.peak_event).field("peak_us", totals.peak_us);
  json.field("live_bytes", totals.live_bytes).field("live_blocks", totals.live_blocks);
  json.field("allocated_bytes", totals.allocated_bytes).field("allocated_blocks", totals.allocated_blocks);
  json.field("short_lived_bytes", overview.short_lived.bytes).field("short_lived_blocks", overview.short_lived.blocks);
  json.field("temporary_bytes", overview.temporary.bytes).field("temporary_blocks", overview.temporary.blocks);
  json.field("unknown_releases", truly_unknown(view.tape(), totals.unknown_releases))
      .field("lost_events", overview.lost_events);
  json.field("cut_stacks", overview.cut_stacks).field("finished", view.tape().summary().has_value());
  if (!overview.ending.empty()) json.field("ending", std::string_view(overview.ending));
  if (view.tape().inheritance()) write_inheritance_json(json.key("inherited"), *view.tape().inheritance());
  write_memory_page_json(json, view, overview.memory);
  json.key("not_seen").begin_array();
  for (const std::string& sentence : overview.not_seen) json.value(std::string_view(sentence));
  json.end_array();
  write_odd_lines(json.key("odd_calls"), view.names(), overview.odd);
  json.key("worst").begin_object();
  for (const OverviewSection& part : overview.sections) {
    write_worst_json(json.key(part.name), view.names(), part.worst);
  }
  json.end_object().key("others").begin_object(); // of each list, what is below its rows
  for (const OverviewSection& part : overview.sections) {
    json.key(part.name).begin_object().field("functions", part.worst.others);
    json.field("bytes", part.worst.others_cost.bytes).field("blocks", part.worst.others_cost.blocks).end_object();
  }
  json.end_object().key("runtime").begin_object();
  for (const OverviewSection& part : overview.sections) {
    if (!part.runtime.empty()) write_runtime_json(json.key(part.name), part.runtime);
  }
  json.end_object();
  if (overview.leaks) {
    StackText stacks(view.names());
    write_leak_json(json.key("leaks"), *overview.leaks, stacks);
  }
  if (!overview.pools.empty()) write_pools_json(json.key("pools"), overview.pools);
}

} // namespace heaptape
