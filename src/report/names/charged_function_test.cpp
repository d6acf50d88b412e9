#include "report/names/charged_function.h"

#include <gtest/gtest.h>

#include "report/names/stacks_for_test.h"

namespace heaptape {
namespace {

using test::Stacks;

constexpr const char* kBuild = "_ZN2rs5build17h0123456789abcdefE";
constexpr const char* kClosure = "_ZN2rs5build28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE";
constexpr const char* kCollect = "_ZN4core4iter6traits8iterator8Iterator7collect17h0123456789abcdefE";
constexpr const char* kFormat = "_ZN5alloc3fmt6format12format_inner17h0123456789abcdefE";
constexpr const char* kGlobal =
    "_ZN63_$LT$alloc..alloc..Global$u20$as$u20$core..alloc..Allocator$GT$8allocate17h0123456789abcdefE";
constexpr const char* kPush = "_ZNSt6vectorIiSaIiEE9push_backERKi";

// The function charged, for a stack from the outermost function to the innermost.
std::string charged(Stacks& program, const std::vector<std::string>& stack, NameForm form = NameForm::Short,
                    std::initializer_list<const char*> plumbing = {}) {
  const StackId id = program.stack(stack);
  StackNames names(program.modules, program.stacks, program.symbols, form);
  std::vector<Pattern> patterns;
  for (const char* each : plumbing) patterns.push_back(Pattern::compile(each).value());
  names.set_plumbing(std::move(patterns));
  Plumbing asked(names);
  const std::vector<FrameId> frames = names.frames_of(id);
  return std::string(names.function(frames[charged_frame(asked, frames)]));
}

TEST(ChargedFunction, FormatAndCollectOfRustAreChargedToTheFunctionThatCollects) {
  Stacks program;
  EXPECT_EQ(charged(program, {"main", kBuild, kCollect, kClosure, kFormat, kGlobal}), "rs::build");
  EXPECT_EQ(charged(program, {"main", kClosure, kFormat}), "rs::build::{{closure}}") << "started as a thread, say";
}

TEST(ChargedFunction, IsTheSameWhateverFormNamesAreShownIn) {
  Stacks program;
  EXPECT_EQ(charged(program, {"main", "load", kPush}, NameForm::Mangled), "load");
  EXPECT_EQ(charged(program, {"main", "load", kPush}, NameForm::Full), "load");
}

TEST(ChargedFunction, WhatTheUserCallsPlumbingIsNotCharged) {
  Stacks program;
  EXPECT_EQ(charged(program, {"main", "load", "Arena_get"}), "Arena_get");
  EXPECT_EQ(charged(program, {"main", "load", "Arena_get"}, NameForm::Short, {"^nothing$", "^Arena_"}), "load");
}

TEST(ChargedFunction, OfNothingButPlumbingTheInnermostIsCharged) {
  Stacks program;
  EXPECT_EQ(charged(program, {kPush, "xmalloc"}), "xmalloc");
}

TEST(ChargedFunction, TheLoopOfPythonGivesWayToTheFunctionItRuns) {
  Stacks program;
  EXPECT_EQ(charged(program, {"main", "py::matrix:/job.py", "_PyEval_EvalFrameDefault", "PyList_Append"}),
            "py::matrix:/job.py");
  EXPECT_EQ(charged(program, {"main", "_PyEval_EvalFrameDefault", "PyList_Append"}), "_PyEval_EvalFrameDefault");
}

// g_hash_table_insert of a stripped glib: "libglib-2.0.so.0+0x404f4" was charged with all hash tables of a program.
TEST(ChargedFunction, HelpersWithoutNamesInAStrippedLibraryAreNotCharged) {
  Stacks program;
  program.add_function("load");
  program.add_module("/usr/lib/libglib-2.0.so.0");
  for (const char* name : {"g_realloc", "g_hash_table_insert", "g_application_run"}) program.add_function(name);
  for (const char* key : {"maybe_resize", "resize", "realloc_arrays", "activate"}) program.add_place(key, {});
  EXPECT_EQ(charged(program, {"load", "g_hash_table_insert", "maybe_resize", "resize", "realloc_arrays", "g_realloc"}),
            "load");
  EXPECT_TRUE(charged(program, {"load", "g_application_run", "activate", "g_realloc"}).starts_with("libglib-2.0.so.0+"))
      << "its caller is not plumbing";
}

TEST(ChargedFunction, TheInterpreterGivesWayToTheFunctionOfPythonThatHasAName) {
  Stacks program;
  for (const char* each : {"main", "xmalloc", kPush}) program.add_function(each);
  program.add_module("/usr/bin/python3.12");
  for (const char* each : {"Py_RunMain", "_PyEval_EvalFrameDefault", "type_call", "_PyPegen_parse"})
    program.add_function(each);
  program.add_module("/usr/lib/ext.so");
  program.add_function("ext_load");
  const StackId made = program.stack({"main", "Py_RunMain"});
  const StackId matrix = program.node(made, 0x7000'0000); // in no module
  program.symbols.add_run_time(
      {.start = 0x7000'0000, .size = 16, .function = "matrix", .file = "/job.py", .frames = {{matrix}}});
  const auto charged_inside = [&](StackId outside, const std::vector<std::string>& stack) {
    const StackId id = program.stack(stack, 0, outside);
    StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
    Plumbing asked(names);
    const std::vector<FrameId> frames = names.frames_of(id);
    return std::string(names.function(frames[charged_frame(asked, frames)]));
  };
  EXPECT_EQ(charged_inside(matrix, {"_PyEval_EvalFrameDefault", "type_call", "xmalloc"}), "matrix");
  EXPECT_EQ(charged_inside(matrix, {"_PyEval_EvalFrameDefault", "ext_load", kPush}), "ext_load");
  EXPECT_EQ(charged_inside(matrix, {"_PyEval_EvalFrameDefault", "ext_load", "type_call"}), "type_call");
  const StackId lambda = program.node(matrix, 0x7000'1000);
  program.symbols.add_run_time(
      {.start = 0x7000'1000, .size = 16, .function = "<lambda>", .file = "/job.py", .frames = {{lambda}}});
  EXPECT_EQ(charged_inside(lambda, {"_PyEval_EvalFrameDefault", "xmalloc"}), "<lambda>");
  EXPECT_EQ(charged_inside(made, {"_PyPegen_parse", "xmalloc"}), "_PyPegen_parse")
      << "no function of Python is outside";
}

TEST(ChargedFunction, FoldingLeavesTheChargedFunctionAndThoseThatCalledIt) {
  Stacks program;
  const StackId id = program.stack({"main", kPush, "visit", kPush, "xmalloc"});
  StackNames names(program.modules, program.stacks, program.symbols, NameForm::Short);
  Plumbing plumbing(names);
  std::vector<FrameId> frames = names.frames_of(id);
  EXPECT_EQ(made_in(plumbing, frames), "vector");
  fold_plumbing(plumbing, frames);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(names.function(frames[0]), "visit");
  EXPECT_EQ(names.function(frames[1]), "main");
}

} // namespace
} // namespace heaptape
