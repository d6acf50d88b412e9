#include "cli/terminal/full_screen.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heaptape::cli {
namespace {

using Keys = std::vector<FullScreen::Key>;

TEST(FullScreen, BytesOfATerminalBecomeKeys) {
  EXPECT_EQ(keys_of("q"), (Keys{'q'}));
  EXPECT_EQ(keys_of("\x1b[A\x1b[Bj"), (Keys{TopKey::Up, TopKey::Down, 'j'}));
  EXPECT_EQ(keys_of("\x1b[5~\r"), (Keys{TopKey::PageUp, TopKey::Enter}));
  EXPECT_EQ(keys_of("\x1b"), (Keys{TopKey::Back}));
}

TEST(FullScreen, KeysWithoutUseAreNotTakenForLetters) {
  EXPECT_EQ(keys_of("\x1b[15~l"), (Keys{'l'})); // F5
  EXPECT_EQ(keys_of("\x1b[1;5C"), Keys{});      // control and right
}

// What a terminal without automatic line breaks shows: the cursor stays on the last column.
std::vector<std::string> shown(std::string_view bytes, std::size_t width, std::size_t height) {
  std::vector<std::string> screen(height, std::string(width, '~'));
  std::size_t row = 0, column = 0;
  while (!bytes.empty()) {
    const auto take = [&](std::string_view command) {
      if (!bytes.starts_with(command)) return false;
      bytes.remove_prefix(command.size());
      return true;
    };
    if (take("\x1b[H")) {
      row = column = 0;
    } else if (take("\x1b[K")) {
      screen[row].replace(column, width - column, width - column, ' ');
    } else if (take("\x1b[J")) {
      screen[row].replace(column, width - column, width - column, ' ');
      for (std::size_t i = row + 1; i < height; ++i) screen[i].assign(width, ' ');
    } else if (take("\r\n")) {
      ++row;
      column = 0;
    } else {
      screen[row][column] = bytes.front();
      column = std::min(column + 1, width - 1);
      bytes.remove_prefix(1);
    }
  }
  return screen;
}

TEST(FullScreen, ALineOfTheFullWidthKeepsItsLastColumn) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(shown(screen_bytes({"abcd", "ef", "ghij"}, 3), 4, 3), (Lines{"abcd", "ef  ", "ghij"}));
  EXPECT_EQ(shown(screen_bytes({"abcd"}, 3), 4, 3), (Lines{"abcd", "    ", "    "}));
}

} // namespace
} // namespace heaptape::cli
