#include "tape/python_remark.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

std::string remark(std::string path, Meta meta = {}) {
  const Module module{.path = std::move(path), .build_id = {}, .segments = {}};
  return python_remark(std::span(&module, 1), meta);
}

TEST(PythonRemark, PythonWithItsOwnArenasIsToldOf) {
  EXPECT_EQ(remark("/usr/bin/python3.11"),
            "Python keeps objects of up to 512 bytes in arenas of its own: PYTHONMALLOC=malloc shows each of them");
  EXPECT_NE(remark("/usr/lib/libpython3.11.so.1.0"), "");
  EXPECT_NE(remark("/opt/bin/python3"), "");
  EXPECT_NE(remark("/usr/bin/python3.11", {{"PYTHONMALLOC", "pymalloc_debug"}}), "");
}

TEST(PythonRemark, FunctionsAreNamedFrom312OnIfAskedFor) {
  EXPECT_NE(remark("/usr/bin/python3.12").find("-X perf names"), std::string::npos);
  const std::string asked = remark("/usr/bin/python3.13", {{"command", std::string("python3\0-X\0perf\0a.py\0", 22)}});
  EXPECT_NE(asked, "");
  EXPECT_EQ(asked.find("-X perf names"), std::string::npos);
  EXPECT_EQ(remark("/usr/bin/python3.12", {{"PYTHONMALLOC", "malloc"}}), "python -X perf names Python functions");
}

TEST(PythonRemark, TheVariableForPerfIsNotAdvisedToThoseWhoSetIt) {
  EXPECT_EQ(remark("/usr/bin/python3.12", {{"PYTHONMALLOC", "malloc"}, {"PYTHONPERFSUPPORT", "1"}}), "");
  EXPECT_NE(remark("/usr/bin/python3.12", {{"PYTHONMALLOC", "malloc"}, {"PYTHONPERFSUPPORT", "0"}}), "");
}

TEST(PythonRemark, NothingIsSaidWhenNothingIsHidden) {
  EXPECT_EQ(remark("/usr/bin/python3.11", {{"PYTHONMALLOC", "malloc"}}), "");
  EXPECT_EQ(remark("/usr/bin/perl"), "");
  EXPECT_EQ(remark("/usr/lib/libpython3.so"), "");
  EXPECT_EQ(remark("/usr/bin/python2.7"), "");
}

} // namespace
} // namespace heaptape
