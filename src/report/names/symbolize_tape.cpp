#include "report/names/symbolize_tape.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "report/names/module_map.h"
#include "wire/stack_roots.h"

namespace heaptape {

namespace {

// One file, and which of its addresses have frames on the tape.
struct WantedFile {
  std::string path;
  std::vector<std::uint8_t> build_id;
  std::optional<ModuleSymbols> symbols{}; // opened when the first address is asked for
  std::vector<std::uint64_t> addresses{};
  std::set<std::uint64_t> trampolines{};
};

class TapeSymbolizer {
public:
  TapeSymbolizer(const TapeReader& tape, SymbolOptions options, const SymbolizeProgress& progress,
                 const ModuleFd& fd_of)
      : tape_(tape), modules_(tape.modules()), progress_(progress), fd_of_(fd_of) {
    options.progress = [this](std::string_view path, std::size_t done, std::size_t) { report(path, done); };
    symbolizer_.emplace(std::move(options));
    for (std::uint32_t id = 1; id < tape.stacks().size(); ++id) nodes_.emplace_back(id);
    std::map<std::pair<std::string, std::vector<std::uint8_t>>, std::size_t> known;
    for (const Module& module : tape.modules()) {
      const auto [place, added] = known.try_emplace({module.path, module.build_id}, files_.size());
      if (added) files_.push_back({.path = module.path, .build_id = module.build_id});
      file_of_module_.push_back(place->second);
    }
  }

  // These and what they were called from, instead of all.
  void choose(std::span<const StackId> stacks) {
    std::set<StackId> wanted;
    for (StackId id : stacks) {
      while (id.value != 0 && id.value < tape_.stacks().size() && wanted.insert(id).second) {
        const StackId parent = tape_.stacks()[id.value].parent;
        if (parent.value >= id.value) break; // never on a good tape
        id = parent;
      }
    }
    nodes_.assign(wanted.begin(), wanted.end());
  }

  TapeSymbols run() {
    find_trampolines();
    collect_addresses();
    TapeSymbols found;
    for (WantedFile& file : files_) {
      if (!file.addresses.empty()) found.modules.push_back(symbolize(file, found.symbols));
    }
    return found;
  }

private:
  WantedFile& file_of(const Module& module) {
    return files_[file_of_module_[static_cast<std::size_t>(&module - tape_.modules().data())]];
  }

  ModuleSymbols& opened(WantedFile& file) {
    if (!file.symbols) {
      report(file.path, 0);
      const int fd = fd_of_ ? fd_of_(file.path, file.build_id) : -1;
      file.symbols.emplace(symbolizer_->open({.path = file.path, .build_id = file.build_id, .fd = fd}));
    }
    return *file.symbols;
  }

  void report(std::string_view path, std::size_t done_in_module) {
    if (progress_) progress_(path, done_ + done_in_module, total_);
  }

  // Whether a pc is a trampoline is seen in the code there, and decides what the pc outside it means.
  void find_trampolines() {
    for (const StackId id : nodes_) {
      const StackNode& node = tape_.stacks()[id.value];
      if (node.pc < wire::kFirstAddress || !seen_.insert(node.pc).second) continue;
      modules_.each_at(node.pc, [&](const Module& module) {
        WantedFile& file = file_of(module);
        const std::uint64_t address = node.pc - module.load_bias;
        if (!opened(file).is_signal_trampoline(address)) return;
        file.trampolines.insert(address);
        trampoline_pcs_.insert(node.pc);
      });
    }
  }

  void collect_addresses() {
    for (const std::uint64_t pc : seen_) want(trampoline_pcs_.contains(pc) ? pc : inside_the_call(pc));
    for (const StackId id : nodes_) {
      const StackNode& node = tape_.stacks()[id.value];
      if (!trampoline_pcs_.contains(node.pc) || node.parent.value >= tape_.stacks().size()) continue;
      const std::uint64_t interrupted = tape_.stacks()[node.parent.value].pc;
      if (interrupted >= wire::kFirstAddress) want(interrupted);
    }
    for (WantedFile& file : files_) {
      std::sort(file.addresses.begin(), file.addresses.end());
      file.addresses.erase(std::unique(file.addresses.begin(), file.addresses.end()), file.addresses.end());
      total_ += file.addresses.size();
    }
  }

  void want(std::uint64_t address) {
    modules_.each_at(address,
                     [&](const Module& module) { file_of(module).addresses.push_back(address - module.load_bias); });
  }

  ModuleSymbolsFound symbolize(WantedFile& file, Symbols& symbols) {
    ModuleSymbolsFound found{.path = file.path, .addresses = file.addresses.size()};
    ModuleSymbols& source = opened(file);
    const std::vector<SourcePlaces> all = source.find(file.addresses);
    const Symbols::File stored = symbols.add_file(file.path, file.build_id);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint64_t address = file.addresses[i];
      const bool trampoline = file.trampolines.contains(address);
      if (trampoline && all[i].empty()) {
        symbols.set(stored, address, std::vector{SourcePlace{.function = kTrampolineName}}, true);
        ++found.named;
        continue;
      }
      symbols.set(stored, address, all[i], trampoline);
      if (all[i].empty()) continue;
      if (!all[i].back().function.empty()) ++found.named;
      if (all[i].front().line != 0) ++found.lined;
    }
    found.origins = source.origins();
    found.problems = source.problems();
    file.symbols.reset();
    done_ += file.addresses.size();
    report(file.path, 0);
    return found;
  }

  // What libc calls it; stripped ones do not say.
  static constexpr const char* kTrampolineName = "__restore_rt";

  const TapeReader& tape_;
  ModuleMap modules_;
  const SymbolizeProgress& progress_;
  const ModuleFd& fd_of_;
  std::optional<Symbolizer> symbolizer_;
  std::vector<StackId> nodes_; // whose names are wanted
  std::vector<WantedFile> files_;
  std::vector<std::size_t> file_of_module_; // beside the tape's modules: index into files_
  std::unordered_set<std::uint64_t> seen_, trampoline_pcs_;
  std::size_t done_ = 0, total_ = 0;
};

void add_run_time_names(const TapeReader& tape, const RunTimeSource& run_time, TapeSymbols& found) {
  RunTimeNames names = name_run_time_code(tape, [&] { return run_time(tape); });
  if (names.named == 0) return;
  found.modules.push_back({.path = "[jit]", .addresses = names.addresses, .named = names.named, .lined = names.lined});
  for (RunTimeCode& code : names.codes) found.symbols.add_run_time(std::move(code));
}

} // namespace

TapeSymbols symbolize_tape(const TapeReader& tape, SymbolOptions options, const SymbolizeProgress& progress,
                           const ModuleFd& fd_of, const RunTimeSource& run_time) {
  TapeSymbols found = TapeSymbolizer(tape, std::move(options), progress, fd_of).run();
  add_run_time_names(tape, run_time, found);
  return found;
}

Symbols symbolize_stacks(const TapeReader& tape, std::span<const StackId> stacks, SymbolOptions options) {
  const SymbolizeProgress nobody_looks;
  const ModuleFd no_files;
  TapeSymbolizer symbolizer(tape, std::move(options), nobody_looks, no_files);
  symbolizer.choose(stacks);
  TapeSymbols found = symbolizer.run();
  add_run_time_names(tape, find_run_time_text, found);
  return std::move(found.symbols);
}

} // namespace heaptape
