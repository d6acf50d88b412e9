#include "options/option_list.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

using Words = std::vector<std::string>;

void expect_parsed(OptionList& list, const Words& words) {
  const Result<OptionList::Outcome> outcome = list.parse(words);
  ASSERT_TRUE(outcome.ok()) << outcome.error().sentence;
  EXPECT_EQ(outcome.value(), OptionList::Outcome::GoOn);
}

TEST(OptionList, VariablesHoldWhatWasGivenAndKeepWhatWasNot) {
  bool json = false, all = false;
  std::string output, names = "short", tape;
  std::uint64_t rows = 20;
  std::optional<std::uint64_t> limit, most;
  double threshold = 1;
  OptionList list("try");
  list.flag("--json", json, "");
  list.flag("--all", all, "");
  list.text("-o,--output FILE", output, "");
  list.text("--names FORM", names, "");
  list.number("-n,--rows N", rows, "");
  list.number("--limit N", limit, "");
  list.number("--most N", most, "");
  list.number("--threshold PERCENT", threshold, "");
  list.word("TAPE", tape);
  expect_parsed(list, {"--json", "-o", "-", "a.tape", "--limit=7", "-n5", "--threshold", "0.5"});
  EXPECT_TRUE(json);
  EXPECT_FALSE(all);
  EXPECT_EQ(output, "-");
  EXPECT_EQ(names, "short");
  EXPECT_EQ(rows, 5u);
  EXPECT_EQ(limit, 7u);
  EXPECT_EQ(most, std::nullopt);
  EXPECT_EQ(threshold, 0.5);
  EXPECT_EQ(tape, "a.tape");
  EXPECT_TRUE(list.given("--json"));
  EXPECT_TRUE(list.given("-o"));
  EXPECT_FALSE(list.given("--names"));
}

// It took the tape's name for a second folder, and then another tape was changed.
TEST(OptionList, ARepeatedOptionTakesOneWordEachTimeAndLeavesTheTape) {
  Words folders;
  std::string tape;
  OptionList list("try");
  list.repeated("--debug-dir DIR", folders, "");
  list.word("TAPE", tape);
  expect_parsed(list, {"--debug-dir", "a", "--debug-dir=b", "--debug-dir", "[c,d]", "app.tape"});
  EXPECT_EQ(folders, (Words{"a", "b", "[c,d]"}));
  EXPECT_EQ(tape, "app.tape");
}

TEST(OptionList, OptionsWhoseOrderMattersAreHandedOverInThatOrder) {
  Words rules;
  std::string tape;
  OptionList list("try");
  list.each(
      "--include RE", [&](const std::string& text) { rules.push_back("+" + text); }, "");
  list.each(
      "--exclude RE", [&](const std::string& text) { rules.push_back("-" + text); }, "");
  list.word("TAPE", tape);
  expect_parsed(list, {"--exclude", "a", "--include", "{}", "app.tape", "--exclude=c", "--exclude", ""});
  EXPECT_EQ(rules, (Words{"-a", "+{}", "-c", "-"}));
  EXPECT_EQ(tape, "app.tape");
}

TEST(OptionList, WordsMayHaveTheirPlaceInThatOrder) {
  const auto parse = [](const Words& words) {
    Words taken;
    OptionList list("try");
    list.each(
        "-p,--pid PID", [&](const std::string& text) { taken.push_back("pid " + text); }, "");
    list.each_word("TAPE", 2, [&](const std::string& text) { taken.push_back(text); });
    const Result<OptionList::Outcome> outcome = list.parse(words);
    return outcome.ok() ? taken : Words{outcome.error().sentence};
  };
  EXPECT_EQ(parse({"a.tape", "-p", "7"}), (Words{"a.tape", "pid 7"}));
  EXPECT_EQ(parse({"-p", "7", "a.tape"}), (Words{"pid 7", "a.tape"}));
  EXPECT_EQ(parse({"a", "b"}), (Words{"a", "b"}));
  EXPECT_EQ(parse({"a", "b", "c"}), (Words{"unexpected argument 'c'"}));
}

TEST(OptionList, AValueMayBeLeftOutWhereTheFormSaysSo) {
  const auto parse = [](const Words& words) {
    std::optional<std::string> rate, picture;
    std::string tape;
    bool json = false;
    OptionList list("try");
    list.optional_text("--cpu[=HZ]", rate, "");
    list.optional_text("--svg [FILE]", picture, "");
    list.flag("--json", json, "");
    list.word("TAPE", tape);
    expect_parsed(list, words);
    return Words{rate.value_or("none"), picture.value_or("none"), tape};
  };
  EXPECT_EQ(parse({}), (Words{"none", "none", ""}));
  EXPECT_EQ(parse({"--cpu", "app.tape"}), (Words{"", "none", "app.tape"}));
  EXPECT_EQ(parse({"--cpu=50", "app.tape"}), (Words{"50", "none", "app.tape"}));
  EXPECT_EQ(parse({"--svg", "--json", "app.tape"}), (Words{"none", "", "app.tape"}));
  EXPECT_EQ(parse({"--svg", "a.svg", "app.tape"}), (Words{"none", "a.svg", "app.tape"}));
}

TEST(OptionList, AnEmptyValueIsAValue) {
  std::optional<std::string> given, missing;
  OptionList list("try");
  list.text("--given TEXT", given, "");
  list.text("--missing TEXT", missing, "");
  expect_parsed(list, {"--given", ""});
  EXPECT_EQ(given, "");
  EXPECT_EQ(missing, std::nullopt);
}

