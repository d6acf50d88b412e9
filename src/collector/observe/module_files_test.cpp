#include "collector/observe/module_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace heaptape {
namespace {

Module module_at(const std::string& path) {
  Module module;
  module.path = path;
  module.build_id = {1, 2, 3};
  return module;
}

TEST(ModuleFiles, ADeletedFileCanStillBeRead) {
  const std::string path = testing::TempDir() + "module_files_test.so";
  std::ofstream(path) << "contents";
  ModuleFiles files;
  files.hold(module_at(path));
  ASSERT_EQ(std::remove(path.c_str()), 0);
  const int fd = files.fd_of(path, {1, 2, 3});
  ASSERT_GE(fd, 0);
  char text[9] = {};
  EXPECT_EQ(::pread(fd, text, 8, 0), 8);
  EXPECT_STREQ(text, "contents");
}

TEST(ModuleFiles, FilesThatCannotBeHadHaveNone) {
  ModuleFiles files;
  files.hold(module_at("/nowhere/at/all.so"));
  files.hold(module_at("[vdso]"));
  files.hold(module_at("/dev"));
  EXPECT_EQ(files.fd_of("/nowhere/at/all.so", {1, 2, 3}), -1);
  EXPECT_EQ(files.fd_of("[vdso]", {1, 2, 3}), -1);
  EXPECT_EQ(files.fd_of("/dev", {1, 2, 3}), -1);
}

} // namespace
} // namespace heaptape
