// What the blocks are, at the last snapshot of memory up to the cursor.
#include <array>

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/contents/block_types.h"
#include "report/contents/type_sums.h"
#include "report/text/json_writer.h"
#include "shell/all_commands.h"
#include "shell/contents_text.h"
#include "shell/describe.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kUsualRows = 30;
constexpr CommandOption kRowOptions[] = {{"-n N", "at most N lines (default: 30)"}, {"--json", "as JSON"}};

std::string_view source_text(TypeSource source) {
  switch (source) {
  case TypeSource::Vtable: return "by its virtual table";
  case TypeSource::Frame: return "by the template arguments of the functions that allocated it";
  case TypeSource::Runtime: return "by its header, which the language's runtime keeps";
  case TypeSource::Derived: return "by what refers to it";
  case TypeSource::Function: return "not known; named after the function that made it";
  case TypeSource::None: return "not known";
  }
  return "";
}

std::string types_json(const MemorySnapshot& snapshot, const BlockTypes& types, std::span<const TypeSum> rows) {
  JsonWriter json;
  json.begin_object().field("snapshot", snapshot.number).field("event", snapshot.event).key("types").begin_array();
  for (const TypeSum& row : rows) {
    json.begin_object().field("type", std::string_view(types[row.type].name));
    json.field("known_by", source_name(types[row.type].source)).field("blocks", row.blocks).field("bytes", row.bytes);
    json.field("retained_bytes", row.retained_bytes).field("example", std::string_view(hex(row.example))).end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

// "of 1,234 blocks 80 % are known by vtable, 15 % by frame, and 5 % by their maker alone"
std::string shares_text(const BlockTypes& types, std::span<const TypeSum> rows) {
  std::array<std::uint64_t, kTypeSources.size()> blocks{};
  std::uint64_t all = 0;
  for (const TypeSum& row : rows) {
    blocks[static_cast<std::size_t>(types[row.type].source)] += row.blocks;
    all += row.blocks;
  }
  std::string text = count_of(all, "block");
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] == 0) continue;
    text += fmt::format(", {:.1f} % by {}", 100.0 * static_cast<double>(blocks[i]) / static_cast<double>(all),
                        source_name(static_cast<TypeSource>(i)));
  }
  return text;
}

// What nothing leads to is a row's own bytes, but is retained by nobody.
std::string unreached_text(SnapshotHeap& heap) {
  const Dominators& dominators = heap.dominators();
  LeakTotals unreached;
  for (std::uint32_t block = 0; block < heap.ranks().size(); ++block) {
    if (dominators.node_of(block) != Dominators::kNone) continue;
    ++unreached.blocks;
    unreached.bytes += heap.ranks().bytes(block);
  }
  if (unreached.blocks == 0) return "";
  return fmt::format("nothing leads to {} in {}: they count for no type's retained; 'leaks' has the causes\n",
                     bytes_text(unreached.bytes), count_of(unreached.blocks, "block"));
}

Result<> types(Session& session, Call& call, Printer& out) {
  const bool as_json = call.flag("--json");
  const Result<std::uint64_t> most = call.count("-n", kUsualRows);
  if (!most) return most.error();
  if (const Result<> done = call.finish(); !done) return done.error();
  const Result<BlockTypes*> found = session.block_types();
  if (!found) return found.error();
  const BlockTypes& known = *found.value();
  const Result<SnapshotHeap*> heap = session.memory_graph();
  if (!heap) return heap.error();
  const std::vector<TypeSum> rows = type_sums(*heap.value(), known);
  const MemorySnapshot& snapshot = heap.value()->memory().facts();
  if (as_json) {
    out.print(types_json(snapshot, known, rows));
    return Unit{};
  }
  std::string text = snapshot_text(session, snapshot) + "\n" + shares_text(known, rows) + "\n" +
                     session.style.dim(fmt::format("{:>10} {:>12} {:>12}  {:<8}  {:<14}  {}", "blocks", "bytes",
                                                   "retained", "known by", "such as", "type")) +
                     "\n";
  std::uint64_t shown = 0;
  for (const TypeSum& row : rows) {
    if (shown++ == most.value()) break;
    text += fmt::format("{:>10} {:>12} {:>12}  {:<8}  {:<14}  {}\n", with_separators(row.blocks), bytes_text(row.bytes),
                        bytes_text(row.retained_bytes), source_name(known[row.type].source), hex(row.example),
                        printable(known[row.type].name));
  }
  if (rows.size() > most.value())
    text += fmt::format("  … {} more; -n shows them\n", with_separators(rows.size() - most.value()));
  out.print(text + unreached_text(*heap.value()));
  return Unit{};
}

Result<> type(Session& session, Call& call, Printer& out) {
  const bool as_json = call.flag("--json");
  const std::optional<std::string> word = call.next();
  if (!word) return Error{ErrorCode::Usage, "which address? type ADDR"};
  if (const Result<> done = call.finish(); !done) return done.error();
  const Result<std::uint64_t> address = session.address(*word);
  if (!address) return address.error();
  const Result<SnapshotHeap*> heap = session.memory_graph();
  if (!heap) return heap.error();
  const BlockRanks& ranks = heap.value()->ranks();
  const std::uint32_t block = ranks.find(address.value());
  if (block == BlockRanks::kNone) return not_in_a_block(session, heap.value()->memory(), address.value());
  const Result<BlockTypes*> found = session.block_types();
  if (!found) return found.error();
  const BlockType& known = found.value()->of_block(block);
  const MemorySnapshot& snapshot = heap.value()->memory().facts();
  const std::uint64_t offset = address.value() - ranks.begin(block);
  const StackId stack = heap.value()->stack_of(block);
  if (as_json) {
    JsonWriter json;
    json.begin_object().field("snapshot", snapshot.number).field("block", std::string_view(hex(ranks.begin(block))));
    json.field("offset", offset).field("bytes", ranks.bytes(block)).field("type", std::string_view(known.name));
    json.field("known_by", source_name(known.source)).field("stack_id", stack.value).key("stack");
    session.stacks().write_json(json, stack);
    json.end_object();
    out.print(json.text() + "\n");
    return Unit{};
  }
  out.print(fmt::format("{:#x}: {} {}\n", address.value(), offset_words(offset), a_block(ranks.bytes(block))) +
            snapshot_text(session, snapshot) + "\n" +
            fmt::format("  type      {}\n  known     {}\n  made by   {}\n", printable(known.name),
                        source_text(known.source), printable(session.stacks().chain(stack, 3))));
  return Unit{};
}

} // namespace

const Command kTypesCommand{
    .name = "types",
    .arguments = "",
    .summary = "what the heap consists of by types of blocks, at the last snapshot of memory",
    .help = "Number and bytes of the blocks of each type, most bytes first, and how the type\n"
            "is known. Retained are their bytes and those of all blocks that the program can\n"
            "get at only through one of them. 'Such as' is the address of one. Blocks whose\n"
            "type is not known are named after the function that made them: <sdsnewlen>.\n",
    .example = "types -n 10",
    .group = CommandGroup::Memory,
    .run = types,
    .options = kRowOptions,
};
const Command kTypeCommand{
    .name = "type",
    .arguments = "ADDR",
    .summary = "what the block that holds ADDR is, at the last snapshot of memory",
    .help = "The type, how it is known, the size of the block and who made it.\n",
    .example = "type 0x5581c2e0",
    .group = CommandGroup::Memory,
    .takes = Takes::Address,
    .run = type,
    .options = kJsonOption,
};

} // namespace heaptape
