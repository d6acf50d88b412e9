#include "report/export/export_input.h"

#include <algorithm>

namespace heaptape {

std::string command_of(const TapeReader& tape) {
  const auto found = tape.meta().find("command");
  if (found == tape.meta().end() || found->second.empty()) return "?";
  std::string command = found->second;
  if (command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return one_line(command);
}

std::uint64_t duration_us(const ExportInput& input) {
  std::uint64_t end = input.findings().end_us;
  if (!input.tape.samples().empty()) end = std::max(end, input.tape.samples().back().time_us);
  if (input.tape.summary()) end = std::max(end, input.tape.summary()->duration_us);
  return end;
}

std::string one_line(std::string_view text, std::string_view others) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || others.find(c) != others.npos) c = '?';
  }
  return line;
}

std::string_view stand_in(StackEnd end, bool has_frames) {
  if (end == StackEnd::Cut) return "[cut]";
  if (end == StackEnd::TooDeep) return "[too deep]";
  return has_frames ? "" : "[no stack]";
}

} // namespace heaptape
