// What the shell knows, from the commands themselves.
#include <algorithm>

#include <fmt/format.h>

#include "options/help_text.h"
#include "report/select/filter_fields.h"
#include "report/text/text_style.h"
#include "shell/all_commands.h"

namespace heaptape {
namespace {

std::string_view group_title(CommandGroup group) {
  switch (group) {
  case CommandGroup::Moving: return "Moving the cursor";
  case CommandGroup::Asking: return "At the cursor";
  case CommandGroup::Memory: return "Memory at the cursor";
  case CommandGroup::Whole: return "The whole tape";
  case CommandGroup::Shell: return "The shell";
  }
  return "";
}

// Where the descriptions of commands begin, and how wide lines may be: those of a terminal, at most 100 columns.
struct Layout {
  explicit Layout(const TextStyle& style)
      : width(style.width == 0 ? 1000 : std::min(style.width, 100u)), column(width < 70 ? 8 : 34) {}
  std::size_t width, column;
};

std::string positions(const Layout& layout) {
  std::string text = "Positions\n";
  for (const auto& [words, meaning] :
       {std::pair{"1234", "after event 1234"}, std::pair{"12.5s 200ms 2min", "this long after the start"},
        std::pair{"^ or start", "before the first event"}, std::pair{"$ or end", "after the last"},
        std::pair{"peak", "when most was live"}, std::pair{"NAME", "a mark of the program"},
        std::pair{"@", "the cursor"}, std::pair{"+N -N +2s -50ms", "from the cursor"},
        std::pair{"snapshot:2", "a snapshot by its number; snapshot:NAME by its name; @2 and @NAME in short"},
        std::pair{"snapshot", "the next one; also previous snapshot, first snapshot, last snapshot"}})
    text += row_text(std::string("  ") + words, meaning, 21, layout.width);
  return text + "and sums of these: @-5, peak+1, $-100, loaded+20ms.\n";
}

std::string filters() {
  return "Filters\n"
         "  size>1M and thread=3 and fn~\"parse\" and not kind=release\n"
         "Comparisons: = != < <= > >= and ~ !~ for regular expressions; and, or, not, ( ).\n\n"
         "Of events\n" +
         filter_fields_text(FilterOf::Events) + "\nOf blocks\n" + filter_fields_text(FilterOf::Blocks);
}

constexpr std::string_view kAddresses = "Addresses\n"
                                        "  0x55d0c4a2e2a0, 55d0c4a2e2a0, symbol, symbol+16, symbol+0x10\n"
                                        "Symbols are those of the program's files.\n";

std::string overview(const Layout& layout) {
  std::string text;
  CommandGroup group = CommandGroup::Shell;
  bool first = true;
  for (const Command* command : commands()) {
    if (first || command->group != group) text += fmt::format("{}{}\n", first ? "" : "\n", group_title(command->group));
    first = false;
    group = command->group;
    const std::string usage =
        std::string(command->name) + (command->arguments.empty() ? "" : " ") + std::string(command->arguments);
    text += row_text("  " + usage, command->summary, layout.column, layout.width);
  }
  text += row_text("  quit", "leave (also exit, or Ctrl-D)", layout.column, layout.width);
  return text + "\n'help COMMAND' says more; so do 'help positions', 'help filters' and 'help addresses'.\n"
                "A command may be shortened while it stays unambiguous. Ctrl-C stops a search.\n";
}

Result<> help(Session& session, Call& call, Printer& out) {
  auto word = call.next();
  if (word == "check" && call.peek() == "heap") word = "check-" + *call.next();
  if (const Result<> done = call.finish(); !done) return done.error();
  const Layout layout(session.style);
  const auto print = [&](std::string_view text) {
    out.print(folded_lines(text, layout.width));
    return Unit{};
  };
  if (!word) return print(overview(layout));
  if (*word == "positions" || *word == "position") return print(positions(layout));
  if (*word == "filters" || *word == "filter") return print(filters());
  if (*word == "addresses" || *word == "address") return print(kAddresses);
  const Result<const Command*> found = find_command(*word);
  if (!found) return found.error();
  return print(help_of(*found.value()));
}

} // namespace

std::string help_of(const Command& command) {
  std::string text = fmt::format("{}{}{}\n  {}\n", command.name, command.arguments.empty() ? "" : " ",
                                 command.arguments, command.summary);
  if (!command.alias.empty()) text += fmt::format("  short: {}\n", command.alias);
  if (!command.help.empty()) text += "\n" + std::string(command.help);
  if (!command.options.empty()) text += "\n" + options_text(Call(command.name, command.options).options());
  return text + fmt::format("\nExample: {}\n", command.example);
}

const Command kHelpCommand{.name = "help",
                           .arguments = "[COMMAND]",
                           .summary = "this list, or more about a command",
                           .help = "Also: help positions, help filters, help addresses.\n",
                           .example = "help explain",
                           .group = CommandGroup::Shell,
                           .takes = Takes::Command,
                           .run = help,
                           .alias = "?"};

} // namespace heaptape
