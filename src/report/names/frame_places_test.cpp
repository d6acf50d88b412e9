#include "report/names/frame_places.h"

#include <gtest/gtest.h>

#include <string>

#include "report/names/module_for_test.h"
#include "wire/stack_roots.h"

namespace heaptape {
namespace {

using test::module;

std::string function_names(const FramePlaces& places, StackId stack) {
  std::string names;
  places.each_frame(stack, [&](const Frame& frame) {
    if (!names.empty()) names += " ";
    names += frame.places.empty() ? "?" : std::string(frame.places.front().function);
  });
  return names;
}

void name(Symbols& symbols, const Module& module, std::uint64_t address, const char* function,
          bool trampoline = false) {
  symbols.set(symbols.add_file(module.path, module.build_id), address, std::vector{SourcePlace{.function = function}},
              trampoline);
}

TEST(FramePlaces, TheCallInFrontOfAReturnAddressIsLookedUp) {
  const std::vector<Module> modules{module("/bin/app", 0x10000, 0x20000)};
  const std::vector<StackNode> stacks{{}, {StackId(0), 0x10100}, {StackId(1), 0x10200}};
  Symbols symbols;
  name(symbols, modules[0], 0xff, "main");
  name(symbols, modules[0], 0x100, "behind_main");
  name(symbols, modules[0], 0x1ff, "work");
  const FramePlaces places(modules, stacks, symbols);
  EXPECT_EQ(function_names(places, StackId(2)), "work main");
}

TEST(FramePlaces, WhatASignalInterruptedIsLookedUpWhereItWas) {
  const std::vector<Module> modules{module("/bin/app", 0x10000, 0x20000), module("/lib/libc.so.6", 0x40000, 0x50000)};
  // main was interrupted at 0x10100; the handler returns to the trampoline.
  const std::vector<StackNode> stacks{{}, {StackId(0), 0x10100}, {StackId(1), 0x40000}, {StackId(2), 0x10300}};
  Symbols symbols;
  name(symbols, modules[0], 0x100, "main");
  name(symbols, modules[0], 0xff, "in_front_of_main");
  name(symbols, modules[0], 0x2ff, "handler");
  name(symbols, modules[1], 0, "__restore_rt", true);
  const FramePlaces places(modules, stacks, symbols);
  EXPECT_EQ(function_names(places, StackId(3)), "handler __restore_rt main");
}

TEST(FramePlaces, AFrameWithoutASymbolHasItsModuleAndOffset) {
  const std::vector<Module> modules{module("/bin/app", 0x10000, 0x20000)};
  const std::vector<StackNode> stacks{{}, {StackId(0), 0x90000}, {StackId(1), 0x10042}};
  const Symbols symbols;
  const FramePlaces places(modules, stacks, symbols);
  std::vector<Frame> frames;
  places.each_frame(StackId(2), [&](const Frame& frame) { frames.push_back(frame); });
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].module, &modules[0]);
  EXPECT_EQ(frames[0].offset, 0x42u);
  EXPECT_EQ(frames[0].address, 0x41u);
  EXPECT_EQ(frames[1].module, nullptr);
  EXPECT_EQ(frames[1].offset, 0x90000u);
}

TEST(FramePlaces, PluginsThatTookTurnsAreToldApartByTheEpochOfTheStack) {
  const std::vector<Module> modules{module("/bin/app", 0x10000, 0x20000), module("/lib/a.so", 0x40000, 0x41000, 10),
                                    module("/lib/b.so", 0x40000, 0x41000, 20),
                                    module("/lib/a.so", 0x40000, 0x41000, 30)};
  const std::vector<StackNode> stacks{{},
                                      {StackId(0), 0x40100}, // epoch 0
                                      {StackId(0), wire::kRootEpoch + 1},
                                      {StackId(2), 0x40100},
                                      {StackId(0), wire::kRootEpoch + 2},
                                      {StackId(4), 0x40100}};
  Symbols symbols;
  name(symbols, modules[1], 0xff, "of_a");
  name(symbols, modules[2], 0xff, "of_b");
  const FramePlaces places(modules, stacks, symbols);
  EXPECT_EQ(function_names(places, StackId(1)), "of_a");
  EXPECT_EQ(function_names(places, StackId(3)), "of_b");
  EXPECT_EQ(function_names(places, StackId(5)), "of_a");
  std::string at_time;
  places.each_frame_at(StackId(1), 25, [&](const Frame& frame) { at_time = frame.module->path; });
  EXPECT_EQ(at_time, "/lib/b.so");
}

TEST(ModuleMap, TheSameLibraryBackAtItsPlaceIsNoTurn) {
  const std::vector<Module> modules{module("/lib/a.so", 0x40000, 0x41000, 10),
                                    module("/lib/a.so", 0x40000, 0x41000, 20)};
  const ModuleMap map(modules);
  EXPECT_EQ(map.turns(), 0u);
  EXPECT_EQ(map.find_in_epoch(0x40100, 0), &modules[1]);
}

TEST(ModuleMap, WithoutAnEpochASharedAddressHasNoModule) {
  const std::vector<Module> modules{module("/lib/a.so", 0x40000, 0x41000, 10),
                                    module("/lib/b.so", 0x40800, 0x42000, 20)};
  const ModuleMap map(modules);
  EXPECT_EQ(map.find_in_epoch(0x40900, std::nullopt), nullptr);
  EXPECT_EQ(map.find_in_epoch(0x40100, std::nullopt), &modules[0]) << "only one was ever there";
}

} // namespace
} // namespace heaptape
