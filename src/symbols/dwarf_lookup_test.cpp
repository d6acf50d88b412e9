// One hand-made unit:   int outer(int) [0x1000, 0x1100) in a.cpp, with (anonymous namespace)::small() inlined from line 7 at
// [0x1010, 0x1020); discarded() was thrown away by the linker, which left its address at 0.
#include "symbols/dwarf_lookup.h"

#include <gtest/gtest.h>

#include "symbols/dwarf_constants.h"
#include "symbols/elf_bytes_for_test.h"

namespace heaptape::dwarf {
namespace {

using test::Bytes;

void put_text(ByteWriter& writer, std::string_view text) {
  writer.bytes(std::as_bytes(std::span(text.data(), text.size())));
  writer.u8(0);
}

void put_bytes(ByteWriter& writer, std::initializer_list<std::uint8_t> numbers) {
  for (const std::uint8_t number : numbers) writer.u8(number);
}

Bytes abbreviations() {
  Bytes out;
  ByteWriter writer(out);
  const auto entry = [&](std::uint8_t code, std::uint8_t tag, bool children,
                         std::initializer_list<std::uint8_t> specs) {
    writer.u8(code);
    writer.u8(tag);
    writer.u8(children ? 1 : 0);
    put_bytes(writer, specs);
    writer.u16(0);
  };
  entry(1, 0x11, true,
        {kAtLanguage, kFormData1, kAtCompDir, kFormString, kAtStmtList, kFormSecOffset, kAtLowPc, kFormAddr, kAtHighPc,
         kFormData4});
  entry(2, kTagNamespace, true, {});
  entry(3, kTagSubprogram, false, {kAtName, kFormString});
  entry(4, kTagSubprogram, true, {kAtLinkageName, kFormString, kAtLowPc, kFormAddr, kAtHighPc, kFormData4});
  entry(5, kTagInlinedSubroutine, false,
        {kAtAbstractOrigin, kFormRef4, kAtLowPc, kFormAddr, kAtHighPc, kFormData4, kAtCallFile, kFormData1, kAtCallLine,
         kFormData1, kAtCallColumn, kFormData1});
  writer.u8(0);
  return out;
}

Bytes info() {
  Bytes out;
  ByteWriter writer(out);
  writer.u32(0); // length, below
  writer.u16(4);
  writer.u32(0);
  writer.u8(8);
  writer.u8(1); // the unit: C++, /src, line table at 0, [0x1000, 0x1200)
  writer.u8(4);
  put_text(writer, "/src");
  writer.u32(0);
  writer.u64(0x1000);
  writer.u32(0x200);
  writer.u8(2); // an unnamed namespace
  const auto small = static_cast<std::uint32_t>(out.size());
  writer.u8(3);
  put_text(writer, "small");
  writer.u8(0);
  writer.u8(4);
  put_text(writer, "_Z9discardedv");
  writer.u64(0);
  writer.u32(0x2000);
  writer.u8(0);
  writer.u8(4);
  put_text(writer, "_Z5outeri");
  writer.u64(0x1000);
  writer.u32(0x100);
  writer.u8(5);
  writer.u32(small);
  writer.u64(0x1010);
  writer.u32(0x10);
  put_bytes(writer, {1, 7, 3});
  writer.u8(0);
  writer.u8(0);
  const auto length = static_cast<std::uint32_t>(out.size() - 4);
  std::memcpy(out.data(), &length, sizeof length);
  return out;
}

Bytes lines() {
  Bytes header;
  ByteWriter head(header);
  put_bytes(head, {1, 1, 1}); // instruction size, operations, statement
  head.u8(static_cast<std::uint8_t>(-5));
  put_bytes(head, {14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1});
  put_text(head, "include");
  head.u8(0);
  put_text(head, "a.cpp");
  put_bytes(head, {0, 0, 0});
  put_text(head, "small.h");
  put_bytes(head, {1, 0, 0});
  head.u8(0);
  Bytes program;
  ByteWriter run(program);
  const auto row = [&](std::uint16_t advance, std::uint8_t file, std::int8_t line, std::uint8_t column) {
    run.u8(kLnsFixedAdvancePc), run.u16(advance);
    run.u8(kLnsSetFile), run.u8(file);
    run.u8(kLnsAdvanceLine), run.u8(static_cast<std::uint8_t>(line) & 0x7f);
    run.u8(kLnsSetColumn), run.u8(column);
    run.u8(kLnsCopy);
  };
  put_bytes(run, {0, 9, 2}); // set the address
  run.u64(0x1000);
  row(0, 1, 4, 1);      // 0x1000 a.cpp:5
  row(0x10, 2, 20, 9);  // 0x1010 small.h:25
  row(0x10, 1, -17, 2); // 0x1020 a.cpp:8
  run.u8(kLnsAdvancePc), run.varint(0x180);
  put_bytes(run, {0, 1, 1}); // end of sequence at 0x11a0
  Bytes out;
  ByteWriter writer(out);
  writer.u32(static_cast<std::uint32_t>(2 + 4 + header.size() + program.size()));
  writer.u16(4);
  writer.u32(static_cast<std::uint32_t>(header.size()));
  writer.bytes(header);
  writer.bytes(program);
  return out;
}

class DwarfLookup : public testing::Test {
protected:
  std::vector<SourcePlaces> find(std::vector<std::uint64_t> addresses) {
    DebugFile file({.info = info_, .abbrev = abbrev_, .line = line_});
    return Lookup(file, {{0x1000, 0x3000}}, {}).find(addresses, {});
  }

  Bytes info_ = info(), abbrev_ = abbreviations(), line_ = lines();
};

TEST_F(DwarfLookup, AnInlinedCallIsAPlaceOfItsOwn) {
  const auto found = find({0x1000, 0x1018, 0x1020});
  EXPECT_EQ(found[0], (SourcePlaces{{"_Z5outeri", "/src/a.cpp", 5, 1}}));
  EXPECT_EQ(found[1], (SourcePlaces{{"(anonymous namespace)::small", "/src/include/small.h", 25, 9},
                                    {"_Z5outeri", "/src/a.cpp", 7, 3}}));
  EXPECT_EQ(found[2], (SourcePlaces{{"_Z5outeri", "/src/a.cpp", 8, 2}}));
}

TEST_F(DwarfLookup, BehindTheFunctionOnlyTheLineIsKnown) {
  const auto found = find({0x10ff, 0x1100, 0x11a0, 0x1200});
  EXPECT_EQ(found[0].back().function, "_Z5outeri");
  EXPECT_EQ(found[1], (SourcePlaces{{"", "/src/a.cpp", 8, 2}}));
  EXPECT_TRUE(found[2].empty()) << "the sequence has ended";
  EXPECT_TRUE(found[3].empty()) << "the unit has ended";
}

TEST_F(DwarfLookup, AFunctionThatTheLinkerThrewAwayHoldsNothing) {
  // discarded() seems to hold [0, 0x2000), and comes first.
  EXPECT_EQ(find({0x1080})[0].back().function, "_Z5outeri");
}

TEST_F(DwarfLookup, CutAndChangedBytesDoNoHarm) {
  const std::vector<std::uint64_t> all{0x1000, 0x1018, 0x1100};
  for (Bytes* section : {&info_, &abbrev_, &line_}) {
    const Bytes whole = *section;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      section->resize(size);
      EXPECT_EQ(find(all).size(), all.size());
      *section = whole;
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
      (*section)[at] ^= std::byte{0xff};
      EXPECT_EQ(find(all).size(), all.size());
      *section = whole;
    }
  }
}

} // namespace
} // namespace heaptape::dwarf
