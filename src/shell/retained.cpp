// What holds the heap: which variables and blocks the program gets at the rest through, at the last snapshot of memory up to the cursor.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analysis/memory/retained_tree.h"
#include "base/number_text.h"
#include "report/contents/root_names.h"
#include "report/leaks/leak_report.h"
#include "report/text/json_writer.h"
#include "shell/all_commands.h"
#include "shell/contents_text.h"
#include "shell/describe.h"
#include "shell/variable.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kUsualRows = 20;
constexpr std::uint64_t kSmallest =
    200; // of all that is retained, 1/200 is the least that is shown without being asked for
constexpr std::size_t kChainEnds = 8;  // of a long chain of holders: at its start and at its end
constexpr std::uint32_t kDeepest = 12; // indentation
constexpr CommandOption kRowOptions[] = {{"-n N", "at most N lines (default: 20)"}, {"--json", "as JSON"}};

struct RowLimit {
  std::uint64_t most = kUsualRows;
  bool was_asked_for = false; // then rows that hardly matter are shown, too
};

// Who makes the objects of a runtime is the runtime.
bool maker_tells(const BlockType& type) {
  return type.source != TypeSource::Runtime && type.source != TypeSource::Derived;
}

// The answer's parts, for text and for JSON.
class Retained {
public:
  Retained(Session& session, SnapshotHeap& heap, const BlockTypes& types, const RootOwners& owners, std::uint32_t from)
      : session_(session), heap_(heap), types_(types), owners_(owners), dominators_(owners.dominators()),
        tree_(RetainedTree::of(dominators_, heap.ranks(), question(from))), is_whole_(from == Dominators::kRoot) {
    for (std::uint32_t block = 0; block < heap.ranks().size(); ++block) all_bytes_ += heap.ranks().bytes(block);
  }

  const RetainedGroup& whole() const { return tree_.groups()[0]; }
  std::uint64_t all_bytes() const { return all_bytes_; }
  // "g_cache (variables of server)", "registers and stack of thread 4711", "held in more than one way": of a node below the root.
  std::string root_words(std::uint32_t node) const {
    return heaptape::root_words(session_.tape(), heap_, owners_, node);
  }

  std::string rows_text(const RowLimit& limit) const;
  void write_rows(JsonWriter& json, const RowLimit& limit) const;
  // "0x5581c2e0 56-byte World of main things.cpp:27"
  std::string block_words(std::uint32_t block) const;
  void write_block(JsonWriter& json, std::uint32_t block) const;
  const Session& session() const { return session_; }

private:
  RetainedQuestion question(std::uint32_t from) {
    return {.from = from,
            .kind_of = types_.by_block(),
            .is_type = [this](std::uint32_t kind) { return types_[kind].is_known(); },
            .holder_of = [this](std::uint32_t node) { return root_number(node); }};
  }
  // Above all numbers of types.
  std::uint32_t root_number(std::uint32_t node) {
    const auto [place, is_new] =
        root_numbers_.try_emplace(root_words(node), static_cast<std::uint32_t>(types_.size() + roots_.size()));
    if (is_new) roots_.push_back(place->first);
    return place->second;
  }
  const std::string& root_of(const RetainedGroup& group) const { return roots_[group.kind - types_.size()]; }

  std::vector<std::uint32_t> rows(const RowLimit& limit) const;
  std::string group_words(const RetainedGroup& group) const;
  // The block that a root holds alone: both are one row.
  const RetainedGroup* only_block_of(std::uint32_t number) const;

  Session& session_;
  SnapshotHeap& heap_;
  const BlockTypes& types_;
  const RootOwners& owners_;
  const Dominators& dominators_;
  std::vector<std::string> roots_{};
  std::map<std::string, std::uint32_t> root_numbers_{};
  RetainedTree tree_;
  const bool is_whole_;
  std::uint64_t all_bytes_ = 0;
};

std::string Retained::block_words(std::uint32_t block) const {
  const BlockType& type = types_.of_block(block);
  const std::string maker = maker_tells(type) ? session_.stacks().site(heap_.stack_of(block)) : std::string();
  return fmt::format("{:#x} {}-byte {}{}", heap_.ranks().begin(block), with_separators(heap_.ranks().bytes(block)),
                     type.is_known() ? printable(type.name) : "block", maker.empty() ? "" : " of " + printable(maker));
}

