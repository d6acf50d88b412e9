#include "base/characters.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

TEST(Characters, AreDecoded) {
  EXPECT_EQ(first_character("a").code, U'a');
  EXPECT_EQ(first_character("\u00ef!").code, 0xefu);
  EXPECT_EQ(first_character("\u20ac").bytes, 3u);
  EXPECT_EQ(first_character("\U0010ffff").code, 0x10ffffu);
}

TEST(Characters, OverlongFormsSurrogatesAndTornOnesAreNone) {
  for (const char* text : {"\x80", "\x9b", "\xc0\x80", "\xc3", "\xc3(", "\xe0\x80\x80", "\xed\xa0\x80", "\xe2\x82",
                           "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"})
    EXPECT_EQ(first_character(text).bytes, 0u) << text;
}

TEST(Printable, ControlCharactersAreShown) {
  EXPECT_EQ(printable("na\u00efve \x1b[31m\n\x7f"), "na\u00efve \\x1b[31m\\x0a\\x7f");
  EXPECT_EQ(printable_lines("one\n\ttwo\r\n\r\x1b"), "one\n\ttwo\r\n\\x0d\\x1b");
}

TEST(Printable, C1ControlsAndALoneByte9bDoNotReachTheTerminal) {
  EXPECT_EQ(printable("\u009b31m \u0080 \u009f \u00a0"), "\\u009b31m \\u0080 \\u009f \u00a0");
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");
}

TEST(Printable, TextThatTurnsTheWritingDirectionIsShown) {
  EXPECT_EQ(printable("a\u202eb\u2066c\u2069\u200e\u200f\u061c\u2028"),
            "a\\u202eb\\u2066c\\u2069\\u200e\\u200f\\u061c\\u2028");
  EXPECT_EQ(printable("\u2027\u202f\u05d0"), "\u2027\u202f\u05d0");
}

} // namespace
} // namespace heaptape
