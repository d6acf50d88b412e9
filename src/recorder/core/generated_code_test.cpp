#include "recorder/core/generated_code.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace heaptape::recorder {
namespace {

using Bytes = std::vector<std::uint8_t>;

bool read(const Bytes& code, Rule& rule) { return read_epilogue(code.data(), code.size(), rule); }
bool call(const Bytes& code) { return ends_with_call(code.data(), code.size()); }

TEST(GeneratedCode, TrampolineWithoutFramePointerSaysWhereItsCallerIs) {
  Rule rule;
  ASSERT_TRUE(read({0x48, 0x83, 0xc4, 0x08, 0xc3}, rule)); // add rsp, 8; ret
  EXPECT_EQ(rule.kind, RuleKind::Rsp);
  EXPECT_EQ(rule.cfa_offset, 16);
  EXPECT_EQ(rule.rbp_words, 0);
}

TEST(GeneratedCode, PoppedFramePointerIsFound) {
  Rule rule;
  ASSERT_TRUE(read({0x5d, 0xc3}, rule)); // pop rbp; ret
  EXPECT_EQ(rule.cfa_offset, 16);
  EXPECT_EQ(rule.rbp_words, -2);
  // add rsp, 0x100; pop rbx; pop rbp; pop r12; ret
  ASSERT_TRUE(read({0x48, 0x81, 0xc4, 0, 1, 0, 0, 0x5b, 0x5d, 0x41, 0x5c, 0xc3}, rule));
  EXPECT_EQ(rule.cfa_offset, 8 + 256 + 24);
  EXPECT_EQ(rule.rbp_words, -3);
}

TEST(GeneratedCode, CodeThatDoesMoreIsNotAnEpilogue) {
  Rule rule;
  for (const Bytes& code : {Bytes{0x90, 0xc3}, Bytes{0xc9, 0xc3}, Bytes{0x5c, 0xc3},
                            Bytes{0x48, 0x83, 0xc4, 0x04, 0xc3}, Bytes{0x48, 0x83, 0xc4, 0xf8, 0xc3}, Bytes{0xc2, 8, 0},
                            Bytes{0x5d}, Bytes{}, Bytes{0x48, 0x81, 0xc4, 0, 0, 0, 0x80, 0xc3}}) {
    EXPECT_FALSE(read(code, rule));
  }
}

TEST(GeneratedCode, ReturnAddressFollowsACall) {
  EXPECT_TRUE(call({0x90, 0x90, 0xe8, 1, 2, 3, 4}));             // call rel32
  EXPECT_TRUE(call({0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0})); // call rax
  EXPECT_TRUE(call({0x90, 0xff, 0x15, 1, 2, 3, 4}));             // call [rip + n]
  EXPECT_TRUE(call({0x90, 0x90, 0x90, 0x90, 0xff, 0x53, 8}));    // call [rbx + 8]
  EXPECT_TRUE(call({0xff, 0x94, 0x24, 1, 2, 3, 4}));             // call [rsp + n]
  EXPECT_TRUE(call({0x90, 0x90, 0x90, 0x90, 0xff, 0x14, 0xc3})); // call [rbx + 8 rax]
  EXPECT_FALSE(call({0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}));
  EXPECT_FALSE(call({0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0})); // jmp rax
  EXPECT_FALSE(call({}));
}

} // namespace
} // namespace heaptape::recorder