TEST(OptionList, ASeriesEndsAtTheNextOption) {
  Words moments;
  bool json = false;
  std::string tape;
  OptionList list("try");
  list.series("--no-growth MOMENT MOMENT...", moments, 2, "");
  list.flag("--json", json, "");
  list.word("TAPE", tape);
  expect_parsed(list, {"--no-growth", "a", "b", "c", "--json", "app.tape"});
  EXPECT_EQ(moments, (Words{"a", "b", "c"}));
  EXPECT_EQ(tape, "app.tape");
}

// What the user reads when these words are wrong.
std::string complaint_about(const Words& words) {
  bool all = false, some = false, few = false;
  std::string output, by, name, tape;
  std::uint64_t rows = 0;
  double share = 0;
  OptionList list("try");
  list.flag("--all", all, "");
  list.flag("--some", some, "").excludes("--all");
  list.flag("--few", few, "").needs("--some");
  list.text("-o,--output FILE", output, "");
  list.number("-n,--rows N", rows, "").between(1, 9000);
  list.number("--share PERCENT", share, "").between(0, 100);
  list.text("--by WHAT", by, "").one_of({"function", "line"}).also({"func"});
  list.word("NAME", name).required();
  list.word("TAPE", tape);
  const Result<OptionList::Outcome> outcome = list.parse(words);
  return outcome.ok() ? "nothing" : outcome.error().sentence;
}

TEST(OptionList, WrongWordsAreNamedInOneSentence) {
  EXPECT_EQ(complaint_about({"a"}), "nothing");
  EXPECT_EQ(complaint_about({"a", "--nothing"}), "unknown option --nothing");
  EXPECT_EQ(complaint_about({"a", "--output"}), "--output needs a value");
  EXPECT_EQ(complaint_about({"a", "-o", "1", "--output=2"}), "--output may be given only once");
  EXPECT_EQ(complaint_about({"a", "b", "c"}), "unexpected argument 'c'");
  EXPECT_EQ(complaint_about({}), "NAME is required");
  EXPECT_EQ(complaint_about({"a", "--some", "--all"}), "--all excludes --some");
  EXPECT_EQ(complaint_about({"a", "--few"}), "--few requires --some");
}

TEST(OptionList, ANumberOutOfItsBoundsIsRefusedWithTheBounds) {
  EXPECT_EQ(complaint_about({"a", "--rows", "9000", "--share", "0.5"}), "nothing");
  for (const char* wrong : {"-5", "0", "9001", "x", "5x", "", "12345678901234567890", "1e3"}) {
    EXPECT_EQ(complaint_about({"a", "-n", wrong}),
              std::string("--rows must be a number from 1 to 9,000, not '") + wrong + "'");
  }
  for (const char* wrong : {"-1", "100.5", "nan", "inf", "half"}) {
    EXPECT_EQ(complaint_about({"a", "--share", wrong}),
              std::string("--share must be a number from 0 to 100, not '") + wrong + "'");
  }
}

TEST(OptionList, AMistypedWordIsAnsweredWithTheOneThatWasMeant) {
  EXPECT_EQ(complaint_about({"a", "--ouput", "x"}), "unknown option --ouput; did you mean '--output'?");
  EXPECT_EQ(complaint_about({"a", "--ouput=x"}), "unknown option --ouput; did you mean '--output'?");
  EXPECT_EQ(complaint_about({"a", "--by", "func"}), "nothing");
  EXPECT_EQ(complaint_about({"a", "--by", "fucntion"}),
            "--by must be function or line, not 'fucntion'; did you mean 'function'?");
  EXPECT_EQ(complaint_about({"a", "--by=colour"}), "--by must be function or line, not 'colour'");
}

TEST(OptionList, HelpIsAskedForWhateverElseIsWrong) {
  std::string name;
  OptionList list("try");
  list.word("NAME", name).required();
  EXPECT_EQ(list.parse({"--help"}).value(), OptionList::Outcome::WantsHelp);
}

TEST(OptionList, BehindTwoDashesEverythingIsAWord) {
  Words words;
  bool json = false;
  OptionList list("try");
  list.flag("--json", json, "");
  list.words("TAPE", words);
  expect_parsed(list, {"a", "--", "--json", "-1"});
  EXPECT_FALSE(json);
  EXPECT_EQ(words, (Words{"a", "--json", "-1"}));
}

TEST(OptionList, TellsWhatCompletionNeeds) {
  std::string format, tape;
  std::optional<std::string> rate;
  bool json = false;
  OptionList list("try");
  list.text("-f,--format FORMAT", format, "the look").one_of({"table", "csv"});
  list.optional_text("--cpu[=HZ]", rate, "");
  list.flag("--json", json, "");
  list.word("TAPE", tape);
  const Option& first = list.options().front();
  EXPECT_EQ(first.short_name, "-f");
  EXPECT_EQ(first.long_name, "--format");
  EXPECT_EQ(first.value_name, "FORMAT");
  EXPECT_EQ(first.help, "the look");
  EXPECT_EQ(first.choices, (Words{"table", "csv"}));
  EXPECT_EQ(first.value, OptionValue::Next);
  EXPECT_EQ(list.options()[1].value_name, "HZ");
  EXPECT_EQ(list.options()[1].value, OptionValue::Attached);
  EXPECT_EQ(list.options()[2].value, OptionValue::None);
  EXPECT_TRUE(list.options().back().is_word);
  EXPECT_EQ(list.options().back().value_name, "TAPE");
  EXPECT_TRUE(list.knows("--json"));
  EXPECT_FALSE(list.knows("--jso"));
  EXPECT_TRUE(list.takes_next_word("-f"));
  EXPECT_TRUE(list.takes_next_word("--format"));
  EXPECT_FALSE(list.takes_next_word("--cpu"));
  EXPECT_FALSE(list.takes_next_word("--json"));
  EXPECT_FALSE(list.takes_next_word("--nothing"));
}

} // namespace
} // namespace heaptape
