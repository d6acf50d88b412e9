#include "report/text/text_style.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

TEST(FoldedLines, ShortLinesStayAsTheyAre) {
  EXPECT_EQ(folded_lines("one\n  two\n", 20), "one\n  two\n");
  EXPECT_EQ(folded_lines("", 20), "");
  EXPECT_EQ(folded_lines("a line that is longer than that\n", 0), "a line that is longer than that\n");
}

TEST(FoldedLines, ALongLineBreaksAtABlankAndGoesOnFurtherIn) {
  EXPECT_EQ(folded_lines("  made by a thread that has a name\n", 20),
            "  made by a thread\n      that has a\n      name\n");
}

TEST(FoldedLines, AWordThatIsTooLongIsNotTorn) {
  EXPECT_EQ(folded_lines("see namespace::function_with_a_long_name there\n", 12),
            "see namespace::function_with_a_long_name\n    there\n");
}

TEST(FoldedLines, CountsCharactersNotBytesAndNoColours) {
  EXPECT_EQ(folded_lines("äöü äöü äöü\n", 11), "äöü äöü äöü\n");
  EXPECT_EQ(folded_lines("\x1b[1mbold words\x1b[0m\n", 10), "\x1b[1mbold words\x1b[0m\n");
}

} // namespace
} // namespace heaptape
