#include "symbols/elf_image.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "symbols/elf_bytes_for_test.h"
#include "symbols/unpack.h"

namespace heaptape {
namespace {

using test::Bytes;
using test::bytes_of;
using test::elf_with;

std::string text_of(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

Bytes packed(const std::string& text) {
  uLongf size = ::compressBound(text.size());
  Bytes out(size);
  ::compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size());
  out.resize(size);
  return out;
}

TEST(ElfImage, SectionsAreFoundByName) {
  const Bytes file =
      elf_with({{.name = ".text", .contents = bytes_of("code"), .flags = SHF_ALLOC | SHF_EXECINSTR, .address = 0x1000},
                {.name = ".debug_info", .contents = bytes_of("info")}});
  const auto image = ElfImage::parse(file);
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(text_of(image.value().contents(".debug_info").view()), "info");
  EXPECT_TRUE(image.value().contents(".debug_line").view().empty());
  EXPECT_EQ(image.value().code_ranges(), (std::vector<AddressRange>{{0x1000, 0x1004}}));
  EXPECT_EQ(text_of(image.value().loaded_at(0x1001, 3)), "ode");
  EXPECT_TRUE(image.value().loaded_at(0x1001, 4).empty()) << "not all of them";
}

TEST(ElfImage, CompressedSectionsAreUnpackedInBothStyles) {
  const std::string text(10'000, 'x');
  Bytes modern;
  ByteWriter writer(modern);
  writer.u32(ELFCOMPRESS_ZLIB);
  writer.u32(0);
  writer.u64(text.size());
  writer.u64(1);
  writer.bytes(packed(text));
  Bytes older = bytes_of("ZLIB");
  for (int shift = 56; shift >= 0; shift -= 8) older.push_back(static_cast<std::byte>(text.size() >> shift));
  const Bytes body = packed(text);
  older.insert(older.end(), body.begin(), body.end());
  const Bytes file = elf_with({{.name = ".debug_info", .contents = modern, .flags = SHF_COMPRESSED},
                               {.name = ".zdebug_line", .contents = older}});
  const auto image = ElfImage::parse(file);
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(text_of(image.value().contents(".debug_info").view()), text);
  EXPECT_EQ(text_of(image.value().contents(".debug_line").view()), text);
  EXPECT_TRUE(image.value().has(".debug_line"));
}

TEST(ElfImage, ASizeThatNoPackingReachesTakesNoMemory) {
  EXPECT_TRUE(unpack(Packing::Zlib, packed("x"), std::uint64_t{1} << 40).view().empty());
  EXPECT_TRUE(unpack(Packing::Zlib, packed("xyz"), 2).view().empty()) << "more than it says";
  EXPECT_TRUE(unpack(Packing::Zstd, packed("xyz"), 3).view().empty()) << "another packing";
  EXPECT_TRUE(unpack_xz(bytes_of("no xz file")).empty());
}

TEST(ElfImage, BuildIdAndDebugLinkAreRead) {
  Bytes note;
  ByteWriter writer(note);
  for (const std::uint32_t number : {4u, 3u, std::uint32_t{NT_GNU_BUILD_ID}}) writer.u32(number);
  writer.bytes(bytes_of(std::string("GNU\0\1\2\3\0", 8)));
  Bytes link = bytes_of(std::string("a.debug\0", 8));
  ByteWriter(link).u32(0xcbf43926);
  const Bytes file = elf_with({{.name = ".note.gnu.build-id", .contents = note, .type = SHT_NOTE},
                               {.name = ".gnu_debuglink", .contents = link},
                               {.name = ".gnu_debugaltlink", .contents = bytes_of(std::string("x/common\0\7\7", 11))}});
  const auto image = ElfImage::parse(file);
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image.value().build_id(), (std::vector<std::uint8_t>{1, 2, 3}));
  ASSERT_TRUE(image.value().debug_link());
  EXPECT_EQ(image.value().debug_link()->name, "a.debug");
  EXPECT_EQ(image.value().debug_link()->crc, debug_link_crc(bytes_of("123456789")));
  ASSERT_TRUE(image.value().alt_link());
  EXPECT_EQ(image.value().alt_link()->build_id, (std::vector<std::uint8_t>{7, 7}));
}

TEST(ElfImage, WhatIsNoElfFileIsSaidInWords) {
  EXPECT_EQ(ElfImage::parse(bytes_of("#!/bin/sh\n")).error().sentence, "it is not an ELF file");
  EXPECT_EQ(ElfImage::parse({}).error().sentence, "it is not an ELF file");
  Bytes cut = elf_with({{.name = ".text", .contents = bytes_of("code")}});
  cut.resize(cut.size() - 1);
  EXPECT_EQ(ElfImage::parse(cut).error().code, ErrorCode::Malformed);
}

} // namespace
} // namespace heaptape
