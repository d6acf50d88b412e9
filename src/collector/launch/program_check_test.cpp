#include "collector/launch/program_check.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "collector/observe/elf_builder_for_test.h"

namespace heaptape {
namespace {

ProgramCheck judged(const ElfSketch& sketch) {
  const std::vector<std::byte> file = make_elf(sketch);
  return judge("./app", parse_elf_facts(file).value());
}

TEST(ProgramCheck, OrdinaryProgramIsRecorded) {
  const ProgramCheck check = judged({});
  EXPECT_EQ(check.obstacle, Obstacle::None);
  EXPECT_EQ(check.sentence, "");
}

TEST(ProgramCheck, LoaderStartedByHandIsRecorded) {
  EXPECT_EQ(judged({.interpreter = "", .soname = "ld-linux-x86-64.so.2", .needed = {}}).obstacle, Obstacle::None);
}

TEST(ProgramCheck, RefusalSaysWhatAndWhyAndWhatToDoInOneLine) {
  const ProgramCheck check = judged({.interpreter = ""});
  EXPECT_EQ(check.obstacle, Obstacle::Static);
  EXPECT_EQ(check.sentence, "./app is statically linked, so the recorder cannot be loaded into it; it runs unrecorded. "
                            "Link it dynamically (without -static) to record it.");
}

TEST(ProgramCheck, AStaticProgramOfGoIsToldHowGoLinksDynamically) {
  const ProgramCheck check = judged({.note_of_go = true});
  EXPECT_EQ(check.obstacle, Obstacle::Static);
  EXPECT_EQ(check.sentence, "./app is statically linked, so the recorder cannot be loaded into it; it runs unrecorded. "
                            "Build it with 'CGO_ENABLED=1 go build -ldflags=-linkmode=external' to record what its C "
                            "code allocates; Go's own heap is for 'go tool pprof'.");
}

TEST(ProgramCheck, LoadersOfOtherLibrariesAreRefused) {
  EXPECT_EQ(judged({.interpreter = "/lib/ld-musl-x86_64.so.1"}).obstacle, Obstacle::ForeignLibc);
  EXPECT_EQ(judged({.interpreter = "/nix/store/x-glibc/lib/ld-linux-x86-64.so.2"}).obstacle, Obstacle::None);
}

TEST(ProgramCheck, OtherMachinesAreRefused) {
  EXPECT_EQ(judged({.machine = EM_AARCH64}).obstacle, Obstacle::OtherMachine);
}

TEST(ProgramCheck, SanitizerIsToldFromAnAllocator) {
  EXPECT_EQ(judged({.exported = {"malloc", "__asan_init"}}).obstacle, Obstacle::Sanitizer);
  const ProgramCheck check = judged({.exported = {"malloc", "mallocx"}});
  EXPECT_EQ(check.obstacle, Obstacle::OwnAllocator);
  EXPECT_NE(check.sentence.find("jemalloc"), std::string::npos);
}

TEST(ProgramCheck, RightsCountOnlyWhenTheyAreGained) {
  const auto obstacle = [](Privileges privileges) { return judge("./app", privileges).obstacle; };
  EXPECT_EQ(obstacle({.mode = S_ISUID | 0755, .file_owner = 0, .our_user = 1000}), Obstacle::Privileged);
  EXPECT_EQ(obstacle({.mode = S_ISUID | 0755, .file_owner = 1000, .our_user = 1000}), Obstacle::None);
  EXPECT_EQ(obstacle({.mode = S_ISUID | 0755, .file_owner = 0, .our_user = 1000, .ignored = true}), Obstacle::None);
  EXPECT_EQ(obstacle({.mode = S_ISGID | 0755, .file_group = 5, .our_group = 1000}), Obstacle::Privileged);
  EXPECT_EQ(obstacle({.mode = S_ISGID | 0744, .file_group = 5, .our_group = 1000}), Obstacle::None);
  EXPECT_EQ(obstacle({.mode = 0755, .our_user = 1000, .has_capabilities = true}), Obstacle::Privileged);
  EXPECT_EQ(obstacle({.mode = 0755, .our_user = 0, .has_capabilities = true}), Obstacle::None);
}

TEST(ProgramCheck, PreloadedSanitizerIsRefused) {
  EXPECT_EQ(judge_preload("/usr/lib/libjemalloc.so.2:libasan.so.8").obstacle, Obstacle::Sanitizer);
  EXPECT_EQ(judge_preload("/usr/lib/libjemalloc.so.2 libtcmalloc.so").obstacle, Obstacle::None);
  EXPECT_EQ(judge_preload("").obstacle, Obstacle::None);
}

TEST(ProgramCheck, RealShellIsRecordedAndFilesThatCannotBeReadAreNoObstacle) {
  const ProgramCheck check = check_program("sh", "/bin/sh");
  EXPECT_EQ(check.obstacle, Obstacle::None);
  EXPECT_EQ(check.executable, std::filesystem::canonical("/bin/sh"));
  EXPECT_EQ(check_program("nothing", "/nonexistent/program").obstacle, Obstacle::None);
}

} // namespace
} // namespace heaptape
