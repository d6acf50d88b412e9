#include "cli/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace heaptape::cli {
namespace {

constexpr unsigned kNarrowest = 40;
constexpr unsigned kUsual = 80;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

unsigned terminal_width() {
  const std::string_view columns = variable("COLUMNS");
  unsigned width = 0;
  if (const auto [end, status] = std::from_chars(columns.data(), columns.data() + columns.size(), width);
      status != std::errc{} || end != columns.data() + columns.size()) {
    width = 0;
  }
  winsize size{};
  if (width == 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width == 0) width = kUsual;
  return width < kNarrowest ? kNarrowest : width;
}

bool is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = variable(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos || value.find("UTF8") != value.npos ||
           value.find("utf-8") != value.npos;
  }
  return false;
}

} // namespace

Result<TextStyle> style_of_output(const std::string& color) {
  if (color != "auto" && color != "always" && color != "never") {
    return Error{ErrorCode::Usage, "--color must be auto, always or never, not '" + color + "'"};
  }
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  TextStyle style;
  style.width = terminal ? terminal_width() : 0;
  style.utf8 = is_utf8();
  const bool willing = terminal && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  style.color = color == "always" || (color == "auto" && willing);
  return style;
}

unsigned picture_width(const TextStyle& style) { return style.width != 0 ? style.width : kUsual; }

} // namespace heaptape::cli
