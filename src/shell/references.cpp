// Who points where, at the last snapshot of memory up to the cursor.
#include "analysis/memory/references.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/leaks/leak_report.h"
#include "report/text/json_writer.h"
#include "shell/all_commands.h"
#include "shell/contents_text.h"
#include "shell/describe.h"
#include "shell/variable.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kUsualRows = 50;
constexpr std::size_t kMostSteps = 1000;
constexpr CommandOption kRowOptions[] = {{"-n N", "at most N lines (default: 50)"}, {"--json", "as JSON"}};

// Where a reference lies.
std::string holder_text(Session& session, SnapshotHeap& heap, const Reference& reference) {
  switch (reference.holder) {
  case Holder::Root:
    return root_place_text(session, heap.memory(), heap.roots().ranges()[reference.number], reference.address);
  case Holder::Block:
    return fmt::format("{} +{:#x}  at {:#x}", block_text(session, heap, reference.number),
                       reference.address - heap.ranks().begin(reference.number), reference.address);
  case Holder::Elsewhere: {
    const std::string place = place_text(session, heap.memory(), reference.address);
    return fmt::format("{} at {:#x}", place.empty() ? "memory" : place, reference.address);
  }
  }
  return "";
}

std::string_view holder_word(Holder holder) {
  return holder == Holder::Root ? "root" : holder == Holder::Block ? "block" : "elsewhere";
}

struct Asked {
  std::uint64_t begin = 0, end = 0;
  std::optional<Variable> variable{};
  bool is_range = false; // as it was typed
};
// One address means the whole block or variable that holds it, or that word alone.
Result<Asked> asked_range(Session& session, Call& call, SnapshotHeap& heap) {
  const std::optional<std::string> first = call.next(), second = call.next();
  if (!first) return Error{ErrorCode::Usage, "which address? refs ADDR [END]"};
  if (const Result<> done = call.finish(); !done) return done.error();
  const Result<std::uint64_t> begin = session.address(*first);
  if (!begin) return begin.error();
  if (!second) {
    const std::uint32_t block = heap.ranks().find(begin.value());
    if (block != BlockRanks::kNone)
      return Asked{heap.ranks().begin(block), std::max(heap.ranks().end(block), heap.ranks().begin(block) + 1)};
    if (std::optional<Variable> variable = variable_at(session, heap.memory(), begin.value()))
      return Asked{variable->begin, variable->end(), std::move(variable)};
    return Asked{begin.value(), begin.value() + std::min<std::uint64_t>(8, ~std::uint64_t{} - begin.value())};
  }
  const Result<std::uint64_t> end = session.address(*second);
  if (!end) return end.error();
  if (end.value() <= begin.value()) return Error{ErrorCode::Usage, "the range ends before it begins"};
  return Asked{begin.value(), end.value(), std::nullopt, true};
}

// "2 references to 0x5581c2e0: 48-byte Circle of main things.cpp:12"
std::string references_head(const ReferenceAnswer& answer, std::uint64_t begin, const std::string& what) {
  return fmt::format("{} to {:#x}{}{}\n", count_of(answer.references.size(), "reference"), begin,
                     what.empty() ? "" : ": ", what);
}
std::string references_lines(Session& session, SnapshotHeap& heap, const ReferenceAnswer& answer, std::uint64_t begin,
                             std::uint64_t rows) {
  std::string text;
  std::uint64_t shown = 0;
  for (const Reference& reference : answer.references) {
    if (shown++ == rows) break;
    text += "  " + holder_text(session, heap, reference);
    if (reference.value != begin) text += fmt::format(", to +{:#x}", reference.value - begin);
    text += "\n";
  }
  if (answer.references.size() > rows)
    text += fmt::format("  … {} more; -n shows them\n", with_separators(answer.references.size() - rows));
  return text;
}

// Of a variable: who points at it, what it points to, and of the only block that it does who else leads there.
std::string variable_text(Session& session, SnapshotHeap& heap, const Variable& variable, const ReferenceAnswer& answer,
                          const ReferenceQuestion& question, std::uint64_t rows) {
  const std::vector<VariableWord> words = words_to_blocks(heap, variable);
  std::string text = fmt::format("{:#x}: {}\n{}\n", variable.begin, variable_words(variable),
                                 snapshot_text(session, heap.memory().facts())) +
                     words_text(session, heap, variable, words) +
                     references_head(answer, variable.begin, printable(variable.name)) +
                     references_lines(session, heap, answer, variable.begin, rows);
  if (words.size() != 1) return text;
  const std::uint32_t block = words[0].block;
  const std::uint64_t begin = heap.ranks().begin(block), end = std::max(heap.ranks().end(block), begin + 1);
  const ReferenceAnswer further =
      references_to(heap.view(), {.begin = begin, .end = end, .everywhere = question.everywhere});
  return text + references_head(further, begin, block_text(session, heap, block)) +
         references_lines(session, heap, further, begin, rows);
}

