#include "symbols/symbolizer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "symbols/debug_image.h"
#include "symbols/dwarf_lookup.h"
#include "symbols/finder.h"
#include "symbols/split_units.h"
#include "symbols/symbol_table.h"
#include "symbols/unpack.h"

namespace heaptape {

namespace {

// mov $15, %rax; syscall: how libraries on x86-64 return from a signal handler, and nothing else.
constexpr std::array<std::uint8_t, 9> kSignalReturn{0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

bool is_mangled(std::string_view name) {
  return name.starts_with("_Z") || name.starts_with("_R") || name.starts_with("_D");
}

} // namespace

struct ModuleSymbols::State {
  const SymbolOptions& options;
  std::string path;
  Finder finder;
  std::unique_ptr<DebugImage> module, debug, alt; // null: there is none
  std::vector<std::byte> mini_bytes;              // .gnu_debugdata unpacked
  std::unique_ptr<DebugImage> mini;
  std::vector<AddressRange> code;
  SymbolTable table;
  std::optional<UnwindTable> unwind;                  // made when it is first asked for
  std::unique_ptr<dwarf::DebugFile> alt_dwarf, dwarf; // made at the first look-up
  std::unique_ptr<SplitUnits> split_units;
  std::unique_ptr<dwarf::Lookup> lookup;
  std::vector<SymbolOrigin> origins;
  std::vector<std::string> problems;
  bool told_missing = false; // that .dwo files are not there

  State(const SymbolOptions& symbol_options, std::string module_path)
      : options(symbol_options), path(std::move(module_path)), finder(options) {}

