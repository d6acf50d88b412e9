// Commands that look up names and addresses of the program, without the program.
#include <fmt/format.h>

#include "base/number_text.h"
#include "base/path_text.h"
#include "shell/all_commands.h"
#include "shell/describe.h"
#include "symbols/demangle.h"

namespace heaptape {
namespace {

const char* sort_word(SymbolSort sort) {
  switch (sort) {
  case SymbolSort::Function: return "function";
  case SymbolSort::Object: return "data";
  case SymbolSort::ThreadLocal: return "thread-local";
  case SymbolSort::Label: return "label";
  }
  return "?";
}

void say_problems(Session& session, Printer& out) {
  for (const std::string& problem : session.symbols().problems()) out.print("note: " + printable(problem) + "\n");
}

Result<> symbol(Session& session, Call& call, Printer& out) {
  const auto all = call.flag("--all");
  const auto word = call.next();
  if (!word) return Error{ErrorCode::Usage, "symbol needs a name or a regular expression"};
  if (const Result<> done = call.finish(); !done) return done.error();
  const Result<Pattern> pattern = Pattern::compile(*word);
  if (!pattern) return pattern.error();
  constexpr std::size_t kMost = 50;
  std::size_t shown = 0, found = 0;
  session.symbols().each_matching(pattern.value(), [&](const FoundSymbol& one) {
    ++found;
    if (shown == kMost && !all) return !session.should_stop();
    ++shown;
    const std::string where = one.symbol->sort == SymbolSort::ThreadLocal ? "(per thread)" : hex(one.address);
    return out.print(fmt::format("{:<16} {:>10}  {:<12} {}  {}\n", where, with_separators(one.symbol->size),
                                 sort_word(one.symbol->sort), printable(one.name),
                                 session.style.dim(printable(base_name(one.module->path))))) &&
           !session.should_stop();
  });
  if (found == 0) out.print("no symbol matches\n");
  if (found > shown) out.print(fmt::format("{} more; --all shows them\n", with_separators(found - shown)));
  if (found == 0) say_problems(session, out);
  return Unit{};
}

Result<> symbol_at(Session& session, Call& call, Printer& out) {
  const auto word = call.next();
  if (!word) return Error{ErrorCode::Usage, "symbolat needs an address"};
  if (const Result<> done = call.finish(); !done) return done.error();
  const Result<std::uint64_t> address = session.address(*word);
  if (!address) return address.error();
  const auto found = session.symbols().at(address.value(), session.time_us());
  const Module* module = session.symbols().modules().find_at_time(address.value(), session.time_us());
  if (!found && module == nullptr) {
    out.print(fmt::format("{} lies in none of the program's files; {} may know more\n", hex(address.value()),
                          session.how_to_ask("explain", hex(address.value()))));
    return Unit{};
  }
  const std::uint64_t offset = address.value() - module->load_bias;
  if (found) {
    const std::uint64_t into = address.value() - found->address;
    out.print(fmt::format("{}{}  {}, {}\n", printable(found->name), into != 0 ? "+" + hex(into) : "",
                          sort_word(found->symbol->sort), count_of(found->symbol->size, "byte")));
  }
  out.print(fmt::format("  in {} at {}\n", printable(module->path), hex(offset)));
  if (!found || found->symbol->sort == SymbolSort::Function) {
    for (const SourcePlace& place : session.symbols().places(address.value(), session.time_us())) {
      if (place.file.empty()) continue;
      out.print(fmt::format("  {} {}:{}\n", printable(demangle(place.function, NameForm::Short)), printable(place.file),
                            place.line));
    }
  }
  if (!found) say_problems(session, out);
  return Unit{};
}

constexpr CommandOption kSymbolOptions[] = {
    {"--all", "list all, not just the first 50"},
};

} // namespace

const Command kSymbolCommand{.name = "symbol",
                             .arguments = "PATTERN",
                             .summary = "functions and variables whose name matches, with their addresses",
                             .help = "PATTERN is a regular expression. Names come from the program's files, if\n"
                                     "those have not changed since.\n",
                             .example = "symbol ^main$",
                             .group = CommandGroup::Asking,
                             .takes = Takes::Function,
                             .run = symbol,
                             .options = kSymbolOptions};
const Command kSymbolAtCommand{.name = "symbolat",
                               .arguments = "ADDR",
                               .summary = "the function or variable at an address",
                               .help = "With its file, and the source line when it is code.\n",
                               .example = "symbolat 0x55d0c2a01139",
                               .group = CommandGroup::Asking,
                               .takes = Takes::Address,
                               .run = symbol_at};

} // namespace heaptape
