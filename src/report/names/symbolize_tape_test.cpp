// A tape whose stacks are those of this very process, so that its own file can be asked.
#include "report/names/symbolize_tape.h"

#include <gtest/gtest.h>
#include <link.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "report/names/frame_places.h"
#include "symbols/demangle.h"
#include "tape/writer.h"

namespace heaptape {
namespace {

std::uint64_t g_return_address = 0;
std::uint64_t g_trampoline = 0;

__attribute__((noinline)) void note_caller() {
  g_return_address = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}
__attribute__((noinline)) void known_caller() {
  note_caller();
  asm volatile(""); // no tail call
}
void note_trampoline(int) { g_trampoline = reinterpret_cast<std::uint64_t>(__builtin_return_address(0)); }

std::vector<Module> modules_of_this_process() {
  std::vector<Module> modules;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        Module module;
        module.path = info->dlpi_name;
        if (module.path.empty()) module.path = std::filesystem::read_symlink("/proc/self/exe");
        module.load_bias = info->dlpi_addr;
        module.start = ~std::uint64_t{0};
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          module.start = std::min(module.start, info->dlpi_addr + segment.p_vaddr);
          module.end = std::max(module.end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
        }
        static_cast<std::vector<Module>*>(list)->push_back(module);
        return 0;
      },
      &modules);
  return modules;
}

class SymbolizeTape : public testing::Test {
protected:
  void SetUp() override { path_ = testing::TempDir() + "symbolize-" + std::to_string(::getpid()) + ".tape"; }
  void TearDown() override { ::unlink(path_.c_str()); }

  Result<TapeReader> tape_with(const std::vector<Module>& modules, const std::vector<StackNode>& nodes,
                               const Symbols* symbols = nullptr) {
    auto writer = TapeWriter::create({.path = path_, .overwrite = true});
    EXPECT_TRUE(writer.ok());
    EXPECT_TRUE(writer.value().add_modules(modules).ok());
    EXPECT_TRUE(writer.value().add_stacks(StackId(1), nodes).ok());
    if (symbols != nullptr) {
      EXPECT_TRUE(writer.value().add_symbols(*symbols).ok());
    }
    return TapeReader::open(path_);
  }

  static std::string names_of(const TapeReader& tape, StackId stack) {
    const FramePlaces places(tape.modules(), tape.stacks(), tape.symbols());
    std::string names;
    places.each_frame(stack, [&](const Frame& frame) {
      names += frame.places.empty() ? "?" : demangle(frame.places.back().function, NameForm::Short);
      names += ' ';
    });
    return names;
  }

  std::string path_;
};

TEST_F(SymbolizeTape, FramesAreNamedAndTheTapeAloneSaysSoAgain) {
  known_caller();
  const std::vector<StackNode> nodes{{StackId(0), g_return_address}};
  const auto modules = modules_of_this_process();
  const auto first = tape_with(modules, nodes);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(names_of(first.value(), StackId(1)), "? ");
  std::size_t reports = 0;
  const TapeSymbols found = symbolize_tape(first.value(), {}, [&](auto, std::size_t done, std::size_t total) {
    EXPECT_LE(done, total);
    ++reports;
  });
  EXPECT_GT(reports, 0u);
  ASSERT_EQ(found.modules.size(), 1u);
  EXPECT_EQ(found.modules[0].addresses, 1u);
  EXPECT_EQ(found.modules[0].named, 1u);
  EXPECT_TRUE(found.modules[0].problems.empty());

  const auto second = tape_with(modules, nodes, &found.symbols);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(names_of(second.value(), StackId(1)), "heaptape::known_caller ");
}

TEST_F(SymbolizeTape, OnlyTheStacksAskedForAreNamed) {
  known_caller();
  const auto other = reinterpret_cast<std::uint64_t>(&note_caller) + 1;
  const std::vector<StackNode> nodes{
      {StackId(0), g_return_address}, {StackId(1), g_return_address}, {StackId(0), other}};
  const auto modules = modules_of_this_process();
  const auto tape = tape_with(modules, nodes);
  ASSERT_TRUE(tape.ok());
  const StackId wanted[] = {StackId(2), StackId(77)}; // the second is on no tape
  const Symbols found = symbolize_stacks(tape.value(), wanted, {});
  const auto symbolized = tape_with(modules, nodes, &found);
  ASSERT_TRUE(symbolized.ok());
  EXPECT_EQ(names_of(symbolized.value(), StackId(2)), "heaptape::known_caller heaptape::known_caller ");
  EXPECT_EQ(names_of(symbolized.value(), StackId(3)), "? ");
}

TEST_F(SymbolizeTape, WhatASignalInterruptedIsNamedByItsOwnAddress) {
  struct sigaction action {};
  action.sa_handler = note_trampoline;
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  ::raise(SIGUSR1);
  ::sigaction(SIGUSR1, &before, nullptr);
  // As if known_caller() had been interrupted at its very first instruction, in front of which is another function.
  const auto interrupted = reinterpret_cast<std::uint64_t>(&known_caller);
  known_caller();
  const std::vector<StackNode> nodes{
      {StackId(0), interrupted}, {StackId(1), g_trampoline}, {StackId(2), g_return_address}};
  const auto modules = modules_of_this_process();
  const auto tape = tape_with(modules, nodes);
  ASSERT_TRUE(tape.ok());
  const TapeSymbols found = symbolize_tape(tape.value(), {});
  const auto symbolized = tape_with(modules, nodes, &found.symbols);
  ASSERT_TRUE(symbolized.ok());
  EXPECT_EQ(names_of(symbolized.value(), StackId(3)), "heaptape::known_caller __restore_rt heaptape::known_caller ");
}

TEST_F(SymbolizeTape, AFileThatWasReplacedIsNotUsedAndThatIsSaid) {
  known_caller();
  auto modules = modules_of_this_process();
  for (Module& module : modules) module.build_id = {1, 2, 3, 4};
  const auto tape = tape_with(modules, {{StackId(0), g_return_address}});
  ASSERT_TRUE(tape.ok());
  const TapeSymbols found = symbolize_tape(tape.value(), {});
  ASSERT_EQ(found.modules.size(), 1u);
  EXPECT_TRUE(found.symbols.empty());
  ASSERT_FALSE(found.modules[0].problems.empty());
  EXPECT_NE(found.modules[0].problems[0].find("01020304"), std::string::npos) << found.modules[0].problems[0];
}

TEST_F(SymbolizeTape, AFileThatIsGoneIsAProblemNotAnError) {
  Module module;
  module.path = "/no/such/library.so";
  module.start = 0x10000;
  module.end = 0x20000;
  module.load_bias = 0x10000;
  const auto tape = tape_with({module}, {{StackId(0), 0x10100}, {StackId(1), 0x90000}});
  ASSERT_TRUE(tape.ok());
  const TapeSymbols found = symbolize_tape(tape.value(), {});
  ASSERT_EQ(found.modules.size(), 1u);
  EXPECT_EQ(found.modules[0].named, 0u);
  ASSERT_EQ(found.modules[0].problems.size(), 1u);
  EXPECT_EQ(found.modules[0].problems[0], "'/no/such/library.so' does not exist");
}

} // namespace
} // namespace heaptape
