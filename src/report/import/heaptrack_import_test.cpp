#include "report/import/heaptrack_import.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <optional>

#include "report/names/stack_names.h"
#include "tape/reader.h"

namespace heaptape {
namespace {

// Two blocks of one stack, one of them freed, and one of another.
constexpr std::string_view kHead = "v 10400 3\nX ./app --fast\nI 1000 5e27ec\n";
constexpr std::string_view kStacks = "s 8 /bin/app\ns 4 main\ns 5 app.c\ns 4 grow\n"
                                     "i 401000 1 2 3 a\nt 1 0\ni 402000 1 4 3 14 2 3 b\nt 2 1\n";
constexpr std::string_view kEvents = "a 64 2\n+ 0\nc a\nR 10\na 20 1\n+ 1\n+ 0\n- 0\nc 14\n";

class Imported {
public:
  explicit Imported(std::string file) : file_(std::move(file)) {
    const int fd = ::mkstemp(path_.data());
    HT_CHECK(fd >= 0);
    ::close(fd);
    auto tape = TapeWriter::create({.path = path_, .overwrite = true});
    HT_CHECK(tape.ok());
    // Three bytes at a time, so that nothing may depend on how they come.
    UnpackedLines lines(
        [&](char* room, std::size_t size) -> Result<std::size_t> {
          const std::size_t count = std::min({size, std::size_t{3}, file_.size() - at_});
          std::copy_n(file_.data() + at_, count, room);
          at_ += count;
          return count;
        },
        "app.zst");
    result.emplace(import_heaptrack(lines, "app.zst", tape.value()));
  }
  Imported(const Imported&) = delete;
  Imported& operator=(const Imported&) = delete;
  ~Imported() { ::unlink(path_.c_str()); }

  TapeReader tape() const {
    auto opened = TapeReader::open(path_);
    HT_CHECK(opened.ok());
    return std::move(opened).value();
  }
  std::string sentence() const { return result->ok() ? "" : result->error().sentence; }

