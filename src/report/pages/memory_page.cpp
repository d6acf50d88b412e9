#include "report/pages/memory_page.h"

#include <algorithm>
#include <array>

#include "analysis/moment/event_search.h"
#include "analysis/moment/heap_cursor.h"
#include "base/number_text.h"
#include "report/figures/worst_text.h"
#include "report/pages/runtime_text.h"

namespace heaptape {
namespace {

constexpr std::size_t kNamesInLine = 3;
// A table of their own for mappings that are at least this part of the memory, or more than the heap.
constexpr std::uint64_t kWorthATable = 20;

struct LedgerLine {
  const char* name; // in JSON
  std::string title;
  std::uint64_t bytes;
  std::string detail;
};

std::vector<StackCost> costs_of_blocks(const std::vector<OwnerShare>& rows) {
  std::vector<StackCost> costs;
  for (const OwnerShare& row : rows) costs.push_back({row.owner.stack, row.owner.thread, row.cost});
  return costs;
}
std::vector<StackCost> costs_of_mappings(const std::vector<StackShare>& rows) {
  std::vector<StackCost> costs;
  for (const StackShare& row : rows) costs.push_back({row.stack, {}, row.cost});
  return costs;
}

// "ggc_alloc 318.0 MB, libstdc++'s emergency pool 7.17 kB, …"
std::string names_line(const StackNames& names, const Worst& worst, std::span<const RuntimePool> runtime = {}) {
  std::vector<std::pair<std::uint64_t, std::string>> parts;
  for (const WorstRow& row : worst.rows)
    parts.emplace_back(row.cost.bytes, row.has_frame ? printable(names.function(row.frame)) : "(no stack)");
  for (const RuntimePool& pool : runtime) parts.emplace_back(pool.cost.bytes, pool.name);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(parts.size(), kNamesInLine); ++i)
    text += (i == 0 ? "" : ", ") + parts[i].second + " " + bytes_text(parts[i].first);
  return parts.size() + worst.others > kNamesInLine ? text + ", …" : text;
}

std::vector<LedgerLine> lines_of(const StackNames& names, const MemoryPage& page) {
  const MemoryLedger& ledger = *page.ledger;
  const bool pages = ledger.from_pages;
  std::vector<LedgerLine> lines{
      {"heap_bytes", "live heap", ledger.heap_bytes, names_line(names, page.heap, page.runtime)},
      {"mapping_bytes", "own mappings", ledger.mapping_bytes, names_line(names, page.mappings)},
      {"held_bytes", "held by the allocator", ledger.held_bytes, "free blocks, headers, padding"},
      {"stack_bytes", "stacks", ledger.stack_bytes, "of " + count_of(ledger.stacks, "thread")},
      {"file_bytes", "files", ledger.file_bytes, "the program, its libraries and their data, mapped files"},
  };
  std::stable_sort(lines.begin(), lines.end(),
                   [](const LedgerLine& a, const LedgerLine& b) { return a.bytes > b.bytes; });
  lines.push_back(
      {"other_bytes", "other", ledger.other_bytes, pages ? "" : "free memory of the allocator, stacks, data"});
  return lines;
}

// Within half a percent.
bool is_near_peak(const MemoryLedger& ledger) {
  return ledger.peak_rss_bytes <= ledger.rss_bytes + ledger.rss_bytes / 200;
}

std::string ledger_text(const TapeView& view, const MemoryPage& page, const TextStyle& style) {
  const MemoryLedger& ledger = *page.ledger;
  const std::vector<LedgerLine> lines = lines_of(view.names(), page);
  std::size_t share = 0, bytes = 0, title = 0;
  for (const LedgerLine& line : lines) {
    if (line.bytes == 0) continue;
    share = std::max(share, columns_of(percent_text(line.bytes, ledger.total_bytes())));
    bytes = std::max(bytes, columns_of(bytes_text(line.bytes)));
    title = std::max(title, columns_of(line.title));
  }
  std::string out = style.bold(is_near_peak(ledger) ? "Resident memory at its peak" : "Resident memory near its peak") +
                    style.dim(", " + bytes_text(ledger.total_bytes()) + " at " + duration_text(ledger.time_us)) + "\n";
  for (const LedgerLine& line : lines) {
    if (line.bytes == 0) continue;
    std::string text = "  " + padded_right(percent_text(line.bytes, ledger.total_bytes()), share) + "  " +
                       padded_right(bytes_text(line.bytes), bytes) + "  ";
    const std::size_t taken = columns_of(text) + title + 2;
    const bool heavy = line.bytes * 10 >= ledger.total_bytes();
    text += heavy ? style.bold(line.title) : line.title;
    if (!line.detail.empty() && (style.width == 0 || style.width >= taken + 12)) {
      text += std::string(title + 2 - columns_of(line.title), ' ') +
              style.dim(style.width == 0 ? line.detail : shortened(line.detail, style.width - taken));
    }
    out += text + "\n";
  }
  std::string note;
  const auto add = [&](const std::string& more) { note += (note.empty() ? "  " : "; ") + more; };
  if (!ledger.from_pages) add("an estimate: this tape does not say which pages were in memory");
  if (ledger.recorder_bytes != 0) add("without " + bytes_text(ledger.recorder_bytes) + " of heaptape's own");
  if (!is_near_peak(ledger)) {
    add("looked at when it was " + bytes_text(ledger.total_bytes()) + "; the highest was " +
        bytes_text(ledger.peak_rss_bytes - ledger.recorder_bytes));
  }
  if (ledger.from_pages && !ledger.whole) add("not all of the address space was looked at");
  if (!note.empty()) out += style.dim(style.width == 0 ? note : folded_lines(note, style.width)) + "\n";
  return out;
}

} // namespace

