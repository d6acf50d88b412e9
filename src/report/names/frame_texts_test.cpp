#include "report/names/frame_texts.h"

#include <gtest/gtest.h>

#include "report/names/module_for_test.h"
#include "wire/stack_roots.h"

namespace heaptape {
namespace {

using test::module;

TEST(FrameTexts, FrameIsNamedByItsModuleAndTheModulesOwnAddress) {
  std::vector<Module> modules{module("/bin/app", 0x400000, 0x500000), module("/lib/libc.so.6", 0x7000, 0x9000)};
  modules[0].load_bias = 0; // a program that is not position independent
  const std::vector<StackNode> stacks{{}, {StackId(0), 0x401234}, {StackId(1), 0x7010}};
  FrameTexts texts(modules, stacks, FrameForm::Text);
  EXPECT_EQ(texts.of(StackId(1), 0), "0x000000401234  app+0x401234");
  EXPECT_EQ(texts.of(StackId(2), 0), "0x000000007010  libc.so.6+0x10");
  EXPECT_EQ(texts.of(StackId(2), 0), "0x000000007010  libc.so.6+0x10") << "remembered";
  FrameTexts json(modules, stacks, FrameForm::Json);
  EXPECT_EQ(json.of(StackId(2), 0), R"({"pc":"0x7010","module":"libc.so.6","offset":"0x10"})");
}

TEST(FrameTexts, NamesThatAreOnTheTapeAreShownBesideModuleAndOffset) {
  const std::vector<Module> modules{module("/bin/app", 0x1000, 0x9000)};
  const std::vector<StackNode> stacks{{}, {StackId(0), 0x1101}, {StackId(1), 0x1201}, {StackId(2), 0x1301}};
  Symbols symbols;
  const auto app = symbols.add_file("/bin/app", modules[0].build_id);
  symbols.set(app, 0x100, std::vector<SourcePlace>{{"_ZN5Cache6insertEi", "/src/cache.cpp", 88, 7}});
  symbols.set(app, 0x200, std::vector<SourcePlace>{{"inner", "/src/in.h", 3, 0}, {"outer", "/src/out.c", 40, 0}});
  FrameTexts texts(modules, stacks, FrameForm::Text, &symbols);
  EXPECT_EQ(texts.of(StackId(1), 0), "0x000000001101  Cache::insert [cache.cpp:88]  app+0x101");
  EXPECT_EQ(texts.of(StackId(2), 0), "                inner [in.h:3]  (inlined)\n"
                                     "        0x000000001201  outer [out.c:40]  app+0x201");
  EXPECT_EQ(texts.of(StackId(3), 0), "0x000000001301  app+0x301");
  FrameTexts json(modules, stacks, FrameForm::Json, &symbols, NameForm::Mangled);
  EXPECT_EQ(json.of(StackId(1), 0), R"({"pc":"0x1101","module":"app","offset":"0x101","function":"_ZN5Cache6insertEi",)"
                                    R"("file":"/src/cache.cpp","line":88})");
  EXPECT_EQ(json.of(StackId(2), 0), R"({"pc":"0x1201","module":"app","offset":"0x201","function":"inner",)"
                                    R"("file":"/src/in.h","line":3,"inlined_into":[{"function":"outer",)"
                                    R"("file":"/src/out.c","line":40}]})");
}

TEST(FrameTexts, AddressOutsideAllModulesHasAQuestionMark) {
  const std::vector<Module> modules{module("/bin/app", 0x1000, 0x2000)};
  const std::vector<StackNode> stacks{{}, {StackId(0), 0x2001}, {StackId(0), 0x1000}};
  FrameTexts texts(modules, stacks, FrameForm::Text);
  EXPECT_EQ(texts.of(StackId(1), 0), "0x000000002001  ?");
  EXPECT_EQ(texts.of(StackId(2), 0), "0x000000001000  ?") << "nothing in front of the first byte can have called";
  FrameTexts json(modules, stacks, FrameForm::Json);
  EXPECT_EQ(json.of(StackId(1), 0), R"({"pc":"0x2001"})");
}

TEST(FrameTexts, CallAtTheVeryEndOfAModuleBelongsToIt) {
  const std::vector<Module> modules{module("/lib/a.so", 0x1000, 0x2000), module("/lib/b.so", 0x2000, 0x3000)};
  const std::vector<StackNode> stacks{{}, {StackId(0), 0x2000}};
  EXPECT_EQ(FrameTexts(modules, stacks, FrameForm::Text).of(StackId(1), 0), "0x000000002000  a.so+0x1000");
}

TEST(FrameTexts, ModulesThatTookTurnsAreToldApartByTime) {
  const std::vector<Module> modules{module("/lib/first.so", 0x1000, 0x3000, 100),
                                    module("/lib/second.so", 0x2000, 0x4000, 200)};
  const std::vector<StackNode> stacks{{}, {StackId(0), 0x2800}};
  FrameTexts texts(modules, stacks, FrameForm::Text);
  EXPECT_EQ(texts.of(StackId(1), 150), "0x000000002800  first.so+0x1800");
  EXPECT_EQ(texts.of(StackId(1), 250), "0x000000002800  second.so+0x800");
  EXPECT_EQ(texts.of(StackId(1), 50), "0x000000002800  first.so+0x1800") << "noticed a moment after it was loaded";
}

TEST(FrameTexts, LargeModuleInFrontOfSmallOnesIsFound) {
  const std::vector<Module> modules{module("/big", 0x1000, 0x9000), module("/small", 0x2000, 0x2100),
                                    module("/tiny", 0x3000, 0x3010)};
  const std::vector<StackNode> stacks{{}, {StackId(0), 0x8000}};
  EXPECT_EQ(FrameTexts(modules, stacks, FrameForm::Text).of(StackId(1), 0), "0x000000008000  big+0x7000");
}

TEST(FrameTexts, NodesComeInnermostFirstAndAForgedParentEndsThem) {
  const std::vector<StackNode> stacks{{}, {StackId(0), 10000}, {StackId(1), 20000}, {StackId(3), 30000}};
  const std::vector<Module> modules;
  const FrameTexts texts(modules, stacks, FrameForm::Text);
  std::vector<std::uint64_t> pcs;
  texts.each_node(StackId(2), [&](StackId, std::uint64_t pc) { pcs.push_back(pc); });
  EXPECT_EQ(pcs, (std::vector<std::uint64_t>{20000, 10000}));
  pcs.clear();
  texts.each_node(StackId(3), [&](StackId, std::uint64_t pc) { pcs.push_back(pc); });
  EXPECT_EQ(pcs, (std::vector<std::uint64_t>{30000}));
  texts.each_node(StackId(99), [&](StackId, std::uint64_t pc) { pcs.push_back(pc); });
  EXPECT_EQ(pcs.size(), 1u);
}

TEST(FrameTexts, AMarkAtTheRootIsNotAFrameAndSaysWhyTheStackEnds) {
  const std::vector<StackNode> stacks{
      {}, {StackId(0), wire::kRootTooDeep}, {StackId(1), 0x401000}, {StackId(0), 0x402000}};
  const std::vector<Module> modules;
  const FrameTexts texts(modules, stacks, FrameForm::Text);
  std::size_t frames = 0;
  EXPECT_EQ(texts.each_node(StackId(2), [&](StackId, std::uint64_t) { ++frames; }), wire::kRootTooDeep);
  EXPECT_EQ(frames, 1u);
  EXPECT_EQ(texts.each_node(StackId(3), [](StackId, std::uint64_t) {}), 0u);
}

} // namespace
} // namespace heaptape