Result<> references(Session& session, Call& call, Printer& out, bool everywhere) {
  const bool as_json = call.flag("--json");
  const Result<std::uint64_t> rows = call.count("-n", kUsualRows);
  if (!rows) return rows.error();
  const Result<SnapshotHeap*> found = session.memory_graph();
  if (!found) return found.error();
  SnapshotHeap& heap = *found.value();
  const Result<Asked> asked = asked_range(session, call, heap);
  if (!asked) return asked.error();
  const std::uint64_t begin = asked.value().begin, end = asked.value().end;
  const std::optional<Variable>& variable = asked.value().variable;
  const ReferenceQuestion question{.begin = begin, .end = end, .everywhere = everywhere};
  const ReferenceAnswer answer = references_to(heap.view(), question);
  if (as_json) {
    JsonWriter json;
    json.begin_object().field("snapshot", heap.memory().facts().number);
    if (variable)
      write_variable(json, session, heap, *variable, words_to_blocks(heap, *variable));
    else
      json.field("begin", std::string_view(hex(begin))).field("end", std::string_view(hex(end)));
    json.field("cut", answer.cut).key("references").begin_array();
    for (const Reference& reference : answer.references) {
      json.begin_object().field("from", holder_word(reference.holder));
      json.field("where", std::string_view(holder_text(session, heap, reference)));
      json.field("address", std::string_view(hex(reference.address)));
      json.field("value", std::string_view(hex(reference.value))).end_object();
    }
    json.end_array().end_object();
    out.print(json.text() + "\n");
    return Unit{};
  }
  if (variable) {
    out.print(variable_text(session, heap, *variable, answer, question, rows.value()));
    return Unit{};
  }
  const std::string head =
      asked.value().is_range
          ? fmt::format("{} to {:#x}-{:#x}\n", count_of(answer.references.size(), "reference"), begin, end)
          : references_head(answer, begin, place_text(session, heap.memory(), begin));
  out.print(head + snapshot_text(session, heap.memory().facts()) + "\n" +
            references_lines(session, heap, answer, begin, rows.value()));
  return Unit{};
}

Result<> refs(Session& session, Call& call, Printer& out) { return references(session, call, out, false); }
Result<> all_refs(Session& session, Call& call, Printer& out) { return references(session, call, out, true); }

// A variable is a root itself: the way is from it to what it points to.
void trace_variable(Session& session, SnapshotHeap& heap, const Variable& variable, bool as_json, Printer& out) {
  const std::vector<VariableWord> words = words_to_blocks(heap, variable);
  if (as_json) {
    JsonWriter json;
    json.begin_object().field("snapshot", heap.memory().facts().number);
    write_variable(json, session, heap, variable, words);
    out.print(json.end_object().text() + "\n");
    return;
  }
  out.print(fmt::format("{:#x}: {}\n{}\n", variable.begin, variable_words(variable),
                        snapshot_text(session, heap.memory().facts())) +
            words_text(session, heap, variable, words));
}

Result<> trace(Session& session, Call& call, Printer& out) {
  const bool as_json = call.flag("--json");
  const std::optional<std::string> word = call.next();
  if (!word) return Error{ErrorCode::Usage, "which address? trace ADDR"};
  if (const Result<> done = call.finish(); !done) return done.error();
  const Result<std::uint64_t> address = session.address(*word);
  if (!address) return address.error();
  const Result<SnapshotHeap*> found = session.memory_graph();
  if (!found) return found.error();
  SnapshotHeap& heap = *found.value();
  const std::uint32_t block = heap.ranks().find(address.value());
  if (block == BlockRanks::kNone) {
    const std::optional<Variable> variable = variable_at(session, heap.memory(), address.value());
    if (!variable) return not_in_a_block(session, heap.memory(), address.value());
    trace_variable(session, heap, *variable, as_json, out);
    return Unit{};
  }
  const LeakClass leak_class = heap.reachability().class_of(block);
  const std::optional<ReferencePath> path = heap.paths().to(block, kMostSteps);
  if (as_json) {
    JsonWriter json;
    json.begin_object().field("snapshot", heap.memory().facts().number).field("class", leak_class_name(leak_class));
    json.field("block", std::string_view(hex(heap.ranks().begin(block)))).key("path").begin_array();
    if (path) {
      const RootRange& range = heap.roots().ranges()[path->range];
      json.begin_object()
          .field("root", std::string_view(root_place_text(session, heap.memory(), range, path->steps.front().word)))
          .end_object();
      for (const PathStep& step : path->steps) {
        json.begin_object()
            .field("word", std::string_view(hex(step.word)))
            .field("block", std::string_view(hex(heap.ranks().begin(step.block))));
        json.field("bytes", heap.ranks().bytes(step.block)).field("offset", step.offset);
        json.field("maker", std::string_view(session.stacks().site(heap.stack_of(step.block)))).end_object();
      }
    }
    json.end_array().end_object();
    out.print(json.text() + "\n");
    return Unit{};
  }
  std::string text = fmt::format("{:#x}: {}\n{}\n", address.value(), block_text(session, heap, block),
                                 snapshot_text(session, heap.memory().facts()));
  if (!path) {
    out.print(text + unreachable_text(session, heap, block));
    return Unit{};
  }
  const RootRange& range = heap.roots().ranges()[path->range];
  text += "  " + root_place_text(session, heap.memory(), range, path->steps.front().word) + "\n";
  for (std::size_t i = 0; i < path->steps.size(); ++i) {
    const PathStep& step = path->steps[i];
    const bool last = i + 1 == path->steps.size();
    text += fmt::format("  -> {:#x} {}", heap.ranks().begin(step.block), block_text(session, heap, step.block));
    if (step.offset != 0) text += fmt::format(", entered at +{:#x}", step.offset);
    if (!last) text += fmt::format(", leads on at +{:#x}", path->steps[i + 1].word - heap.ranks().begin(step.block));
    text += "\n";
  }
  if (leak_class != LeakClass::Reachable)
    text += fmt::format("{}: only references into the middle of blocks lead there\n", leak_class_name(leak_class));
  else if (heap.reachability().only_from_stacks(block))
    text += "reached from registers and stacks only, whose words may be left over from earlier calls\n";
  out.print(text);
  return Unit{};
}