std::string Retained::group_words(const RetainedGroup& group) const {
  if (group.is_root()) return root_of(group);
  const std::uint32_t block = dominators_.block_of(group.largest);
  if (group.blocks == 1) return block_words(block);
  const BlockType& type = types_[group.kind];
  std::string text = type.is_known() ? fmt::format("{} × {}", with_separators(group.blocks), printable(type.name))
                                     : count_of(group.blocks, "block");
  if (group.maker != RetainedGroup::kMixed && maker_tells(type))
    text += " of " + printable(session_.stacks().site(StackId(group.maker)));
  else if (type.source == TypeSource::Function)
    text += " of " + printable(type.name.substr(1, type.name.size() - 2));
  const std::uint64_t largest = dominators_.retained_bytes(group.largest);
  if (largest > group.retained_bytes / 4)
    text += fmt::format(", the largest {:#x}{}", heap_.ranks().begin(block),
                        largest < group.retained_bytes ? " with " + bytes_text(largest) : "");
  return text;
}

const RetainedGroup* Retained::only_block_of(std::uint32_t number) const {
  const RetainedGroup& group = tree_.groups()[number];
  if (!group.is_root() || tree_.held_by(number).size() != 1) return nullptr;
  const RetainedGroup& held = tree_.groups()[tree_.held_by(number)[0]];
  return held.blocks == 1 ? &held : nullptr;
}

std::vector<std::uint32_t> Retained::rows(const RowLimit& limit) const {
  std::vector<std::uint32_t> rows = tree_.largest(limit.most);
  if (!limit.was_asked_for)
    std::erase_if(rows, [&](std::uint32_t row) {
      return tree_.groups()[row].retained_bytes < whole().retained_bytes / kSmallest;
    });
  return rows;
}

std::string Retained::rows_text(const RowLimit& limit) const {
  if (tree_.held_by(0).empty()) return "";
  std::string text = session_.style.dim(fmt::format("{:>10} {:>8} {:>11}  {}", "retained",
                                                    is_whole_ ? "of all" : "of it", "blocks", "by")) +
                     "\n";
  const std::vector<std::uint32_t> rows = this->rows(limit);
  const RetainedGroup* shown_before = nullptr;
  for (const std::uint32_t number : rows) {
    const RetainedGroup& group = tree_.groups()[number];
    if (&group == shown_before) continue;
    std::string words = group_words(group);
    if ((shown_before = only_block_of(number)) != nullptr) words = group_words(*shown_before) + ", in " + words;
    std::string line = fmt::format("{:>10} {:>8} {:>11}  {}{}", bytes_text(group.retained_bytes),
                                   percent_text(group.retained_bytes, is_whole_ ? all_bytes_ : whole().retained_bytes),
                                   with_separators(group.retained_blocks),
                                   std::string(2 * (std::min(group.depth, kDeepest) - 1), ' '), words);
    if (session_.style.width != 0) line = shortened(line, session_.style.width);
    text += line + "\n";
  }
  const std::size_t hidden = tree_.groups().size() - 1 - rows.size();
  if (hidden != 0) text += fmt::format("  … {} more; -n shows them\n", with_separators(hidden));
  return text;
}

void Retained::write_block(JsonWriter& json, std::uint32_t block) const {
  json.field("address", std::string_view(hex(heap_.ranks().begin(block)))).field("bytes", heap_.ranks().bytes(block));
  const BlockType& type = types_.of_block(block);
  json.field("type", std::string_view(type.name)).field("known_by", source_name(type.source));
  json.field("maker", std::string_view(session_.stacks().site(heap_.stack_of(block))));
}

void Retained::write_rows(JsonWriter& json, const RowLimit& limit) const {
  json.begin_array();
  const std::vector<std::uint32_t> rows = this->rows(limit);
  for (const std::uint32_t number : rows) {
    const RetainedGroup& group = tree_.groups()[number];
    json.begin_object().field("depth", group.depth).field("retained_bytes", group.retained_bytes);
    json.field("retained_blocks", group.retained_blocks).field("blocks", group.blocks);
    if (group.is_root()) {
      json.field("root", std::string_view(root_of(group)));
    } else {
      json.field("group_bytes", group.bytes).field("largest_retained_bytes", dominators_.retained_bytes(group.largest));
      json.key("largest").begin_object();
      write_block(json, dominators_.block_of(group.largest));
      json.end_object();
    }
    json.end_object();
  }
  json.end_array().field("more", tree_.groups().size() - 1 - rows.size());
}

