#include "collector/launch/program_search.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace heaptape {
namespace {

std::optional<Shebang> shebang_of(const std::string& text) { return parse_shebang(std::as_bytes(std::span(text))); }

std::optional<std::vector<std::string>> behind_env(const std::string& line) {
  return command_behind_env(shebang_of(line + "\n").value());
}

TEST(Shebang, NameAndOneArgumentAreTaken) {
  EXPECT_EQ(shebang_of("#!/bin/sh\necho"), (Shebang{"/bin/sh", ""}));
  EXPECT_EQ(shebang_of("#! /usr/bin/perl -w -T \n"), (Shebang{"/usr/bin/perl", "-w -T"}));
  EXPECT_EQ(shebang_of("#!/bin/sh"), (Shebang{"/bin/sh", ""}));
}

TEST(Shebang, OtherFilesHaveNone) {
  EXPECT_EQ(shebang_of("echo"), std::nullopt);
  EXPECT_EQ(shebang_of("#!\n"), std::nullopt);
  EXPECT_EQ(shebang_of(""), std::nullopt);
}

TEST(Shebang, InterpreterBehindEnvIsTheOneThatCounts) {
  EXPECT_EQ(behind_env("#!/usr/bin/env python3"), (std::vector<std::string>{"python3"}));
  EXPECT_EQ(behind_env("#!/usr/bin/env -S node --max-old-space-size=1 -x"), std::nullopt);
  EXPECT_EQ(behind_env("#!/usr/bin/env -S perl -w  -T"), (std::vector<std::string>{"perl", "-w", "-T"}));
}

TEST(Shebang, WhatOnlyEnvUnderstandsIsLeftToIt) {
  EXPECT_EQ(behind_env("#!/usr/bin/env -i sh"), std::nullopt);
  EXPECT_EQ(behind_env("#!/usr/bin/env -S 'my perl'"), std::nullopt);
  EXPECT_EQ(behind_env("#!/usr/bin/env"), std::nullopt);
  EXPECT_EQ(behind_env("#!/bin/sh"), std::nullopt);
}

class ProgramSearch : public testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/heaptape-search-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text, mode_t mode) {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }

  std::string folder_;
};

TEST_F(ProgramSearch, FirstExecutableFileOfThePathWins) {
  file("a/tool", "", 0644);
  const std::string wanted = file("b/tool", "", 0755);
  file("c/tool", "", 0755);
  const std::string path = folder_ + "/none:" + folder_ + "/a:" + folder_ + "/b:" + folder_ + "/c";
  EXPECT_EQ(find_program("tool", path.c_str()).value(), wanted);
}

TEST_F(ProgramSearch, FileThatMayNotBeExecutedIsToldFromNone) {
  const std::string plain = file("a/tool", "", 0644);
  EXPECT_EQ(find_program("tool", (folder_ + "/a").c_str()).error().code, ErrorCode::Denied);
  EXPECT_EQ(find_program("other", (folder_ + "/a").c_str()).error().sentence, "other: command not found");
  EXPECT_EQ(find_program(plain, "").error().sentence, plain + ": Permission denied");
  EXPECT_EQ(find_program(folder_, "").error().sentence, folder_ + ": Is a directory");
  EXPECT_EQ(find_program("./nothing", "").error().code, ErrorCode::NotFound);
  EXPECT_EQ(find_program("", "/bin").error().code, ErrorCode::NotFound);
}

TEST_F(ProgramSearch, ScriptThatAsksEnvRunsItsInterpreter) {
  const std::string script = file("run.py", "#!/usr/bin/env mypython\n", 0755);
  const std::string python = file("bin/mypython", "", 0755);
  const Program program = resolve_program({script, "-v", "x y"}, (folder_ + "/bin").c_str()).value();
  EXPECT_EQ(program.path, python);
  EXPECT_EQ(program.arguments, (std::vector<std::string>{"mypython", script, "-v", "x y"}));
}

TEST_F(ProgramSearch, InterpreterThatIsAScriptItselfIsFollowed) {
  const std::string script = file("run.py", "#!/usr/bin/env mypython\n", 0755);
  const std::string shim = file("bin/mypython", "#!/usr/bin/env mybash\n", 0755);
  const std::string bash = file("bin/mybash", "", 0755);
  const Program program = resolve_program({script, "-v"}, (folder_ + "/bin").c_str()).value();
  EXPECT_EQ(program.path, bash);
  EXPECT_EQ(program.arguments, (std::vector<std::string>{"mybash", shim, script, "-v"}));
}

TEST_F(ProgramSearch, OrdinaryScriptIsLeftToTheKernel) {
  const std::string script = file("run.sh", "#!/bin/sh\n", 0755);
  const Program program = resolve_program({script, "a"}, "").value();
  EXPECT_EQ(program.path, script);
  EXPECT_EQ(program.arguments, (std::vector<std::string>{script, "a"}));
}

} // namespace
} // namespace heaptape
