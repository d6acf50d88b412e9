#include "shell/all_commands.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "analysis/space/space_for_test.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kHeap = 0x5555'6000'0000;

class MapCommand : public testing::Test {
protected:
  MapCommand() {
    HT_CHECK(::mkdtemp(folder_.data()) != nullptr);
    test::Story story;
    story.make(kHeap + 0x2a0, 1000).make(kHeap + 0x5000, 24).end(kHeap + 0x2a0);
    test::SpaceTape tape(story.events());
    tape.add_maps(5, {{kHeap, kHeap + 0x21000, "rw-p", "[heap]"}});
    tape_ = tape.write();
    auto opened = Session::open(tape_);
    HT_CHECK(opened.ok());
    session_.emplace(std::move(opened).value());
    session_->style = {.width = 80, .color = false, .utf8 = false};
  }
  ~MapCommand() override {
    ::unlink(tape_.c_str());
    std::filesystem::remove_all(folder_);
  }

  // The answer, or the Error's sentence.
  std::string ask(const std::string& line) {
    StringPrinter out;
    const Result<> result = run_command(kMapCommand, *session_, split_words(line).value(), out);
    return result ? out.text() : result.error().sentence;
  }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  static std::string contents(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::string folder_ = "/tmp/heaptape-map-XXXXXX", tape_;
  std::optional<Session> session_;
};

TEST_F(MapCommand, ShowsTheRangesOfTheMoment) {
  const std::string picture = ask("");
  EXPECT_TRUE(picture.starts_with("main heap: 0x555560000000-0x555560021000\n"
                                  "  135.2 kB, 0.0 % used by 1 block; a cell is 128 bytes\n"))
      << picture;
  EXPECT_EQ(ask("*"), picture);
}

TEST_F(MapCommand, AddressIsTheArenaAroundIt) {
  EXPECT_NE(ask("0x555560005008").find("^ 0x555560005008\n"), std::string::npos);
  EXPECT_NE(ask("0x555560005008 --zoom page").find("\n> a 0x555560005000     24      2"), std::string::npos);
  EXPECT_EQ(ask("0x1234"), "0x1234 is not in a range that holds heap at this moment");
}

TEST_F(MapCommand, AnotherMomentLeavesTheCursor) {
  EXPECT_NE(ask("--at 2").find("used by 2 blocks"), std::string::npos);
  EXPECT_EQ(session_->event(), 3u);
  EXPECT_NE(ask("").find("used by 1 block;"), std::string::npos);
}

TEST_F(MapCommand, OptionsThatMakeNoSenseAreRefused) {
  EXPECT_EQ(ask("--zoom near"), "--zoom must be all, arena, 64k or page, not 'near'");
  EXPECT_EQ(ask("--by weight"), "--by must be density, size, age or stack, not 'weight'");
  EXPECT_EQ(ask("--zoom page"), "--zoom needs the address to look at: map ADDR --zoom page");
  EXPECT_EQ(ask("--over time"), "--over draws a picture; add --png FILE or --svg FILE");
  EXPECT_EQ(ask("--from 1"), "--from and --to choose the stretch of --over; a moment is chosen with --at");
  EXPECT_EQ(ask("--force"), "--force overwrites a picture; add --png FILE or --svg FILE");
  EXPECT_EQ(ask("--png a --svg b"), "choose one of --png and --svg");
  EXPECT_EQ(ask("--over time --png a --at 1"),
            "--over shows a stretch of the run; choose it with --from and --to instead of --at");
  EXPECT_NE(ask("--nonsense").find("--nonsense"), std::string::npos);
}

TEST_F(MapCommand, PicturesAreWrittenAndOnlyOverwrittenByForce) {
  const std::string path = file("heap.png");
  EXPECT_TRUE(ask("--png " + path).starts_with(path + " written, "));
  EXPECT_TRUE(contents(path).starts_with("\x89PNG"));
  EXPECT_EQ(ask("--svg " + path), path + " exists; choose another name, or overwrite it with --force");
  EXPECT_TRUE(contents(path).starts_with("\x89PNG"));
  EXPECT_TRUE(ask("--force --svg " + path).starts_with(path + " written, "));
  EXPECT_TRUE(contents(path).starts_with("<svg "));
  EXPECT_TRUE(ask("--over events --png " + file("over.png")).starts_with(file("over.png") + " written, "));
  EXPECT_EQ(files(), 2u);
}

TEST_F(MapCommand, PictureThatCannotBeDrawnLeavesNoFile) {
  session_->stop();
  EXPECT_EQ(ask("--over time --png " + file("heap.png")), "stopped; nothing was written\n");
  session_->go_on();
  EXPECT_EQ(ask("--over time --from 2 --to 1 --png " + file("heap.png")), "--from must be before --to");
  EXPECT_EQ(ask("--png /nowhere/at/all.png"), "cannot create /nowhere/at/all.png: No such file or directory");
  EXPECT_EQ(files(), 0u);
}

TEST_F(MapCommand, DashIsTheAnswerItself) { EXPECT_TRUE(ask("--svg -").starts_with("<svg ")); }

} // namespace
} // namespace heaptape
