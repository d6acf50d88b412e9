// The parts together, on this test's own file.
#include "symbols/symbolizer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <time.h>

#include <filesystem>

#include "base/unique_fd.h"

extern "C" const char __ehdr_start; // the linker's: where this file begins in memory
extern "C" __attribute__((noinline, used)) int heaptape_test_landmark(int number) { return number + 1; }

namespace heaptape {
namespace {

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe"); }

// As the file counts: memory address minus where the program was loaded.
std::uint64_t landmark() {
  return reinterpret_cast<std::uint64_t>(&heaptape_test_landmark) - reinterpret_cast<std::uint64_t>(&__ehdr_start);
}

TEST(Symbolizer, AnswersInTheOrderOfTheQuestions) {
  Symbolizer symbolizer;
  ModuleSymbols symbols = symbolizer.open({.path = own_path()});
  const auto found = symbols.find(std::vector<std::uint64_t>{landmark() + 1, 1, landmark(), landmark() + 1});
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].at(0).function, "heaptape_test_landmark");
  EXPECT_TRUE(found[0].at(0).file.ends_with("symbolizer_test.cpp")) << found[0].at(0).file;
  EXPECT_TRUE(found[1].empty());
  EXPECT_EQ(found[2].at(0).function, "heaptape_test_landmark");
  EXPECT_EQ(found[3], found[0]);
  EXPECT_TRUE(symbols.problems().empty());
}

TEST(Symbolizer, ADeletedFileIsReadThroughItsDescriptor) {
  const UniqueFd fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  Symbolizer symbolizer;
  ModuleSymbols symbols = symbolizer.open({.path = "/gone (deleted)", .fd = fd.get()});
  EXPECT_EQ(symbols.find(std::vector{landmark()})[0].at(0).function, "heaptape_test_landmark");
}

TEST(Symbolizer, AnotherBuildIdIsSaidAndNotUsed) {
  Symbolizer symbolizer;
  ModuleSymbols symbols = symbolizer.open({.path = own_path(), .build_id = {0xab, 0xcd, 0xef}});
  EXPECT_TRUE(symbols.find(std::vector{landmark()})[0].empty());
  // A file that was linked without a build-id cannot be told apart.
  ASSERT_EQ(symbols.problems().size(), 1u);
  EXPECT_NE(symbols.problems()[0].find("is not the file that was recorded"), std::string::npos)
      << symbols.problems()[0];
}

TEST(Symbolizer, TheKernelsOwnLibraryIsReadFromMemory) {
  if (::getauxval(AT_SYSINFO_EHDR) == 0) GTEST_SKIP() << "no vdso here";
  Symbolizer symbolizer;
  ModuleSymbols symbols = symbolizer.open({.path = "linux-vdso.so.1"});
  EXPECT_TRUE(symbols.problems().empty());
  ASSERT_FALSE(symbols.origins().empty());
}

TEST(Symbolizer, WhatIsNotThereIsAProblemAndNothingIsNamed) {
  Symbolizer symbolizer({.sysroot = "/no/such/root"});
  ModuleSymbols symbols = symbolizer.open({.path = own_path()});
  EXPECT_TRUE(symbols.find(std::vector{landmark()})[0].empty());
  ASSERT_EQ(symbols.problems().size(), 1u);
  EXPECT_EQ(symbols.problems()[0], "'/no/such/root" + own_path() + "' does not exist");
  EXPECT_FALSE(symbolizer.open({.path = "/proc/self/mem"}).problems().empty());
  EXPECT_FALSE(symbolizer.open({.path = "/tmp"}).problems().empty());
}

} // namespace
} // namespace heaptape
