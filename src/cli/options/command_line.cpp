#include "cli/options/command_line.h"

#include <algorithm>
#include <vector>

#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"

namespace heaptape::cli {
namespace {

constexpr std::size_t kTextColumn = 24;
constexpr std::size_t kLineWidth = 80;

// "  -o, --output FILE"
std::string option_label(const CLI::Option& option) {
  std::string label = "  ";
  label += option.get_snames().empty() ? "    " : "-" + option.get_snames().front() + ", ";
  if (!option.get_lnames().empty()) label += "--" + option.get_lnames().front();
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    label += " " + type.substr(0, type.find(':')); // CLI11 adds what a check demands
  }
  return label;
}

void append_wrapped(std::string& out, std::string_view text, std::size_t column) {
  while (column + text.size() > kLineWidth) {
    const std::size_t end = text.rfind(' ', kLineWidth - column);
    if (end == text.npos || end == 0) break;
    out.append(text.substr(0, end)).append("\n").append(column, ' ');
    text.remove_prefix(end + 1);
  }
  out.append(text).append("\n");
}

// A paragraph of plain sentences is broken anew; examples, lists and headings stay as they are.
void append_paragraph(std::string& out, std::string_view paragraph) {
  const bool is_plain =
      !paragraph.starts_with(' ') && paragraph.find("\n ") == paragraph.npos && paragraph.find("  ") == paragraph.npos;
  std::string text(paragraph);
  if (!is_plain) {
    out.append(text).append("\n");
    return;
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  append_wrapped(out, text, 0);
}

// CLI11's sentences in ours. Those not expected here are shown as they are.
std::string sentence_for(const CLI::ParseError& error) {
  const std::string what = error.what();
  const std::size_t colon = what.find(": ");
  if (colon == what.npos) return what;
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
  case CLI::ExitCodes::ExtrasError: {
    const std::string extra = what.substr(colon + 2);
    return (extra.starts_with('-') ? "unknown option " : "one argument too many: ") + extra;
  }
  case CLI::ExitCodes::ArgumentMismatch: return what.substr(0, colon) + " needs a value";
  default: return what;
  }
}

} // namespace

std::string wrapped_text(std::string_view text) {
  std::string out;
  while (text.ends_with('\n')) text.remove_suffix(1);
  for (;;) {
    const std::size_t end = text.find("\n\n");
    append_paragraph(out, text.substr(0, end));
    if (end == text.npos) return out;
    out += "\n";
    text.remove_prefix(end + 2);
  }
}

std::string help_text(const CLI::App& app, const CommandHelp& help) {
  std::string text = "usage: " + std::string(help.usage) + "\n\n";
  append_wrapped(text, help.purpose, 0);
  text += "\nOptions:\n";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() || option->get_group().empty()) continue;
    std::string label = option_label(*option);
    if (label.size() + 2 > kTextColumn)
      label += "\n" + std::string(kTextColumn, ' ');
    else
      label.resize(kTextColumn, ' ');
    text += label;
    append_wrapped(text, option->get_description(), kTextColumn);
  }
  if (!help.more.empty()) text.append("\n").append(wrapped_text(help.more));
  return text;
}

std::optional<int> parse(CLI::App& app, const CommandHelp& help, Arguments arguments) {
  app.set_help_flag("-h,--help", "show this help");
  std::vector<std::string> reversed(arguments.begin(), arguments.end());
  std::reverse(reversed.begin(), reversed.end());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    Output output;
    output.print("{}", help_text(app, help));
    return output.finish() ? kOk : kTrouble;
  } catch (const CLI::ParseError& error) {
    say(sentence_for(error) + "; 'heaptape " + app.get_name() + " --help' lists the options");
    return kTrouble;
  }
  return std::nullopt;
}

} // namespace heaptape::cli
