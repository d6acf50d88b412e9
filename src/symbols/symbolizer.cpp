#include "symbols/symbolizer.h"

#include <optional>
#include <utility>

#include "symbols/finder.h"
#include "symbols/symbol_table.h"

namespace heaptape {

struct ModuleSymbols::State {
  MappedFile file;
  std::optional<ElfImage> image;
  SectionBytes symbols, names;
  SymbolTable table;
  std::vector<SymbolOrigin> origins;
  std::vector<std::string> problems;
};

ModuleSymbols::ModuleSymbols(std::unique_ptr<State> state) : state_(std::move(state)) {}
ModuleSymbols::ModuleSymbols(ModuleSymbols&&) noexcept = default;
ModuleSymbols& ModuleSymbols::operator=(ModuleSymbols&&) noexcept = default;
ModuleSymbols::~ModuleSymbols() = default;

std::vector<SourcePlaces> ModuleSymbols::find(std::span<const std::uint64_t> addresses) {
  std::vector<SourcePlaces> found(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (const Symbol* symbol = state_->table.find(addresses[i]); symbol != nullptr)
      found[i].push_back({.function = std::string(symbol->name)});
  }
  return found;
}

bool ModuleSymbols::is_signal_trampoline(std::uint64_t) const { return false; }
const std::vector<SymbolOrigin>& ModuleSymbols::origins() const { return state_->origins; }
const std::vector<std::string>& ModuleSymbols::problems() const { return state_->problems; }

Symbolizer::Symbolizer(SymbolOptions options) : options_(std::move(options)) {}
Symbolizer::~Symbolizer() = default;

ModuleSymbols Symbolizer::open(const ModuleFile& file) {
  auto state = std::make_unique<ModuleSymbols::State>();
  auto opened = Finder(options_).module(file);
  if (!opened) {
    state->problems.push_back(opened.error().sentence);
    return ModuleSymbols(std::move(state));
  }
  state->file = std::move(opened).value();
  auto image = ElfImage::parse(state->file.bytes());
  if (!image) {
    state->problems.push_back("'" + file.path + "': " + image.error().sentence);
    return ModuleSymbols(std::move(state));
  }
  state->image = std::move(image).value();
  state->symbols = state->image->contents(".symtab");
  state->names = state->image->contents(".strtab");
  if (state->table.add(state->symbols.view(), state->names.view()) > 0)
    state->origins.push_back({SymbolKind::SymbolTable, state->file.path()});
  state->table.finish(state->image->code_ranges());
  return ModuleSymbols(std::move(state));
}

} // namespace heaptape
