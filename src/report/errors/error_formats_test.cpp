// What other programs read: JSON, SARIF, JUnit.
#include <gtest/gtest.h>

#include "report/errors/error_json.h"
#include "report/errors/error_tape_for_test.h"
#include "report/errors/junit.h"
#include "report/errors/sarif.h"

namespace heaptape {
namespace {

using test::ErrorTape;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

void double_free(ErrorTape& tape) {
  tape.story.by(1, tape.made.value).make(0x1000, 24).by(1, tape.used.value).end(0x1000);
  tape.story.by(1, tape.dropped.value).end(0x1000);
  tape.release(OddKind::NotLive, 3, 0x1000);
}

std::string json_of(ErrorTape& tape) {
  JsonWriter json;
  write_error_list(json, tape.view(), tape.list());
  return json.text();
}

TEST(ErrorJson, AnErrorHasItsCallItsBlockAndWhoReleasedIt) {
  ErrorTape tape;
  double_free(tape);
  const std::string json = json_of(tape);
  EXPECT_TRUE(json.starts_with(
      R"({"checked":false,"mode":"","error_count":1,"context_count":1,"suppressed_errors":0,"suppressed_contexts":0,)"
      R"("left_out":0,"errors":[{"number":1,"sort":"double-free","headline":"Double free of a block of 24 bytes",)"
      R"("count":1,"last_event":3,"found":"call","call":"free","event":3,"is_event":true,"time_us":30,"thread":1,)"
      R"("address":"0x1000","stack_id":)"))
      << json;
  EXPECT_TRUE(contains(json, R"("block":{"address":"0x1000","bytes":24,"allocated":{"call":"malloc","event":1,)"))
      << json;
  EXPECT_TRUE(contains(json, R"("state":"released","released":{"call":"free","event":2,)")) << json;
}

TEST(ErrorJson, WhatWasWrittenIsInHex) {
  ErrorTape tape;
  tape.story.make(0x1000, 24);
  MemoryError& error = tape.found(ErrorSort::WriteBehind, FoundAt::Exit, 1, 0x1000, 24);
  error.bytes = std::string("\0\xff", 2);
  error.expected = 0xfd;
  EXPECT_TRUE(contains(json_of(tape), R"("length":4,"bytes":"00ff","expected":"fd",)")) << json_of(tape);
}

TEST(ErrorSarif, PlacesAreFilesBelowTheProgramsDirectory) {
  ErrorTape tape;
  double_free(tape);
  const std::string sarif = error_sarif(tape.view(), tape.list(), "1.2.3");
  EXPECT_TRUE(contains(sarif, R"("rules":[{"id":"double-free",)")) << sarif;
  EXPECT_TRUE(contains(sarif, R"("originalUriBaseIds":{"SRCROOT":{"uri":"file:///src/"}})")) << sarif;
  EXPECT_TRUE(contains(sarif, R"("locations":[{"physicalLocation":{"artifactLocation":{"uri":"drop.cpp",)"
                              R"("uriBaseId":"SRCROOT"},"region":{"startLine":3}})"))
      << sarif;
  EXPECT_TRUE(contains(sarif, R"({"id":1,"message":{"text":"allocated here"},"physicalLocation":{"artifactLocation":)"
                              R"({"uri":"load.cpp","uriBaseId":"SRCROOT"},"region":{"startLine":31}})"))
      << sarif;
  EXPECT_TRUE(contains(sarif, R"({"id":2,"message":{"text":"released here"},"physicalLocation":{"artifactLocation":)"
                              R"({"uri":"file:///elsewhere/use%20it.cpp"})"))
      << sarif;
}

TEST(ErrorSarif, AWriteThatWasFoundAtTheEndIsPlacedAtTheAllocation) {
  ErrorTape tape;
  tape.story.by(1, tape.made.value).make(0x1000, 24);
  tape.found(ErrorSort::WriteBehind, FoundAt::Exit, 1, 0x1000, 24);
  const std::string sarif = error_sarif(tape.view(), tape.list(), "1.2.3");
  EXPECT_TRUE(contains(sarif, R"("locations":[{"physicalLocation":{"artifactLocation":{"uri":"load.cpp")")) << sarif;
}

TEST(ErrorJunit, EachErrorIsATestThatFailed) {
  ErrorTape tape;
  double_free(tape);
  const std::string xml = error_junit(tape.view(), tape.list());
  EXPECT_TRUE(contains(xml, R"(<testsuite name="heaptape errors" tests="1" failures="1" errors="0">)")) << xml;
  EXPECT_TRUE(contains(xml, R"xml(<testcase classname="heaptape.double-free" name="#1 Double free of a block of )xml"
                            R"xml(24 bytes (drop drop.cpp:3)">)xml"))
      << xml;
  EXPECT_TRUE(contains(xml, R"(<failure type="double-free" message="Double free of a block of 24 bytes">#1 )")) << xml;
}

TEST(ErrorJunit, WithoutErrorsThereIsOneTestThatPassed) {
  ErrorTape tape;
  tape.story.make(0x1000, 24);
  const std::string xml = error_junit(tape.view(), tape.list());
  EXPECT_TRUE(contains(xml, R"(tests="1" failures="0")")) << xml;
  EXPECT_TRUE(contains(xml, R"(<testcase classname="heaptape" name="no memory errors"/>)")) << xml;
}

} // namespace
} // namespace heaptape
