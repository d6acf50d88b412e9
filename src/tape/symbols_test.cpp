#include "tape/symbols.h"

#include <gtest/gtest.h>

#include <string>

#include "base/byte_cursor.h"
#include "tape/format.h"
#include "tape/symbols_codec.h"

namespace heaptape {
namespace {

const std::vector<std::uint8_t> kId{1, 2, 255};

Symbols sample() {
  Symbols symbols;
  const auto app = symbols.add_file("/bin/app", kId);
  symbols.set(
      app, 0x1234,
      std::vector<SourcePlace>{{"_ZN5Cache6insertEi", "/src/cache.cpp", 88, 7}, {"main", "/src/main.cpp", 12, 0}});
  symbols.set(app, ~std::uint64_t{0}, std::vector<SourcePlace>{{"far", "", 0, 0}});
  const auto libc = symbols.add_file("/lib/libc.so.6", {});
  symbols.set(libc, 0x3c050, std::vector<SourcePlace>{{"__restore_rt", "", 0, 0}}, true);
  return symbols;
}

Symbols read_back(const std::vector<std::vector<std::byte>>& payloads) {
  Symbols back;
  for (const auto& payload : payloads) EXPECT_TRUE(parse_symbols(payload, back));
  return back;
}

TEST(Symbols, AreKnownByFileAndAddress) {
  const Symbols symbols = sample();
  const auto app = symbols.file_of("/bin/app", kId);
  ASSERT_TRUE(app);
  ASSERT_EQ(symbols.find(*app, 0x1234).size(), 2u);
  EXPECT_EQ(symbols.find(*app, 0x1234)[0], (SymbolPlace{"_ZN5Cache6insertEi", "/src/cache.cpp", 88, 7}));
  EXPECT_TRUE(symbols.find(*app, 0x1235).empty());
  EXPECT_FALSE(symbols.file_of("/bin/app", {})) << "another build";
  EXPECT_FALSE(symbols.is_signal_trampoline(*app, 0x1234));
  EXPECT_TRUE(symbols.is_signal_trampoline(*symbols.file_of("/lib/libc.so.6", {}), 0x3c050));
  EXPECT_EQ(symbols.size(), 3u);
}

TEST(Symbols, ALaterNameReplacesTheEarlierOne) {
  Symbols symbols = sample();
  const auto app = symbols.add_file("/bin/app", kId);
  symbols.set(app, 0x1234, std::vector<SourcePlace>{{"better", "x.c", 1, 2}});
  ASSERT_EQ(symbols.find(app, 0x1234).size(), 1u);
  EXPECT_EQ(symbols.find(app, 0x1234)[0].function, "better");
  symbols.set(app, 0x1234, std::vector<SourcePlace>(5, SourcePlace{"deep", "y.c", 3, 4}));
  EXPECT_EQ(symbols.find(app, 0x1234).size(), 5u);
  EXPECT_EQ(symbols.find(app, ~std::uint64_t{0})[0].function, "far");
  EXPECT_EQ(symbols.size(), 3u);
}

TEST(SymbolsCodec, KeepsWhatIsKnown) {
  const Symbols symbols = sample();
  const auto payloads = encode_symbols(symbols);
  ASSERT_EQ(payloads.size(), 1u);
  const Symbols back = read_back(payloads);
  EXPECT_EQ(back.size(), symbols.size());
  EXPECT_EQ(encode_symbols(back), payloads);
  EXPECT_EQ(back.find(*back.file_of("/bin/app", kId), 0x1234)[1], (SymbolPlace{"main", "/src/main.cpp", 12, 0}));
  EXPECT_TRUE(back.is_signal_trampoline(*back.file_of("/lib/libc.so.6", {}), 0x3c050));
}

TEST(SymbolsCodec, NothingKnownTakesNoChunk) { EXPECT_TRUE(encode_symbols(Symbols{}).empty()); }

TEST(SymbolsCodec, ManySymbolsComeInSeveralPayloadsOfWhichEachCanBeReadAlone) {
  Symbols symbols;
  const auto app = symbols.add_file("/bin/app", kId);
  for (std::uint64_t address = 0; address < 60'000; ++address) {
    const std::string function = "function_with_a_long_name_" + std::string(60, 'x') + std::to_string(address);
    symbols.set(app, address * 16, std::vector<SourcePlace>{{function, "/src/file.cpp", 1, 1}});
  }
  const auto payloads = encode_symbols(symbols);
  ASSERT_GT(payloads.size(), 1u);
  for (const auto& payload : payloads) EXPECT_LT(payload.size(), format::kMaxPayloadBytes);
  const Symbols back = read_back(payloads);
  EXPECT_EQ(back.size(), 60'000u);
  Symbols last;
  ASSERT_TRUE(parse_symbols(payloads.back(), last));
  EXPECT_EQ(last.find(*last.file_of("/bin/app", kId), 59'999 * 16)[0].line, 1u);
}

TEST(SymbolsCodec, DamagedPayloadsDoNoHarm) {
  const auto payload = encode_symbols(sample()).front();
  for (std::size_t size = 0; size < payload.size(); ++size) {
    Symbols any;
    EXPECT_FALSE(parse_symbols(std::span(payload).first(size), any)) << size;
  }
  for (std::size_t at = 0; at < payload.size(); ++at) {
    auto wrong = payload;
    wrong[at] ^= std::byte{0xff};
    Symbols any;
    (void)parse_symbols(wrong, any);
  }
}

TEST(SymbolsCodec, ACountThatThePayloadDoesNotBackTakesNoMemory) {
  for (const std::uint64_t texts : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    std::vector<std::byte> payload;
    ByteWriter writer(payload);
    for (const std::uint64_t number : {texts, ~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{0}, ~std::uint64_t{0}})
      writer.varint(number);
    Symbols any;
    EXPECT_FALSE(parse_symbols(payload, any));
    EXPECT_TRUE(any.empty());
  }
}

TEST(SymbolsCodec, AnAddressWithVeryManyInlinedCallsKeepsItsEnds) {
  Symbols symbols;
  const auto app = symbols.add_file("/bin/app", kId);
  std::vector<SourcePlace> places;
  for (std::uint32_t i = 0; i < 500; ++i) places.push_back({"f" + std::to_string(i), "", i, 0});
  symbols.set(app, 1, places);
  const Symbols back = read_back(encode_symbols(symbols));
  const auto kept = back.find(*back.file_of("/bin/app", kId), 1);
  ASSERT_EQ(kept.size(), 64u);
  EXPECT_EQ(kept.front().function, "f0");
  EXPECT_EQ(kept.back().function, "f499");
}

} // namespace
} // namespace heaptape
