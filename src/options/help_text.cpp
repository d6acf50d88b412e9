#include "options/help_text.h"

#include <algorithm>
#include <array>

namespace heaptape {
namespace {

constexpr std::size_t kTextColumn = 24;
constexpr std::size_t kLineWidth = 80;

// "  -o, --output FILE". A value that can only be attached ("--cpu=HZ") is explained in the description.
std::string label_of(const Option& option) {
  std::string label = "  " + (option.short_name.empty() ? "    " : option.short_name);
  if (!option.long_name.empty()) label += (option.short_name.empty() ? "" : ", ") + option.long_name;
  if (option.value != OptionValue::None && option.value != OptionValue::Attached) label += " " + option.value_name;
  return label;
}

void append_wrapped(std::string& out, std::string_view text, std::size_t column, std::size_t width = kLineWidth) {
  while (column + text.size() > width) {
    const std::size_t end = text.rfind(' ', width - column);
    if (end == text.npos || end == 0) break;
    out.append(text.substr(0, end)).append("\n").append(column, ' ');
    text.remove_prefix(end + 1);
  }
  out.append(text).append("\n");
}

void append_row(std::string& out, std::string label, std::string_view text) {
  out += row_text(std::move(label), text, kTextColumn, kLineWidth);
}

// A paragraph of plain sentences is wrapped again; examples, lists and headings stay as they are.
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

std::string row_text(std::string label, std::string_view text, std::size_t column, std::size_t width) {
  if (label.size() + 2 > column)
    label += "\n" + std::string(column, ' ');
  else
    label.resize(column, ' ');
  append_wrapped(label, text, column, width);
  return label;
}

std::string options_text(const OptionList& list) {
  std::string text;
  for (const Option& option : list.options()) {
    if (!option.is_word && !option.is_hidden) append_row(text, label_of(option), option.help);
  }
  return text;
}

std::string help_text(const OptionList& list, const CommandHelp& help) {
  std::string text = "usage: " + std::string(help.usage) + "\n\n";
  append_wrapped(text, help.purpose, 0);
  text += "\nOptions:\n" + options_text(list);
  append_row(text, "  -h, --help", "show this help");
  if (!help.more.empty()) text.append("\n").append(wrapped_text(help.more));
  return text;
}

std::string options_table(const OptionList& list) {
  static constexpr std::array<std::string_view, 5> kPlaces{"none", "next", "maybe", "attached", "series"};
  std::string text;
  for (const Option& option : list.options()) {
    if (option.is_hidden) continue;
    const std::string_view place = option.is_word ? "word" : kPlaces.at(static_cast<std::size_t>(option.value));
    std::string choices;
    for (const std::string& choice : option.choices) choices += (choices.empty() ? "" : " ") + choice;
    for (const std::string_view part : {std::string_view(option.short_name), std::string_view(option.long_name), place,
                                        std::string_view(option.value_name), std::string_view(choices)})
      text.append(part).append("\t");
    text.append(option.help).append("\n");
  }
  return text;
}

} // namespace heaptape
