#include "cli/terminal/full_screen.h"

#include <gtest/gtest.h>

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

} // namespace
} // namespace heaptape::cli