  std::optional<Result<ImportedTape>> result;

private:
  std::string file_;
  std::size_t at_ = 0;
  std::string path_ = "/tmp/heaptape-import-XXXXXX";
};

std::string whole() { return std::string(kHead) + std::string(kStacks) + std::string(kEvents); }

TEST(HeaptrackImport, TotalsArePeakAndLiveOfTheFile) {
  const Imported imported(whole());
  ASSERT_TRUE(imported.result->ok()) << imported.sentence();
  const Summary& summary = imported.result->value().summary;
  EXPECT_EQ(summary.events, 4u);
  EXPECT_EQ(summary.allocated_blocks, 3u);
  EXPECT_EQ(summary.allocated_bytes, 0x64u * 2 + 0x20);
  EXPECT_EQ(summary.peak_bytes, 0x64u * 2 + 0x20);
  EXPECT_EQ(summary.live_bytes, 0x64u + 0x20);
  EXPECT_EQ(summary.duration_us, 20'000u);
}

TEST(HeaptrackImport, StacksKeepTheirNamesLinesAndModules) {
  const Imported imported(whole());
  ASSERT_TRUE(imported.result->ok()) << imported.sentence();
  const TapeReader tape = imported.tape();
  StackNames names(tape.modules(), tape.stacks(), tape.symbols(), NameForm::Full);
  const std::vector<FrameId> frames = names.frames_of(tape.events().next()->stack);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(names.function(frames[0]), "grow");
  EXPECT_EQ(names[frames[0]].line, 0x14u);
  EXPECT_TRUE(names[frames[0]].inlined);
  EXPECT_EQ(names.function(frames[1]), "main");
  EXPECT_EQ(names[frames[2]].line, 0xau);
  EXPECT_EQ(names.text(names[frames[2]].module_name), "app");
  ASSERT_EQ(tape.samples().size(), 1u);
  EXPECT_EQ(tape.samples()[0].rss_bytes, 0x10u * 4096);
  EXPECT_EQ(tape.meta().at("command"), std::string("./app\0--fast\0", 13));
}

TEST(HeaptrackImport, LiveBlocksNeverShareAnAddress) {
  const Imported imported(whole());
  const TapeReader tape = imported.tape();
  std::vector<Event> events;
  EventCursor cursor = tape.events();
  while (const Event* event = cursor.next()) events.push_back(*event);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_NE(events[0].address, events[2].address);
  EXPECT_GE(events[1].address, events[0].address + 0x64);
  EXPECT_EQ(events[3].kind, EventKind::Free);
  EXPECT_EQ(events[3].address, events[2].address);
}

TEST(HeaptrackImport, PackedFilesReadLikePlainOnes) {
  const std::string plain = whole();
  std::string zstd(ZSTD_compressBound(plain.size()), '\0');
  zstd.resize(ZSTD_compress(zstd.data(), zstd.size(), plain.data(), plain.size(), 1));
  EXPECT_EQ(Imported(zstd).result->value().summary, Imported(plain).result->value().summary);

  std::string gzip(plain.size() + 100, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string input = plain;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(gzip.data());
  stream.avail_out = static_cast<uInt>(gzip.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  gzip.resize(stream.total_out);
  deflateEnd(&stream);
  EXPECT_EQ(Imported(gzip).result->value().summary, Imported(plain).result->value().summary);
}

TEST(HeaptrackImport, AFileThatBreaksOffGivesWhatCameBefore) {
  const std::string plain = whole();
  std::string zstd(ZSTD_compressBound(plain.size()), '\0');
  zstd.resize(ZSTD_compress(zstd.data(), zstd.size(), plain.data(), plain.size(), 1));
  const Imported torn_line(plain + "a 12");
  ASSERT_TRUE(torn_line.result->ok()) << torn_line.sentence();
  EXPECT_EQ(torn_line.result->value().cut_off, "app.zst is cut off");
  EXPECT_EQ(torn_line.result->value().summary.events, 4u);
  EXPECT_EQ(Imported(zstd.substr(0, zstd.size() / 2)).sentence(), "app.zst is cut off");
}

TEST(HeaptrackImport, OlderFilesHaveTextsWithoutLengths) {
  const Imported imported("v 10200\ns /bin/my app\ni 401000 1\nt 1 0\na 8 1\n+ 0\n");
  ASSERT_TRUE(imported.result->ok()) << imported.sentence();
  ASSERT_EQ(imported.tape().modules().size(), 1u);
  EXPECT_EQ(imported.tape().modules()[0].path, "/bin/my app");
}

TEST(HeaptrackImport, CodeLoadedAtAnAddressUsedBeforeKeepsItsOwnName) {
  const Imported imported("v 10400 3\ns 4 /a/x\ns 4 /b/y\ns 3 one\ns 3 two\ni 5000 1 3\ni 5000 2 4\nt 1 0\nt 2 0\n"
                          "a 8 1\n+ 0\na 8 2\n+ 1\n");
  ASSERT_TRUE(imported.result->ok()) << imported.sentence();
  const TapeReader tape = imported.tape();
  StackNames names(tape.modules(), tape.stacks(), tape.symbols(), NameForm::Full);
  EXPECT_EQ(names.function(names.frames_of(StackId(1)).at(0)), "one");
  EXPECT_EQ(names.function(names.frames_of(StackId(2)).at(0)), "two");
}

TEST(HeaptrackImport, BadFilesAreRefusedInOneSentence) {
  const std::string head(kHead);
  EXPECT_EQ(Imported("").sentence(), "app.zst is empty");
  EXPECT_NE(Imported("hello\n").sentence().find("is not a heaptrack data file"), std::string::npos);
  EXPECT_NE(Imported("v 10600 9\n").sentence().find("newer heaptrack"), std::string::npos);
  const std::string at_four = "app.zst is damaged: line 4 makes no sense";
  for (const char* line : {"t 1 0\n", "a 10 7\n", "+ 0\n", "- 0\n", "s ff short\n", "i 10\n", "c soon\n", "t 0 9\n"}) {
    EXPECT_EQ(Imported(head + line).sentence(), at_four) << line;
  }
  EXPECT_EQ(Imported(std::string("\x28\xb5\x2f\xfdgarbage")).sentence(), "app.zst is damaged: it cannot be unpacked");
}

} // namespace
} // namespace heaptape
