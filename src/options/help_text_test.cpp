#include "options/help_text.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape try [options] [TAPE]", .purpose = "Tries something.", .more = "Examples:\n"};

TEST(HelpText, OptionsStandBesideTheirWrappedDescriptions) {
  std::string file;
  std::optional<std::string> picture, rate;
  bool flag = false;
  OptionList list("try");
  list.text("-o,--output FILE", file, "where the words of a rather long description that needs more than one line go");
  list.flag("--all", flag, "everything");
  list.optional_text("--svg [FILE]", picture, "a picture");
  list.optional_text("--cpu[=HZ]", rate, "also --cpu=HZ");
  list.flag("--a-rather-long-option", flag, "below its name");
  list.flag("--secret", flag, "nobody's business").hidden();
  list.word("TAPE", file);
  EXPECT_EQ(help_text(list, kHelp), R"(usage: heaptape try [options] [TAPE]

Tries something.

Options:
  -o, --output FILE     where the words of a rather long description that needs
                        more than one line go
      --all             everything
      --svg [FILE]      a picture
      --cpu             also --cpu=HZ
      --a-rather-long-option
                        below its name
  -h, --help            show this help

Examples:
)");
}

TEST(HelpText, ParagraphsAreBrokenAnewAndExamplesAreNot) {
  const std::string sentence = "Words that fill a line of eighty columns to its very end and even a bit further";
  const std::string list =
      "Examples:\n  heaptape record --with-a-very-long-option --and-another PROGRAM ARGUMENT ARGUMENT ARGUMENT";
  EXPECT_EQ(wrapped_text(sentence + "\nthan that.\n\n" + list + "\n"), sentence + "\nthan that.\n\n" + list + "\n");
  EXPECT_EQ(wrapped_text("Much " + sentence + "\n"), "Much " + sentence.substr(0, 71) + "\nfurther\n");
}

TEST(HelpText, AProgramGetsTheOptionsAsATable) {
  std::string format, tape;
  bool secret = false;
  std::optional<std::string> rate;
  OptionList list("try");
  list.text("-f,--format FORMAT", format, "the look").one_of({"table", "csv"});
  list.flag("--secret", secret, "").hidden();
  list.optional_text("--cpu[=HZ]", rate, "how often");
  list.word("TAPE", tape);
  EXPECT_EQ(list.parse({"--list-options"}).value(), OptionList::Outcome::WantsTable);
  EXPECT_EQ(options_table(list), "-f\t--format\tnext\tFORMAT\ttable csv\tthe look\n"
                                 "\t--cpu\tattached\tHZ\t\thow often\n"
                                 "\t\tword\tTAPE\t\t\n");
}

} // namespace
} // namespace heaptape
