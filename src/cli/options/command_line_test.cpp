#include "cli/options/command_line.h"

#include <gtest/gtest.h>

#include "cli/terminal/exit_codes.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape try [options] [TAPE]", .purpose = "Tries something.", .more = "Examples:\n"};

TEST(CommandLine, HelpListsOptionsBesideTheirWrappedDescriptions) {
  std::string file;
  bool flag = false;
  CLI::App app("", "try");
  app.set_help_flag("-h,--help", "show this help");
  app.add_option("-o,--output", file, "where the words of a rather long description that needs more than one line go")
      ->type_name("FILE");
  app.add_flag("--all", flag, "everything");
  app.add_option("TAPE", file);
  EXPECT_EQ(help_text(app, kHelp), R"(usage: heaptape try [options] [TAPE]

Tries something.

Options:
  -h, --help            show this help
  -o, --output FILE     where the words of a rather long description that needs
                        more than one line go
      --all             everything

Examples:
)");
}

TEST(CommandLine, ParagraphsAreBrokenAnewAndExamplesAreNot) {
  const std::string sentence = "Words that fill a line of eighty columns to its very end and even a bit further";
  const std::string list =
      "Examples:\n  heaptape record --with-a-very-long-option --and-another PROGRAM ARGUMENT ARGUMENT ARGUMENT";
  EXPECT_EQ(wrapped_text(sentence + "\nthan that.\n\n" + list + "\n"), sentence + "\nthan that.\n\n" + list + "\n");
  EXPECT_EQ(wrapped_text("Much " + sentence + "\n"), "Much " + sentence.substr(0, 71) + "\nfurther\n");
}

// What the user reads when these options are wrong.
std::string complaint_about(std::vector<const char*> words) {
  bool flag = false;
  std::string text;
  CLI::App app("", "try");
  app.add_flag("--all", flag);
  app.add_option("-o,--output", text)->type_name("FILE");
  app.add_option("TAPE", text);
  testing::internal::CaptureStderr();
  EXPECT_EQ(parse(app, kHelp, words), kTrouble);
  return testing::internal::GetCapturedStderr();
}

TEST(CommandLine, WrongOptionsAreNamedInOneLine) {
  const std::string hint = "; 'heaptape try --help' lists the options\n";
  EXPECT_EQ(complaint_about({"--nothing"}), "heaptape: unknown option --nothing" + hint);
  EXPECT_EQ(complaint_about({"--output"}), "heaptape: --output needs a value" + hint);
  EXPECT_EQ(complaint_about({"a", "b"}), "heaptape: one argument too many: b" + hint);
}

TEST(CommandLine, GoodOptionsLetTheCommandGoOn) {
  bool flag = false;
  CLI::App app("", "try");
  app.add_flag("--all", flag);
  const char* good[] = {"--all"};
  EXPECT_EQ(parse(app, kHelp, good), std::nullopt);
  EXPECT_TRUE(flag);
}

} // namespace
} // namespace heaptape::cli
