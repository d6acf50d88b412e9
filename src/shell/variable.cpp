#include "shell/variable.h"

#include <cstring>
#include <unordered_set>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/path_text.h"
#include "shell/contents_text.h"
#include "shell/describe.h"

namespace heaptape {
namespace {

constexpr std::size_t kMostWords = 4096; // that lead to blocks; a table of more is cut
constexpr std::size_t kMostLines = 10;

} // namespace

std::optional<Variable> variable_at(Session& session, const SnapshotMemory& memory, std::uint64_t address) {
  const auto found = session.symbols().at(address, memory.facts().time_us);
  if (!found || found->symbol->sort != SymbolSort::Object || found->symbol->size == 0) return std::nullopt;
  if (address - found->address >= found->symbol->size) return std::nullopt;
  return Variable{found->name, std::string(base_name(found->module->path)), found->address, found->symbol->size};
}

std::string variable_words(const Variable& variable) {
  return fmt::format("variable {}, {} of {}", printable(variable.name), bytes_text(variable.bytes),
                     printable(variable.module));
}

std::vector<VariableWord> words_to_blocks(SnapshotHeap& heap, const Variable& variable) {
  const BlockRanks& ranks = heap.ranks();
  const PointerForm form = heap.view().graph.options().form;
  std::vector<VariableWord> words;
  std::unordered_set<std::uint32_t> met;
  heap.memory().cursor().for_each_piece(
      variable.begin, variable.end(), [&](std::uint64_t address, std::span<const std::byte> bytes) {
        for (std::size_t at = -address % 8; at + 8 <= bytes.size() && words.size() < kMostWords; at += 8) {
          std::uint64_t word;
          std::memcpy(&word, &bytes[at], sizeof word);
          std::uint32_t block = ranks.find(word);
          if (block == BlockRanks::kNone) block = ranks.find(word = form.address(word));
          if (block == BlockRanks::kNone || !met.insert(block).second) continue;
          words.push_back({address + at, block, word - ranks.begin(block)});
        }
      });
  return words;
}

std::string words_text(Session& session, SnapshotHeap& heap, const Variable& variable,
                       const std::vector<VariableWord>& words) {
  if (words.empty()) return "  leads to no live block\n";
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < kMostLines; ++i) {
    const VariableWord& word = words[i];
    text += fmt::format("  -> {:#x} {}", heap.ranks().begin(word.block), block_text(session, heap, word.block));
    if (word.offset != 0) text += fmt::format(", entered at +{:#x}", word.offset);
    if (word.address != variable.begin) text += fmt::format(", from +{:#x}", word.address - variable.begin);
    text += "\n";
  }
  if (words.size() > kMostLines) text += fmt::format("  … {} more\n", count_of(words.size() - kMostLines, "block"));
  return text;
}

void write_variable(JsonWriter& json, Session& session, SnapshotHeap& heap, const Variable& variable,
                    const std::vector<VariableWord>& words) {
  json.field("variable", std::string_view(variable.name)).field("module", std::string_view(variable.module));
  json.field("begin", std::string_view(hex(variable.begin))).field("end", std::string_view(hex(variable.end())));
  json.key("points_to").begin_array();
  for (const VariableWord& word : words) {
    json.begin_object().field("word", std::string_view(hex(word.address)));
    json.field("block", std::string_view(hex(heap.ranks().begin(word.block)))).field("offset", word.offset);
    json.field("bytes", heap.ranks().bytes(word.block));
    json.field("maker", std::string_view(session.stacks().site(heap.stack_of(word.block)))).end_object();
  }
  json.end_array();
}

} // namespace heaptape
