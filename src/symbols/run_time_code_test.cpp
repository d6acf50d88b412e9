#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "symbols/jit_dump.h"
#include "symbols/perf_map.h"
#include "symbols/run_time_name.h"

namespace heaptape {
namespace {

TEST(PerfMap, NumbersWithAndWithoutPrefixAndNamesWithSpaces) {
  std::vector<PerfMapLine> lines;
  const std::string text =
      "7f00 10 foo bar\n0x8000 0x20 int f(a, b)\nnot a line\n9000 0 empty\nfff 1\n9000 8 last\r\ncut 1 o";
  each_perf_map_line(text, [&](const PerfMapLine& line) { lines.push_back(line); });
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].start, 0x7f00u);
  EXPECT_EQ(lines[0].name, "foo bar");
  EXPECT_EQ(lines[1].start, 0x8000u);
  EXPECT_EQ(lines[1].size, 0x20u);
  EXPECT_EQ(lines[1].name, "int f(a, b)");
  EXPECT_EQ(lines[2].name, "last");
  EXPECT_EQ(lines[2].offset, text.find("9000 8"));
}

TEST(PerfMap, RangeThatWrapsAroundIsLeftOut) {
  std::size_t lines = 0;
  each_perf_map_line("ffffffffffffffff 10 wraps\n123456789abcdef01 1 too_long\n", [&](const PerfMapLine&) { ++lines; });
  EXPECT_EQ(lines, 0u);
}

TEST(RunTimeName, PythonFunctionHasItsFile) {
  const SourcePlace place = run_time_name("py::Matrix.fill.<locals>.<lambda>:/home/me/job.py");
  EXPECT_EQ(place.function, "Matrix.fill.<locals>.<lambda>");
  EXPECT_EQ(place.file, "/home/me/job.py");
}

TEST(RunTimeName, JavaScriptFunctionHasFileAndLine) {
  const SourcePlace lazy = run_time_name("LazyCompile:*outer /home/me/x y.js:12:5");
  EXPECT_EQ(lazy.function, "outer");
  EXPECT_EQ(lazy.file, "/home/me/x y.js");
  EXPECT_EQ(lazy.line, 12u);
  EXPECT_EQ(lazy.column, 5u);
  const SourcePlace module = run_time_name("JS:~ file:///home/me/m.mjs:3");
  EXPECT_EQ(module.function, "(anonymous)");
  EXPECT_EQ(module.file, "/home/me/m.mjs");
  EXPECT_EQ(module.line, 3u);
  EXPECT_EQ(run_time_name("Script:~ node:internal/main:1:1").function, "(script)");
}

TEST(RunTimeName, OtherNamesStayAsTheyAre) {
  for (const char* name : {"Builtin:ArrayMap", "void java.lang.Thread::run()", "py::", "JS:", "Function:plain", "::"})
    EXPECT_EQ(run_time_name(name).function, name);
}

// Puts a jitdump together.
class Dump {
public:
  Dump& u32(std::uint32_t number) { return raw(&number, sizeof number); }
  Dump& u64(std::uint64_t number) { return raw(&number, sizeof number); }
  Dump& text(const char* words) { return raw(words, std::strlen(words) + 1); }
  Dump& raw(const void* bytes, std::size_t size) {
    const auto* from = static_cast<const std::byte*>(bytes);
    bytes_.insert(bytes_.end(), from, from + size);
    return *this;
  }
  Dump& header(std::uint64_t flags = 0) {
    return u32(0x4A695444).u32(1).u32(40).u32(62).u32(0).u32(77).u64(0).u64(flags);
  }
  Dump& record(std::uint32_t type, std::uint64_t time, const Dump& body) {
    u32(type).u32(static_cast<std::uint32_t>(16 + body.bytes_.size())).u64(time);
    return raw(body.bytes_.data(), body.bytes_.size());
  }
  static Dump load(std::uint64_t at, std::uint64_t size, std::uint64_t index, const char* name) {
    return std::move(Dump().u32(77).u32(77).u64(at).u64(at).u64(size).u64(index).text(name));
  }
  std::span<const std::byte> bytes() const { return bytes_; }

private:
  std::vector<std::byte> bytes_;
};

TEST(JitDump, CodeWithLinesThenMoved) {
  Dump dump;
  dump.header();
  dump.record(2, 5,
              Dump().u64(0x1000).u64(2).u64(0x1008).u32(7).u32(0).text("a.js").u64(0x1000).u32(6).u32(0).text("\xff"));
  dump.record(0, 10, Dump::load(0x1000, 0x40, 3, "foo"));
  dump.record(1, 20, Dump().u32(77).u32(77).u64(0x9000).u64(0x1000).u64(0x9000).u64(0x40).u64(3));
  dump.record(0, 30, Dump::load(0x1000, 0x20, 4, "bar"));
  const JitDump parsed = parse_jit_dump(dump.bytes());
  EXPECT_TRUE(parsed.monotonic);
  ASSERT_EQ(parsed.codes.size(), 3u);
  EXPECT_EQ(parsed.codes[0].name, "foo");
  ASSERT_EQ(parsed.codes[0].lines.size(), 2u);
  EXPECT_EQ(parsed.codes[0].lines[0].line, 6u);
  EXPECT_EQ(parsed.codes[0].lines[0].file, "a.js");
  EXPECT_EQ(parsed.codes[1].start, 0x9000u);
  EXPECT_EQ(parsed.codes[1].name, "foo");
  EXPECT_EQ(parsed.codes[1].timestamp, 20u);
  EXPECT_EQ(parsed.codes[1].lines[1].address, 0x9008u);
  EXPECT_EQ(parsed.codes[2].name, "bar");
  EXPECT_TRUE(parsed.codes[2].lines.empty());
}

TEST(JitDump, FileThatIsStillBeingWrittenGivesWhatIsWhole) {
  Dump dump;
  dump.header(1);
  dump.record(0, 10, Dump::load(0x1000, 0x40, 1, "foo")).record(0, 11, Dump::load(0x2000, 0x40, 2, "bar"));
  const JitDump parsed = parse_jit_dump(dump.bytes().first(dump.bytes().size() - 1));
  EXPECT_FALSE(parsed.monotonic);
  ASSERT_EQ(parsed.codes.size(), 1u);
  EXPECT_EQ(parsed.codes[0].name, "foo");
  EXPECT_TRUE(parse_jit_dump(dump.bytes().first(30)).codes.empty());
}

} // namespace
} // namespace heaptape