Result<> whole_heap(Session& session, SnapshotHeap& heap, const BlockTypes& types, const RootOwners& owners,
                    const RowLimit& rows, bool as_json, Printer& out) {
  const Retained retained(session, heap, types, owners, Dominators::kRoot);
  const MemorySnapshot& snapshot = heap.memory().facts();
  const RetainedGroup& reached = retained.whole();
  const std::uint64_t blocks = heap.ranks().size();
  if (as_json) {
    JsonWriter json;
    json.begin_object().field("snapshot", snapshot.number).field("event", snapshot.event).field("blocks", blocks);
    json.field("bytes", retained.all_bytes()).field("reachable_blocks", reached.retained_blocks);
    json.field("reachable_bytes", reached.retained_bytes).key("holders");
    retained.write_rows(json, rows);
    json.end_object();
    out.print(json.text() + "\n");
    return Unit{};
  }
  std::string text =
      snapshot_text(session, snapshot) + "\n" + bytes_text(retained.all_bytes()) + " in " + count_of(blocks, "block");
  if (reached.retained_blocks < blocks)
    text +=
        fmt::format("; nothing leads to {} in {} of these", bytes_text(retained.all_bytes() - reached.retained_bytes),
                    count_of(blocks - reached.retained_blocks, "block"));
  out.print(text + "\n" + retained.rows_text(rows));
  return Unit{};
}

// From the root down to the block that holds this one.
std::vector<std::uint32_t> holders_above(const Dominators& dominators, std::uint32_t node) {
  std::vector<std::uint32_t> above;
  for (node = dominators.dominator(node); node != Dominators::kRoot; node = dominators.dominator(node))
    above.push_back(node);
  std::reverse(above.begin(), above.end());
  return above;
}

std::string chain_text(Retained& retained, const Dominators& dominators, const BlockRanks& ranks, std::uint32_t node) {
  std::vector<std::uint32_t> above = holders_above(dominators, node);
  const std::uint32_t top = above.empty() ? node : above[0], first = dominators.block_of(top);
  std::string text = "  held by   ";
  text += first == Dominators::kNone
              ? printable(retained.root_words(top))
              : fmt::format("more than one variable or block; {} lists them",
                            retained.session().how_to_ask("refs", fmt::format("{:#x}", ranks.begin(first))));
  text += "\n";
  if (!above.empty() && first == Dominators::kNone) above.erase(above.begin());
  for (std::size_t i = 0; i < above.size(); ++i) {
    if (above.size() > 2 * kChainEnds && i == kChainEnds) {
      text += fmt::format("            … {} more\n", with_separators(above.size() - 2 * kChainEnds));
      i = above.size() - kChainEnds;
    }
    text += fmt::format("            -> {}, retains {}\n", retained.block_words(dominators.block_of(above[i])),
                        bytes_text(dominators.retained_bytes(above[i])));
  }
  return text;
}

Result<> one_block(Session& session, SnapshotHeap& heap, const BlockTypes& types, const RootOwners& owners,
                   std::uint32_t block, const RowLimit& rows, bool as_json, Printer& out) {
  const Dominators& dominators = owners.dominators();
  const std::uint32_t node = dominators.node_of(block);
  const MemorySnapshot& snapshot = heap.memory().facts();
  if (node == Dominators::kNone) {
    if (!as_json) {
      out.print(block_text(session, heap, block) + fmt::format(" at {:#x}\n", heap.ranks().begin(block)) +
                snapshot_text(session, snapshot) + "\n" + unreachable_text(session, heap, block));
      return Unit{};
    }
    JsonWriter json;
    json.begin_object().field("snapshot", snapshot.number).field("event", snapshot.event);
    json.field("address", std::string_view(hex(heap.ranks().begin(block))));
    json.field("class", leak_class_name(heap.reachability().class_of(block))).end_object();
    out.print(json.text() + "\n");
    return Unit{};
  }
  Retained retained(session, heap, types, owners, node);
  const RetainedGroup& whole = retained.whole();
  if (as_json) {
    const std::vector<std::uint32_t> above = holders_above(dominators, node);
    JsonWriter json;
    json.begin_object().field("snapshot", snapshot.number).field("event", snapshot.event);
    retained.write_block(json, block);
    json.field("retained_bytes", whole.retained_bytes).field("retained_blocks", whole.retained_blocks);
    json.field("root", std::string_view(retained.root_words(above.empty() ? node : above[0])));
    json.key("held_by").begin_array();
    for (const std::uint32_t each : above) {
      if (dominators.block_of(each) == Dominators::kNone) continue;
      json.begin_object();
      retained.write_block(json, dominators.block_of(each));
      json.field("retained_bytes", dominators.retained_bytes(each)).end_object();
    }
    json.end_array().key("holds");
    retained.write_rows(json, rows);
    json.end_object();
    out.print(json.text() + "\n");
    return Unit{};
  }
  std::string text = retained.block_words(block) + "\n" + snapshot_text(session, snapshot) + "\n";
  text +=
      fmt::format("  retains   {} in {}, {} of the heap{}\n", bytes_text(whole.retained_bytes),
                  count_of(whole.retained_blocks, "block"), percent_text(whole.retained_bytes, retained.all_bytes()),
                  whole.retained_blocks == 1 ? ": nothing but itself" : "");
  text += chain_text(retained, dominators, heap.ranks(), node);
  out.print(text + retained.rows_text(rows));
  return Unit{};
}

