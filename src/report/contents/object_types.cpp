#include "report/contents/object_types.h"

#include <algorithm>
#include <optional>

#include "report/contents/allocated_type.h"
#include "symbols/demangle.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kWord = 8;
constexpr std::size_t kLongestName = 4000;
constexpr std::string_view kTablePrefix = "_ZTV", kNamePrefix = "_ZTS", kShownPrefix = "typeinfo name for ";

bool is_table_symbol(std::string_view name) { return name.starts_with(kTablePrefix); }

bool is_class_info(std::string_view name) {
  return name == "N10__cxxabiv117__class_type_infoE" || name == "N10__cxxabiv120__si_class_type_infoE" ||
         name == "N10__cxxabiv121__vmi_class_type_infoE";
}

// The name in the type_info of a virtual table, and where that type_info is.
struct NamedInfo {
  std::uint64_t info = 0;
  std::string name;
};
std::optional<NamedInfo> info_of(MemoryCursor& cursor, std::uint64_t vtable) {
  if (vtable % kWord != 0 || vtable < 2 * kWord) return std::nullopt;
  const std::optional<std::uint64_t> info = cursor.word(vtable - kWord);
  if (!info || *info % kWord != 0 || *info == 0) return std::nullopt;
  const std::optional<std::uint64_t> name = cursor.word(*info + kWord);
  if (!name || *name == 0) return std::nullopt;
  std::string text = cursor.text(*name, kLongestName);
  if (text.starts_with('*')) text.erase(0, 1); // it is compared by address: a local class
  const bool readable = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
  if (text.empty() || text.size() == kLongestName || !readable) return std::nullopt;
  return NamedInfo{*info, std::move(text)};
}

std::string shown_type(const std::string& linkage_name) {
  const std::string full = demangle(std::string(kNamePrefix) + linkage_name, NameForm::Full);
  return full.starts_with(kShownPrefix) ? object_type(full.substr(kShownPrefix.size())) : std::string();
}

} // namespace

std::string class_by_type_info(MemoryCursor& cursor, std::uint64_t vtable) {
  std::optional<NamedInfo> named = info_of(cursor, vtable);
  if (!named) return {};
  const std::optional<std::uint64_t> table_of_info = cursor.word(named->info);
  if (!table_of_info) return {};
  const std::optional<NamedInfo> class_of_info = info_of(cursor, *table_of_info);
  return class_of_info && is_class_info(class_of_info->name) ? std::move(named->name) : std::string();
}

const std::string& ObjectTypes::type_of(std::uint64_t word) {
  const auto [found, is_new] = known_.try_emplace(word);
  if (is_new) found->second = find(word);
  return found->second;
}

std::string ObjectTypes::find(std::uint64_t word) {
  if (word % kWord != 0 || word < 2 * kWord) return {};
  // A table of a base class that does not lie at the start of its object: not the start of an object.
  if (memory_.cursor().word(word - 2 * kWord).value_or(0) != 0) return {};
  if (const std::string name = class_by_type_info(memory_.cursor(), word); !name.empty()) return shown_type(name);
  const Module* const module = memory_.modules().find_at_time(word, memory_.facts().time_us);
  if (module == nullptr) return {};
  const std::vector<ListedSymbol>& tables = vtables_of(*module);
  const std::uint64_t address = word - module->load_bias;
  auto behind =
      std::ranges::partition_point(tables, [&](const ListedSymbol& table) { return table.address <= address; });
  if (behind == tables.begin()) return {};
  const ListedSymbol& table = *--behind;
  if (address - table.address < 2 * kWord || address - table.address >= table.size) return {};
  return shown_type(table.name.substr(kTablePrefix.size()));
}

const std::vector<ListedSymbol>& ObjectTypes::vtables_of(const Module& module) {
  const auto [found, is_new] = symbols_.try_emplace(&module);
  if (is_new) {
    std::vector<std::string> problems; // what cannot be read names nothing
    found->second = list_symbols({module.path, module.build_id}, memory_.options(), problems, is_table_symbol);
  }
  return found->second;
}

} // namespace heaptape
