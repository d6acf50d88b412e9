// heaptape symbolize: names for a tape's frames, from the files present now.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/number_text.h"
#include "base/system_error.h"
#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "cli/terminal/progress.h"
#include "report/names/finish_tape.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{.usage = "heaptape symbolize [options] [TAPE]",
                            .purpose = "Looks up functions, files and lines for every frame on a tape and adds what is "
                                       "new or better to it. A file is used only if its build-id matches the recorded "
                                       "one. 'heaptape record' has already done this with the files of that time.",
                            .more = R"(Examples:
  heaptape symbolize server.tape                       (with new debug packages)
  heaptape symbolize --debug-dir symbols/ server.tape  (or symbols/.build-id/)
  heaptape symbolize --sysroot target/ device.tape     (from another machine)
)"};

std::string text_of(SymbolKind kind) {
  switch (kind) {
  case SymbolKind::Dwarf: return "debug information";
  case SymbolKind::SymbolTable: return "symbol table";
  case SymbolKind::DynamicSymbols: return "dynamic symbols";
  case SymbolKind::MiniDebugInfo: return "minidebuginfo";
  }
  return "?";
}

void print_module(Output& output, const ModuleSymbolsFound& module) {
  output.print("  {}\n", printable(module.path));
  output.print("    {}: {} named, {} with a line\n", count_of(module.addresses, "address", "addresses"),
               with_separators(module.named), with_separators(module.lined));
  for (const SymbolOrigin& origin : module.origins) {
    output.print("    {}{}\n", text_of(origin.kind), origin.path == module.path ? "" : " of " + printable(origin.path));
  }
  for (const std::string& problem : module.problems) output.print("    {}\n", printable(problem));
}

Result<> check_folder(const char* option, const std::string& folder) {
  struct stat facts {};
  if (::stat(folder.c_str(), &facts) != 0)
    return Error{ErrorCode::NotFound, std::string(option) + ": " + folder + ": " + system_message(errno)};
  if (!S_ISDIR(facts.st_mode)) return Error{ErrorCode::Usage, std::string(option) + ": " + folder + " is not a folder"};
  return Unit{};
}

} // namespace

int symbolize(Arguments arguments) {
  TapeChoice choice;
  std::vector<std::string> debug_dirs;
  AddSymbols how;
  bool no_debuginfod = false, quiet = false;
  OptionList list("symbolize");
  list.word("TAPE", choice.path);
  list.repeated("--debug-dir DIR", debug_dirs, "folder with separate debug files, besides /usr/lib/debug; repeatable");
  list.text("--sysroot DIR", how.options.sysroot, "folder with the files of the machine where the program ran");
  list.flag("--no-debuginfod", no_debuginfod, "do not ask the servers in $DEBUGINFOD_URLS");
  list.flag("-q,--quiet", quiet, "do not list what was found");
  if (const auto status = parse(list, kHelp, arguments)) return *status;
  for (const std::string& folder : debug_dirs) {
    if (const Result<> checked = check_folder("--debug-dir", folder); !checked) return fail(checked.error());
  }
  if (!how.options.sysroot.empty()) {
    if (const Result<> checked = check_folder("--sysroot", how.options.sysroot); !checked) return fail(checked.error());
  }
  how.options.debug_dirs.insert(how.options.debug_dirs.begin(), debug_dirs.begin(), debug_dirs.end());
  how.options.debuginfod = !no_debuginfod;
  if (const Result<TapeReader> tape = open_chosen_tape(choice); !tape) return fail(tape.error());

  const Result<TapeSymbols> found = [&] {
    ProgressLine progress("looking up names");
    how.progress = [&](std::string_view path, std::size_t done, std::size_t all) { progress.show(done, all, path); };
    return add_symbols(choice.path, how);
  }();
  if (!found) return fail(found.error());
  if (quiet) return kOk;
  Output output;
  std::size_t addresses = 0, named = 0, lined = 0;
  for (const ModuleSymbolsFound& module : found.value().modules) {
    addresses += module.addresses;
    named += module.named;
    lined += module.lined;
  }
  output.print("{}: {} in {}, {} named, {} with a line\n", printable(choice.path),
               count_of(addresses, "address", "addresses"), count_of(found.value().modules.size(), "module"),
               with_separators(named), with_separators(lined));
  for (const ModuleSymbolsFound& module : found.value().modules) print_module(output, module);
  return output.finish() ? kOk : kTrouble;
}

} // namespace heaptape::cli