Result<> one_variable(Session& session, SnapshotHeap& heap, const BlockTypes& types, const RootOwners& owners,
                      const Variable& variable, const RowLimit& rows, bool as_json, Printer& out) {
  const MemorySnapshot& snapshot = heap.memory().facts();
  const std::vector<VariableWord> words = words_to_blocks(heap, variable);
  const std::uint32_t node = owners.node_of_variable(heap, variable.name, variable.begin);
  std::optional<Retained> retained;
  if (node != Dominators::kNone) retained.emplace(session, heap, types, owners, node);
  if (as_json) {
    JsonWriter json;
    json.begin_object().field("snapshot", snapshot.number).field("event", snapshot.event);
    write_variable(json, session, heap, variable, words);
    json.field("retained_bytes", retained ? retained->whole().retained_bytes : 0);
    json.field("retained_blocks", retained ? retained->whole().retained_blocks : 0).key("holds");
    if (retained)
      retained->write_rows(json, rows);
    else
      json.begin_array().end_array();
    out.print(json.end_object().text() + "\n");
    return Unit{};
  }
  std::string text =
      fmt::format("{:#x}: {}\n{}\n", variable.begin, variable_words(variable), snapshot_text(session, snapshot)) +
      words_text(session, heap, variable, words);
  if (retained && retained->whole().retained_blocks != 0) {
    const RetainedGroup& whole = retained->whole();
    text += fmt::format("  retains   {} in {}, {} of the heap\n", bytes_text(whole.retained_bytes),
                        count_of(whole.retained_blocks, "block"),
                        percent_text(whole.retained_bytes, retained->all_bytes()));
    text += retained->rows_text(rows);
  } else if (!words.empty()) {
    text += fmt::format("  retains   nothing: something else leads to {}, too\n",
                        words.size() == 1 ? "this block" : "each of these blocks");
  }
  out.print(text);
  return Unit{};
}

Result<> retained(Session& session, Call& call, Printer& out) {
  const bool as_json = call.flag("--json");
  const Result<std::uint64_t> count = call.count("-n", kUsualRows);
  if (!count) return count.error();
  const RowLimit rows{count.value(), call.option("-n").has_value()};
  const std::optional<std::string> word = call.next();
  if (const Result<> done = call.finish(); !done) return done.error();
  std::uint64_t address = 0;
  if (word) {
    const Result<std::uint64_t> given = session.address(*word);
    if (!given) return given.error();
    address = given.value();
  }
  const Result<SnapshotHeap*> heap = session.memory_graph();
  if (!heap) return heap.error();
  const std::uint32_t block = heap.value()->ranks().find(address);
  const bool in_block = block != BlockRanks::kNone;
  const std::optional<Variable> variable =
      word && !in_block ? variable_at(session, heap.value()->memory(), address) : std::nullopt;
  if (word && !in_block && !variable) return not_in_a_block(session, heap.value()->memory(), address);
  const Result<BlockTypes*> types = session.block_types();
  if (!types) return types.error();
  const Result<RootOwners*> owners = session.root_owners();
  if (!owners) return owners.error();
  if (!word) return whole_heap(session, *heap.value(), *types.value(), *owners.value(), rows, as_json, out);
  if (variable)
    return one_variable(session, *heap.value(), *types.value(), *owners.value(), *variable, rows, as_json, out);
  return one_block(session, *heap.value(), *types.value(), *owners.value(), block, rows, as_json, out);
}

} // namespace

const Command kRetainedCommand{
    .name = "retained",
    .arguments = "[ADDR]",
    .summary = "what holds the heap: the variables and blocks that most of it hangs on",
    .help = "A block retains itself and all that the program can get at only through it. The\n"
            "list is a tree: what a line retains is part of what the line above it does, one\n"
            "step to the left. Blocks of one type that are held alike are one line. With\n"
            "ADDR: what this block retains, and what it is held by, up to a variable; or what\n"
            "the variable at ADDR retains.\n"
            "\n"
            "Words in registers and on stacks count only for what variables do not lead to.\n"
            "'Held in more than one way' is what several variables or blocks lead to, so that\n"
            "none of them retains it.\n",
    .example = "retained 0x5581c2e0",
    .group = CommandGroup::Memory,
    .takes = Takes::Address,
    .run = retained,
    .options = kRowOptions,
};

} // namespace heaptape
