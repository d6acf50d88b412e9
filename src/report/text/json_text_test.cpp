#include "report/text/json_text.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

TEST(JsonText, QuotesAndControlCharactersAreEscaped) {
  EXPECT_EQ(json_string("a\"b\\c\n\x7f"), R"("a\"b\\c\u000a\u007f")");
  EXPECT_EQ(json_string(""), R"("")");
}

TEST(JsonText, WhatATerminalObeysIsEscaped) {
  EXPECT_EQ(json_string("\u009b31m\u202e\u2066"), R"("\u009b31m\u202e\u2066")");
}

TEST(JsonText, Utf8StaysAsItIs) { EXPECT_EQ(json_string("naïve 日本 🎞"), "\"naïve 日本 🎞\""); }

TEST(JsonText, BytesThatAreNotUtf8AreReplacedOneByOne) {
  EXPECT_EQ(json_string("a\xff"
                        "b"),
            "\"a\xef\xbf\xbd"
            "b\"");
  EXPECT_EQ(json_string("\xc0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\"") << "overlong";
  EXPECT_EQ(json_string("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"") << "surrogate";
  EXPECT_EQ(json_string("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"") << "cut off";
}

} // namespace
} // namespace heaptape