std::optional<MemoryLedger> memory_ledger_of(const TapeView& view) {
  const auto time_us = memory_ledger_time(view.tape());
  if (!time_us) return std::nullopt;
  HeapCursor cursor(view.tape(), view.index());
  cursor.seek_event(last_event_until(view.tape(), *time_us));
  return make_memory_ledger(view.tape(), cursor.state());
}

std::vector<StackCost> resident_mapping_costs(const MemoryLedger& ledger) { return costs_of_mappings(ledger.mappings); }

std::vector<StackCost> total_peak_costs(const TapeView& view) {
  const auto& peak = view.findings().total_peak;
  if (!peak) return costs_of(view, CostKind::Peak);
  std::vector<StackCost> costs = costs_of_blocks(peak->blocks);
  for (const StackCost& cost : costs_of_mappings(peak->mappings)) costs.push_back(cost);
  return costs;
}

MemoryPage make_memory_page(const TapeView& view, FrameFilter& filter, bool show_runtime) {
  MemoryPage page;
  RuntimePools pools(view.names());
  const auto worst = [&](std::vector<StackCost> costs, std::vector<RuntimePool>* runtime) {
    filter.apply(view.names(), costs);
    if (runtime != nullptr && !show_runtime) *runtime = pools.take_from(costs);
    return worst_functions(view.names(), costs, {.rows = 5, .least_percent = 0.1});
  };
  page.ledger = memory_ledger_of(view);
  if (page.ledger) {
    page.heap = worst(costs_of_blocks(page.ledger->blocks), &page.runtime);
    page.mappings = worst(costs_of_mappings(page.ledger->mappings), nullptr);
  }
  if (view.findings().total_peak) page.total_peak = worst(total_peak_costs(view), &page.total_peak_runtime);
  return page;
}