  void open(const ModuleFile& file);
  void open_debug_file(std::span<const std::uint8_t> build_id);
  void read_tables();
  bool add_table(DebugImage* image, const char* symbols, const char* names, SymbolKind kind, const std::string& from);
  void open_dwarf(DebugImage& image);
  // Sorted addresses, without doubles.
  std::vector<SourcePlaces> find_sorted(std::span<const std::uint64_t> addresses);
};

void ModuleSymbols::State::open(const ModuleFile& file) {
  auto found = finder.module(file);
  if (found) {
    module = std::make_unique<DebugImage>(std::move(found).value());
    if (!module->error().empty()) problems.push_back("'" + module->path() + "' cannot be used: " + module->error());
  } else {
    problems.push_back(found.error().sentence);
  }
  // A file that is gone may still have its debug file.
  if (module == nullptr || !module->elf().has(".debug_info")) {
    std::vector<std::uint8_t> build_id = file.build_id;
    if (build_id.empty() && module != nullptr) build_id = module->elf().build_id();
    open_debug_file(build_id);
  }
  if (module != nullptr) code = module->elf().code_ranges();
  if (code.empty() && debug != nullptr) code = debug->elf().code_ranges();
  for (DebugImage* image : {module.get(), debug.get()}) {
    if (image == nullptr || dwarf != nullptr || !image->elf().has(".debug_info")) continue;
    origins.push_back({SymbolKind::Dwarf, image->path()});
    open_dwarf(*image);
  }
  read_tables();
}

void ModuleSymbols::State::open_debug_file(std::span<const std::uint8_t> build_id) {
  const auto link = module != nullptr ? module->elf().debug_link() : std::nullopt;
  auto found = finder.debug_file(path, build_id, link, problems);
  if (!found) return;
  debug = std::make_unique<DebugImage>(std::move(*found));
  if (!debug->error().empty()) problems.push_back("'" + debug->path() + "' cannot be used: " + debug->error());
}

bool ModuleSymbols::State::add_table(DebugImage* image, const char* symbols, const char* names, SymbolKind kind,
                                     const std::string& from) {
  if (image == nullptr || table.add(image->section(symbols), image->section(names)) == 0) return false;
  origins.push_back({kind, from});
  return true;
}

void ModuleSymbols::State::read_tables() {
  bool whole = add_table(module.get(), ".symtab", ".strtab", SymbolKind::SymbolTable, path);
  if (!whole && debug != nullptr)
    whole = add_table(debug.get(), ".symtab", ".strtab", SymbolKind::SymbolTable, debug->path());
  if (!whole && module != nullptr) {
    add_table(module.get(), ".dynsym", ".dynstr", SymbolKind::DynamicSymbols, path);
    // Made to complete the dynamic symbols.
    mini_bytes = unpack_xz(module->section(".gnu_debugdata"));
    if (!mini_bytes.empty()) {
      mini = std::make_unique<DebugImage>(MappedFile::in_place(mini_bytes, path));
      add_table(mini.get(), ".symtab", ".strtab", SymbolKind::MiniDebugInfo, path);
    }
  }
  table.finish(code);
}

void ModuleSymbols::State::open_dwarf(DebugImage& image) {
  if (const auto link = image.elf().alt_link()) {
    if (auto found = finder.alt_file(image.path(), *link)) {
      alt = std::make_unique<DebugImage>(std::move(*found));
      alt_dwarf = std::make_unique<dwarf::DebugFile>(alt->dwarf_sections());
    } else {
      problems.push_back("'" + image.path() + "' shares debug information with '" + link->name +
                         "', which was not found; some names are missing");
    }
  }
  dwarf = std::make_unique<dwarf::DebugFile>(image.dwarf_sections(), alt_dwarf.get());
  split_units = std::make_unique<SplitUnits>(finder, path);
}

std::vector<SourcePlaces> ModuleSymbols::State::find_sorted(std::span<const std::uint64_t> addresses) {
  std::vector<SourcePlaces> found(addresses.size());
  if (dwarf != nullptr) {
    if (lookup == nullptr) {
      lookup = std::make_unique<dwarf::Lookup>(
          *dwarf, code, [this](const dwarf::Unit& skeleton) { return split_units->open(skeleton); });
    }
    found = lookup->find(addresses, [&](std::size_t done) {
      if (options.progress) options.progress(path, done, addresses.size());
    });
    if (split_units->missing() != 0 && !std::exchange(told_missing, true)) {
      problems.push_back("debug information of '" + path + "' lies in .dwo files that were not found, " +
                         std::to_string(split_units->missing()) + " of them; the first is '" +
                         split_units->first_missing() + "'");
    }
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    SourcePlaces& places = found[i];
    // Compilers leave the linkage name out where nobody can link to it; the symbol table has it then.
    const bool complete = !places.empty() && !places.back().function.empty();
    if (complete && is_mangled(places.back().function)) continue;
    const Symbol* symbol = table.find(addresses[i]);
    if (symbol == nullptr || (complete && !is_mangled(symbol->name))) continue;
    if (places.empty()) places.emplace_back();
    places.back().function = symbol->name;
  }
  return found;
}

ModuleSymbols::ModuleSymbols(std::unique_ptr<State> state) : state_(std::move(state)) {}
ModuleSymbols::ModuleSymbols(ModuleSymbols&&) noexcept = default;
ModuleSymbols& ModuleSymbols::operator=(ModuleSymbols&&) noexcept = default;
ModuleSymbols::~ModuleSymbols() = default;

std::vector<SourcePlaces> ModuleSymbols::find(std::span<const std::uint64_t> addresses) {
  std::vector<std::uint64_t> sorted(addresses.begin(), addresses.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<SourcePlaces> found = state_->find_sorted(sorted);
  if (std::equal(sorted.begin(), sorted.end(), addresses.begin(), addresses.end())) return found;
  std::vector<SourcePlaces> in_order;
  in_order.reserve(addresses.size());
  for (const std::uint64_t address : addresses) {
    const auto place = std::lower_bound(sorted.begin(), sorted.end(), address) - sorted.begin();
    in_order.push_back(found[static_cast<std::size_t>(place)]);
  }
  return in_order;
}

bool ModuleSymbols::is_signal_trampoline(std::uint64_t address) const {
  if (state_->module == nullptr) return false;
  const ByteSpan code = state_->module->elf().loaded_at(address, kSignalReturn.size());
  return !code.empty() && std::memcmp(code.data(), kSignalReturn.data(), kSignalReturn.size()) == 0;
}

const UnwindTable& ModuleSymbols::unwind_table() {
  if (state_->unwind) return *state_->unwind;
  UnwindTable& table = state_->unwind.emplace();
  for (DebugImage* const image : {state_->module.get(), state_->debug.get()}) {
    if (image == nullptr) continue;
    const auto add = [&](UnwindTable::Kind kind, const char* name) {
      const ElfSection* const section = image->elf().find(name);
      table.add(kind, image->section(name), section != nullptr ? section->address : 0);
    };
    add(UnwindTable::Kind::EhFrame, ".eh_frame");
    add(UnwindTable::Kind::DebugFrame, ".debug_frame");
  }
  return table;
}

const std::vector<SymbolOrigin>& ModuleSymbols::origins() const { return state_->origins; }
const std::vector<std::string>& ModuleSymbols::problems() const { return state_->problems; }

Symbolizer::Symbolizer(SymbolOptions options) : options_(std::move(options)) {}
Symbolizer::~Symbolizer() = default;

ModuleSymbols Symbolizer::open(const ModuleFile& file) {
  auto state = std::make_unique<ModuleSymbols::State>(options_, file.path);
  state->open(file);
  return ModuleSymbols(std::move(state));
}

} // namespace heaptape
