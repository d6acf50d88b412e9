#include "cli/beside/under_tool.h"

#include <gtest/gtest.h>

namespace heaptape::cli {
namespace {

using Words = std::vector<std::string>;

TEST(UnderTool, QuotedTextIsOneWordOfAShell) {
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's"), R"('it'\''s')");
}

TEST(UnderTool, GdbSetsTheVariablesForTheProgramOnly) {
  EXPECT_EQ(gdb_command({"LD_PRELOAD=/l.so", "HEAPTAPE_OUTPUT=a b"}, {"/bin/app", "-x"}),
            (Words{"gdb", "-q", "-ex", "set exec-wrapper env 'LD_PRELOAD=/l.so' 'HEAPTAPE_OUTPUT=a b'", "-ex",
                   "handle SIG32 nostop noprint pass", "--args", "/bin/app", "-x"}));
  EXPECT_EQ(gdb_command({}, {"/bin/app"}), (Words{"gdb", "-q", "--args", "/bin/app"}));
}

TEST(UnderTool, GdbIsGivenTheCommandsBesideTheLibraryBeforeItLoadsTheProgram) {
  const Words options = gdb_knows_heaptape("/usr/bin/heaptape", "/usr/lib/heaptape/libheaptape.so");
  EXPECT_EQ(options,
            (Words{"-iex", "add-auto-load-safe-path /usr/lib/heaptape", "-iex",
                   "source /usr/lib/heaptape/libheaptape.so-gdb.py", "-iex", "set heaptape binary /usr/bin/heaptape"}));
  EXPECT_EQ(gdb_command({}, {"/bin/app"}, {"-iex", "x"}), (Words{"gdb", "-q", "-iex", "x", "--args", "/bin/app"}));
}

TEST(UnderTool, PerfRunsEnvWhichRunsTheProgram) {
  EXPECT_EQ(perf_command({"LD_PRELOAD=/l.so"}, {"/bin/app", "-x"}, "out.data"),
            (Words{"perf", "record", "-g", "-o", "out.data", "--", "env", "LD_PRELOAD=/l.so", "/bin/app", "-x"}));
}

} // namespace
} // namespace heaptape::cli