std::string resident_line(const MemoryLedger& ledger) {
  std::string text = is_near_peak(ledger) ? bytes_text(ledger.total_bytes()) + " at its peak, at "
                                          : bytes_text(ledger.peak_rss_bytes - ledger.recorder_bytes) +
                                                " at its peak; of " + bytes_text(ledger.total_bytes()) + " at ";
  text += duration_text(ledger.time_us);
  std::vector<std::pair<std::uint64_t, const char*>> parts{{ledger.heap_bytes, "live heap"},
                                                           {ledger.mapping_bytes, "own mappings"},
                                                           {ledger.held_bytes, "held by the allocator"},
                                                           {ledger.stack_bytes, "stacks"},
                                                           {ledger.file_bytes, "files"},
                                                           {ledger.other_bytes, "other"}};
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; i < 2 && parts[i].first != 0; ++i)
    text += (i == 0 ? ": " : ", ") + percent_text(parts[i].first, ledger.total_bytes()) + " " + parts[i].second;
  return text;
}

std::string total_peak_line(const Findings& findings) {
  const auto& peak = findings.total_peak;
  if (!peak || peak->mapping_bytes() == 0) return {};
  return bytes_text(peak->bytes) + " with own mappings, at " + duration_text(peak->time_us) + " (event " +
         with_separators(peak->event) + "): " + bytes_text(peak->heap_bytes) + " heap + " +
         bytes_text(peak->mapping_bytes()) + " mappings";
}

std::string memory_page_text(const TapeView& view, const MemoryPage& page, const TextStyle& style) {
  std::string out;
  if (page.ledger) {
    const MemoryLedger& ledger = *page.ledger;
    out += "\n" + ledger_text(view, page, style);
    if (ledger.mapping_bytes != 0 &&
        (ledger.mapping_bytes >= ledger.total_bytes() / kWorthATable || ledger.mapping_bytes > ledger.heap_bytes)) {
      out += "\n" + style.bold("Own mappings then") + style.dim(", by function that called mmap") + "\n" +
             worst_text(view.names(), page.mappings, Measure::Bytes, style);
    }
  }
  return out;
}

bool is_mostly_mappings(const Findings& findings) {
  const auto& peak = findings.total_peak;
  return peak && peak->mapping_bytes() > peak->heap_bytes;
}

std::string total_peak_text(const TapeView& view, const MemoryPage& page, const TextStyle& style) {
  const TotalPeak& peak = *view.findings().total_peak;
  return style.bold("Heap plus mappings at their peak") +
         style.dim(", " + bytes_text(peak.bytes) + " at " + duration_text(peak.time_us) +
                   ", by function; tree: 'heaptape peak --with-mappings'") +
         "\n" + worst_text(view.names(), page.total_peak, Measure::Bytes, style) +
         runtime_line(page.total_peak_runtime, style);
}

void write_memory_page_json(JsonWriter& json, const TapeView& view, const MemoryPage& page) {
  if (page.ledger) {
    const MemoryLedger& ledger = *page.ledger;
    json.key("resident_memory").begin_object().field("time_us", ledger.time_us);
    json.field("total_bytes", ledger.total_bytes()).field("rss_bytes", ledger.rss_bytes);
    json.field("recorder_bytes", ledger.recorder_bytes).field("peak_rss_bytes", ledger.peak_rss_bytes);
    json.field("estimate", !ledger.from_pages).field("whole", ledger.whole);
    for (const LedgerLine& line : lines_of(view.names(), page)) json.field(line.name, line.bytes);
    json.field("stacks", ledger.stacks);
    write_worst_json(json.key("heap"), view.names(), page.heap);
    write_runtime_json(json.key("runtime"), page.runtime);
    write_worst_json(json.key("mappings"), view.names(), page.mappings);
    json.end_object();
  }
  if (const auto& peak = view.findings().total_peak) {
    json.key("total_peak").begin_object().field("bytes", peak->bytes).field("heap_bytes", peak->heap_bytes);
    json.field("mapping_bytes", peak->mapping_bytes()).field("event", peak->event).field("time_us", peak->time_us);
    write_worst_json(json.key("worst"), view.names(), page.total_peak);
    write_runtime_json(json.key("runtime"), page.total_peak_runtime);
    json.end_object();
  }
}

} // namespace heaptape