Result<> roots(Session& session, Call& call, Printer& out) {
  const bool as_json = call.flag("--json");
  if (const Result<> done = call.finish(); !done) return done.error();
  const Result<SnapshotHeap*> found = session.memory_graph();
  if (!found) return found.error();
  SnapshotHeap& heap = *found.value();
  std::vector<std::uint64_t> words(heap.roots().ranges().size());
  for (const RootWord& word : heap.roots().words()) ++words[word.range];
  JsonWriter json;
  json.begin_object().field("snapshot", heap.memory().facts().number).key("roots").begin_array();
  std::string text = snapshot_text(session, heap.memory().facts()) + "\n" +
                     session.style.dim(fmt::format("{:<29} {:>10} {:>8}  {}", "range", "size", "blocks", "what")) +
                     "\n";
  for (std::size_t i = 0; i < words.size(); ++i) {
    const RootRange& range = heap.roots().ranges()[i];
    const std::string what = root_text(heap.memory(), range, 0);
    const bool registers = range.kind == RootKind::Registers;
    const std::string shown = registers ? "registers" + what.substr(what.find(" of thread")) : what;
    json.begin_object();
    if (!registers)
      json.field("begin", std::string_view(hex(range.begin))).field("end", std::string_view(hex(range.end)));
    json.field("what", std::string_view(shown))
        .field("blocks", words[i])
        .field("weak", is_weak(range.kind))
        .end_object();
    if (words[i] == 0) continue;
    text +=
        fmt::format("{:<29} {:>10} {:>8}  {}\n", registers ? "-" : fmt::format("{:#x}-{:#x}", range.begin, range.end),
                    registers ? "-" : bytes_text(range.end - range.begin), with_separators(words[i]), shown);
  }
  json.end_array().end_object();
  out.print(as_json ? json.text() + "\n"
                    : text + "blocks: to which a word there leads directly; ranges without any are not shown\n");
  return Unit{};
}

} // namespace

const Command kRefsCommand{
    .name = "refs",
    .arguments = "ADDR [END]",
    .summary = "who points at a block or a range, at the last snapshot of memory",
    .help = "Every aligned word in registers, stacks, variables, mappings and live blocks\n"
            "that leads to the block that holds ADDR, or to [ADDR, END). Freed memory is not\n"
            "looked at; see allrefs. Of a variable also what it points to and, if that is one\n"
            "block, what else leads to this.\n",
    .example = "refs 0x5581c2e0",
    .group = CommandGroup::Memory,
    .takes = Takes::Address,
    .run = refs,
    .options = kRowOptions,
};
const Command kAllRefsCommand{
    .name = "allrefs",
    .arguments = "ADDR [END]",
    .summary = "who points at a block or a range, freed memory included",
    .help = "Every aligned word of all memory that was copied at the last snapshot: what refs\n"
            "looks at, and freed memory.\n",
    .example = "allrefs 0x5581c2e0",
    .group = CommandGroup::Memory,
    .takes = Takes::Address,
    .run = all_refs,
    .options = kRowOptions,
};
const Command kTraceCommand{
    .name = "trace",
    .arguments = "ADDR",
    .summary = "how the program gets at a block: from a variable or stack, step by step",
    .help = "The shortest way from a root to the block that holds ADDR, with the offsets at\n"
            "which each block leads on. A block that nothing leads to is unreachable: a leak.\n"
            "Of a variable: the blocks that it points to.\n",
    .example = "trace 0x5581c2e0",
    .group = CommandGroup::Memory,
    .takes = Takes::Address,
    .run = trace,
    .options = kJsonOption,
};
const Command kRootsCommand{
    .name = "roots",
    .arguments = "",
    .summary = "where the program's own pointers lie: registers, stacks, variables, mappings",
    .help = "Where 'trace' and 'leaks' begin: what leads from there to a block is in use. Each\n"
            "line is a range of memory, and to how many blocks words in it lead directly.\n",
    .example = "roots",
    .group = CommandGroup::Memory,
    .run = roots,
    .options = kJsonOption,
};
} // namespace heaptape
