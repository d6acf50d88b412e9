#include "shell/all_commands.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "analysis/space/space_for_test.h"

namespace heaptape {
namespace {

using test::MapLine;
using test::SpaceTape;
using test::Story;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kHeap = 0x5555'6000'0000;
constexpr std::uint64_t kArena = 0x7f10'4000'0000;
constexpr std::uint64_t kStack = 0x7f20'0000'0000;
constexpr std::uint64_t kOwn = 0x7f30'0000'0000;

// A small program: two threads, an arena, a mapping of its own, a library.
SpaceTape small_program() {
  Story story;
  story.by(1, 1).make(kHeap + 0x2a0, 1000).make(kHeap + 0x5000, 24);
  story.by(2, 2).make(kArena + 0x8b0, 5000);
  story.by(1, 3).map(kOwn, 0x4000);
  SpaceTape tape(story.events());
  tape.threads = {{ThreadId(1), 4711, "main", 0, 0, 0x7ffc'0002'0f00},
                  {ThreadId(2), 4712, "loader", 5, 0, kStack + 0x86c0}};
  tape.add_maps(50,
                {{kHeap, kHeap + 0x21000, "rw-p", "[heap]"},
                 {kArena, kArena + 0x21000, "rw-p", ""},
                 {kArena + 0x21000, kArena + 64 * kMiB, "---p", ""},
                 {kStack, kStack + 0x1000, "---p", ""},
                 {kStack + 0x1000, kStack + 0x9000, "rw-p", ""},
                 {kOwn, kOwn + 0x4000, "rw-p", ""},
                 {0x7f40'0000'0000, 0x7f40'0000'4000, "r-xp", "/usr/lib/a/very/long/path/of/a/library/libtable.so.1"},
                 {0x7ffc'0000'0000, 0x7ffc'0002'1000, "rw-p", "[stack]"}});
  return tape;
}

class SpaceCommands : public testing::Test {
protected:
  SpaceCommands() : path_(small_program().write()) {
    auto opened = Session::open(path_);
    HT_CHECK(opened.ok());
    session_.emplace(std::move(opened).value());
    session_->style.width = 80;
  }
  ~SpaceCommands() override { ::unlink(path_.c_str()); }

  std::string run(const Command& command, const std::vector<std::string>& arguments) {
    StringPrinter out;
    const Result<> done = run_command(command, *session_, as_words(arguments), out);
    return done ? out.text() : "error: " + done.error().sentence;
  }

  std::string path_;
  std::optional<Session> session_;
};

TEST_F(SpaceCommands, MappingsSayWhatIsWhereInEightyColumns) {
  EXPECT_EQ(run(kMappingsCommand, {}),
            "range                               size      live  what\n"
            "555560000000-555560021000 rw-p  135.2 kB   1.02 kB  main heap\n"
            "7f1040000000-7f1044000000 rw-p   67.1 MB   5.00 kB  arena, 135.2 kB open\n"
            "7f2000000000-7f2000009000 rw-p   36.9 kB            stack of thread 2 (loader)\n"
            "7f3000000000-7f3000004000 rw-p   16.4 kB            anonymous\n"
            "    event 4 at 0.000040 s, ?+0x1234\n"
            "7f4000000000-7f4000004000 r-xp   16.4 kB            …/of/a/library/libtable.so.1\n"
            "7ffc00000000-7ffc00021000 rw-p  135.2 kB            main stack\n"
            "\n"
            "6 mappings: 67.4 MB, 471.0 kB of it accessible, 6.02 kB live in 3 blocks\n"
            "As the kernel first showed it, at 0.000050 s.\n"
            "Permissions are those of 0.000050 s: mprotect is not on the tape.\n");
}

TEST_F(SpaceCommands, AnAddressGivesItsMappingInFullAndAWordThoseThatHaveIt) {
  const std::string one = run(kMappingsCommand, {"0x7f1040000100"});
  EXPECT_NE(one.find("is in arena, 135.2 kB open"), std::string::npos) << one;
  EXPECT_NE(one.find("live       5.00 kB in 1 block"), std::string::npos) << one;
  const std::string stacks = run(kMappingsCommand, {"stack"});
  EXPECT_NE(stacks.find("2 mappings"), std::string::npos) << stacks;
  EXPECT_NE(run(kMappingsCommand, {"libtable"}).find("1 mapping:"), std::string::npos);
  EXPECT_EQ(run(kMappingsCommand, {"0x1000"}), "error: nothing is mapped at 0x1000");
  EXPECT_NE(run(kMappingsCommand, {"nosuch"}).find("error: no mapping has 'nosuch'"), std::string::npos);
}

TEST_F(SpaceCommands, MappingsAsJsonCarryEventAndThread) {
  const std::string text = run(kMappingsCommand, {"--json", "stack"});
  EXPECT_EQ(
      text,
      R"({"event":4,"time_us":40,"from_kernel":true,"maps_us":50,"permissions_us":50,"mappings":[)"
      R"({"begin":"0x7f2000000000","end":"0x7f2000009000","bytes":36864,"committed_bytes":32768,"live_bytes":0,)"
      R"("live_blocks":0,"kind":"thread_stack","permissions":"rw-p","thread":2},)"
      R"({"begin":"0x7ffc00000000","end":"0x7ffc00021000","bytes":135168,"committed_bytes":135168,"live_bytes":0,)"
      R"("live_blocks":0,"kind":"main_stack","permissions":"rw-p","name":"[stack]","thread":1}]})"
      "\n");
}

TEST_F(SpaceCommands, ArenasSayWhatIsUsedAndByWhom) {
  EXPECT_EQ(run(kArenasCommand, {}), "arena         live  blocks  committed  reserved  unused  pages  little\n"
                                     "main heap  1.02 kB       2   135.2 kB  135.2 kB  94.8 %      2       1\n"
                                     "arena 1    5.00 kB       1   135.2 kB   67.1 MB   0.0 %      2       0\n"
                                     "total      6.02 kB       3   270.3 kB   67.2 MB       -      4       -\n"
                                     "\n"
                                     "main heap  555560000000-555560021000\n"
                                     "    19.8 kB from first to last live byte; largest gap 18.8 kB at 0x555560000688\n"
                                     "    thread 1 (main): 1.02 kB in 2 blocks\n"
                                     "arena 1  7f1040000000-7f1044000000\n"
                                     "    5.00 kB from first to last live byte\n"
                                     "    thread 2 (loader): 5.00 kB in 1 block\n"
                                     "\n"
                                     "unused: of what lies between the first and the last live byte\n"
                                     "little: pages with fewer than 64 live bytes\n"
                                     "As the kernel first showed it, at 0.000050 s.\n");
}

TEST_F(SpaceCommands, ArenasAsJsonHaveThreadsWithTheirHome) {
  const std::string text = run(kArenasCommand, {"--json"});
  EXPECT_NE(text.find(R"("allocator":"glibc")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("kind":"thread_arena","live_bytes":5000,"live_blocks":1,"committed_bytes":135168,)"
                      R"("reserved_bytes":67108864,"span_bytes":5000,"fragmentation":0.0000)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("threads":[{"thread":2,"live_bytes":5000,"live_blocks":1,"last_event":3,"home":true}])"),
            std::string::npos)
      << text;
}

TEST_F(SpaceCommands, WordsThatNobodyTakesAreRefused) {
  EXPECT_NE(run(kArenasCommand, {"extra"}).find("error:"), std::string::npos);
  EXPECT_NE(run(kMappingsCommand, {"--nosuch"}).find("error:"), std::string::npos);
}

} // namespace
} // namespace heaptape
