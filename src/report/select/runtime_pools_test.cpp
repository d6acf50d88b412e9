#include "report/select/runtime_pools.h"

#include <gtest/gtest.h>

#include "report/names/stacks_for_test.h"

namespace heaptape {
namespace {

using test::Stacks;

class RuntimePoolsTest : public testing::Test {
protected:
  RuntimePoolsTest() {
    for (const char* name : {"main", "load"}) program_.add_function(name);
    program_.add_module("/lib64/ld-linux-x86-64.so.2");
    for (const char* name : {"_dl_start_user", "_dl_init", "call_init"}) program_.add_function(name);
    program_.add_module("/usr/lib/libstdc++.so.6");
    program_.add_place("stripped", {});
    program_.add_module("/lib/libc.so.6");
    for (const char* name : {"_IO_file_doallocate", "puts", "fputs", "setlocale"}) program_.add_function(name);
    program_.add_module("/usr/lib/libapp.so");
    program_.add_function("_GLOBAL__sub_I_app.cpp");
  }
  std::string pool(const std::vector<std::string>& stack) {
    const StackId id = program_.stack(stack);
    StackNames names(program_.modules, program_.stacks, program_.symbols, NameForm::Short);
    return std::string(RuntimePools(names).of(id));
  }
  Stacks program_;
};

TEST_F(RuntimePoolsTest, TheEmergencyPoolOfLibstdcxxHasAName) {
  EXPECT_EQ(pool({"_dl_start_user", "_dl_init", "call_init", "stripped"}), "libstdc++'s emergency pool");
  EXPECT_EQ(pool({"main", "stripped"}), "") << "made for the program";
}

TEST_F(RuntimePoolsTest, ConstructorsOfTheProgramsOwnLibrariesAreTheProgram) {
  EXPECT_EQ(pool({"_dl_start_user", "_dl_init", "call_init", "_GLOBAL__sub_I_app.cpp"}), "");
  EXPECT_EQ(pool({"_dl_start_user", "_dl_init", "call_init", "_GLOBAL__sub_I_app.cpp", "stripped"}), "");
}

TEST_F(RuntimePoolsTest, TheBufferOfStdoutIsLibcsButThatOfAFileIsItsOpeners) {
  EXPECT_EQ(pool({"main", "puts", "_IO_file_doallocate"}), "libc's buffers of stdin and stdout");
  EXPECT_EQ(pool({"main", "load", "fputs", "_IO_file_doallocate"}), "");
  EXPECT_EQ(pool({"main", "setlocale"}), "libc's locale");
}

TEST_F(RuntimePoolsTest, RustBeforeItsMain) {
  constexpr const char* kStart = "_ZN3std2rt19lang_start_internal17h0123456789abcdefE";
  EXPECT_EQ(pool({"main", kStart, "_ZN3std2rt4init17h0123456789abcdefE"}), "Rust's start-up");
  EXPECT_EQ(pool({"main", kStart, "_ZN2rs4main17h0123456789abcdefE", "_ZN5alloc3fmt6format17h0123456789abcdefE"}), "");
}

TEST_F(RuntimePoolsTest, AreTakenOutAndAddUpWithTheRest) {
  std::vector<StackCost> costs{
      {.stack = program_.stack({"main", "load"}), .cost = {100, 2}},
      {.stack = program_.stack({"_dl_start_user", "_dl_init", "call_init", "stripped"}), .cost = {72704, 1}},
      {.stack = program_.stack({"main", "puts", "_IO_file_doallocate"}), .cost = {1024, 1}}};
  StackNames names(program_.modules, program_.stacks, program_.symbols, NameForm::Short);
  const std::vector<RuntimePool> pools = RuntimePools(names).take_from(costs);
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(sum_of(pools), (Cost{73728, 2}));
  EXPECT_EQ(runtime_pools_text(pools),
            "libstdc++'s emergency pool 72.7 kB, libc's buffers of stdin and stdout 1.02 kB");
}

} // namespace
} // namespace heaptape
