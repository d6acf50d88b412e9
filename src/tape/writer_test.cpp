#include "tape/writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "tape/reader.h"
#include "tape/sample_tape.h"

namespace heaptape {
namespace {

// A folder of its own, removed in the end.
class WriterTest : public testing::Test {
protected:
  WriterTest() {
    std::string name = testing::TempDir() + "heaptape-writer-XXXXXX";
    HT_CHECK(::mkdtemp(name.data()) != nullptr);
    folder = name;
  }
  ~WriterTest() override { std::filesystem::remove_all(folder); }

  std::string path(const char* name = "a.tape") const { return folder / name; }
  static unsigned mode_of(const std::string& file) {
    struct stat status {};
    HT_CHECK(::stat(file.c_str(), &status) == 0);
    return status.st_mode & 07777;
  }

  std::filesystem::path folder;
};

TEST_F(WriterTest, ATapeIsPrivateWhateverTheUmask) {
  const mode_t before = ::umask(0);
  const auto writer = TapeWriter::create({.path = path()});
  ::umask(before);
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(mode_of(path()), 0600u);
}

TEST_F(WriterTest, RoomForTheEndIsSetAsideWhileATapeIsWrittenAndGivenBack) {
  const auto unused_bytes = [&] {
    struct stat status {};
    HT_CHECK(::stat(path().c_str(), &status) == 0);
    return static_cast<std::int64_t>(status.st_blocks) * 512 - static_cast<std::int64_t>(status.st_size);
  };
  {
    auto writer = TapeWriter::create({.path = path()});
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer.value().add_meta({{"program", "app"}}).ok());
    const int fd = ::open(path("probe").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    const bool can_reserve = ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 100) == 0;
    ::close(fd);
    if (!can_reserve) GTEST_SKIP() << "this file system cannot set room aside";
    EXPECT_GE(unused_bytes(), 12 * 1024);
  }
  EXPECT_LT(unused_bytes(), 8 * 1024);
}

TEST_F(WriterTest, AReplacedFileBecomesPrivateAndLosesItsContents) {
  std::ofstream(path()) << std::string(1000, 'x');
  ASSERT_EQ(::chmod(path().c_str(), 0644), 0);
  ASSERT_TRUE(TapeWriter::create({.path = path(), .overwrite = true}).ok());
  EXPECT_EQ(mode_of(path()), 0600u);
  EXPECT_EQ(std::filesystem::file_size(path()), sizeof(format::FileHeader));
}

TEST_F(WriterTest, AnExistingFileIsLeftAloneAndTheErrorNamesTheWayOut) {
  std::ofstream(path()) << "precious";
  const auto writer = TapeWriter::create({.path = path()});
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().code, ErrorCode::Exists);
  EXPECT_NE(writer.error().sentence.find(path()), std::string::npos);
  EXPECT_NE(writer.error().sentence.find("--force"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(path()), 8u);
}

TEST_F(WriterTest, APlaceThatCannotBeWrittenToIsNamed) {
  const auto missing = TapeWriter::create({.path = path("no/such/folder.tape")});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
  EXPECT_NE(missing.error().sentence.find("no/such/folder.tape"), std::string::npos);
  const auto directory = TapeWriter::create({.path = folder, .overwrite = true});
  ASSERT_FALSE(directory.ok());
  EXPECT_NE(directory.error().sentence.find("folder"), std::string::npos);
}

TEST_F(WriterTest, ALinkAPipeAndADeviceAreRefusedAndLeftAsTheyAre) {
  std::ofstream(path("target")) << "precious";
  ASSERT_EQ(::symlink("target", path("link").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", path("loose").c_str()), 0);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& odd : {path("link"), path("loose"), path("pipe"), std::string("/dev/null")}) {
    for (const bool overwrite : {false, true}) {
      const auto writer = TapeWriter::create({.path = odd, .overwrite = overwrite});
      ASSERT_FALSE(writer.ok()) << odd;
      EXPECT_EQ(writer.error().code, ErrorCode::Usage) << writer.error().sentence;
    }
  }
  EXPECT_EQ(std::filesystem::file_size(path("target")), 8u);
  EXPECT_FALSE(std::filesystem::exists(path("nowhere")));
}

TEST_F(WriterTest, TwoWritersThatReplaceTheSameNameDoNotMix) {
  auto first = TapeWriter::create({.path = path(), .overwrite = true, .pid = 1});
  auto second = TapeWriter::create({.path = path(), .overwrite = true, .pid = 2});
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE(second.value().add_meta({{"name", "second"}}).ok() && first.value().add_meta({{"name", "first"}}).ok());
  const TapeReader tape = TapeReader::open(path()).value();
  EXPECT_TRUE(tape.damage().empty());
  EXPECT_EQ(tape.header().pid, 2u);
  EXPECT_EQ(tape.meta().at("name"), "second");
}

// Sets the largest size a file may have, for this process, until the end of the scope.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    HT_CHECK(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limit{bytes, before_.rlim_max};
    HT_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(WriterTest, WhenThereIsNoRoomTheTapeEndsAtItsLastWholeBlockAndALaterSmallBlockMayFit) {
  const SampleTape sample(3000);
  auto created = TapeWriter::create({.path = path()});
  ASSERT_TRUE(created.ok());
  TapeWriter& writer = created.value();
  ASSERT_TRUE(writer.add_stacks(StackId(1), sample.stacks).ok());
  const std::uint64_t whole = writer.bytes_written();
  EventEncoder encoder;
  for (std::size_t i = 0; i < sample.events.size(); ++i) encoder.add(sample.events[i], 0);
  {
    const FileSizeLimit limit(whole + 500);
    const auto written = writer.add_events(encoder);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().code, ErrorCode::Io);
    EXPECT_NE(written.error().sentence.find(path()), std::string::npos);
    EXPECT_EQ(writer.bytes_written(), whole);
    EXPECT_EQ(std::filesystem::file_size(path()), whole);
    EXPECT_TRUE(writer.add_summary(sample.summary).ok());
  }
  const auto reader = TapeReader::open(path());
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(reader.value().damage().empty());
  EXPECT_EQ(reader.value().event_count(), 0u);
  EXPECT_EQ(reader.value().summary(), sample.summary);
}

TEST_F(WriterTest, MoreThanOneBlockHoldsIsSpreadOverSeveral) {
  std::vector<StackNode> nodes(600'000);
  for (std::uint32_t i = 1; i < nodes.size(); ++i) nodes[i] = {StackId(i / 2), i * std::uint64_t{2'654'435'761}};
  std::vector<Sample> samples(70'000);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].time_us = i;
  const Meta meta{{"a", std::string(2'000'000, 'a')}, {"b", std::string(2'000'000, 'b')}, {"c", "c"}};
  {
    auto writer = TapeWriter::create({.path = path()});
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer.value().add_stacks(StackId(1), std::span(nodes).subspan(1)).ok());
    ASSERT_TRUE(writer.value().add_samples(samples).ok());
    ASSERT_TRUE(writer.value().add_meta(meta).ok());
    EXPECT_EQ(writer.value().bytes_written(), std::filesystem::file_size(path()));
  }
  const auto reader = TapeReader::open(path());
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(reader.value().damage().empty());
  EXPECT_EQ(reader.value().stacks(), nodes);
  EXPECT_EQ(reader.value().samples(), samples);
  EXPECT_EQ(reader.value().meta(), meta);
  std::map<std::string, std::uint64_t> chunks;
  for (const ChunkTypeSize& size : reader.value().chunk_sizes()) chunks[size.name] = size.chunks;
  EXPECT_EQ(chunks, (std::map<std::string, std::uint64_t>{{"META", 3}, {"SAMPLES", 2}, {"STACKS", 2}}));
}

TEST_F(WriterTest, AValueThatNoBlockCanHoldIsRefusedAndTheTapeStaysGood) {
  auto writer = TapeWriter::create({.path = path()});
  ASSERT_TRUE(writer.ok());
  EXPECT_FALSE(writer.value().add_meta({{"huge", std::string(17 << 20, 'x')}}).ok());
  ASSERT_TRUE(writer.value().add_meta({{"small", "x"}}).ok());
  const auto reader = TapeReader::open(path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader.value().meta(), (Meta{{"small", "x"}}));
}

TEST_F(WriterTest, ATapeCanBeReadWhileItIsWritten) {
  const SampleTape sample(100);
  auto writer = TapeWriter::create({.path = path()});
  ASSERT_TRUE(writer.ok());
  EventEncoder encoder;
  for (std::size_t i = 0; i < 50; ++i) encoder.add(sample.events[i], 0);
  ASSERT_TRUE(writer.value().add_events(encoder).ok());
  const auto early = TapeReader::open(path());
  for (std::size_t i = 50; i < 100; ++i) encoder.add(sample.events[i], 0);
  ASSERT_TRUE(writer.value().add_events(encoder).ok());
  const auto late = TapeReader::open(path());
  ASSERT_TRUE(early.ok() && late.ok());
  EXPECT_EQ(early.value().event_count(), 50u);
  EXPECT_EQ(late.value().event_count(), 100u);
  std::size_t events = 0;
  for (EventCursor cursor = early.value().events(); cursor.next() != nullptr;) ++events;
  EXPECT_EQ(events, 50u);
}

TEST_F(WriterTest, ATapeThatShrinksWhileItIsReadGivesFewerEventsAndNoCrash) {
  const SampleTape sample(100);
  auto writer = TapeWriter::create({.path = path()});
  ASSERT_TRUE(writer.ok());
  EventEncoder encoder;
  for (std::size_t i = 0; i < 50; ++i) encoder.add(sample.events[i], 0);
  ASSERT_TRUE(writer.value().add_events(encoder).ok());
  const auto reader = TapeReader::open(path());
  ASSERT_TRUE(reader.ok());
  std::filesystem::resize_file(path(), 100);
  EventCursor cursor = reader.value().events();
  EXPECT_EQ(cursor.next(), nullptr);
  EXPECT_EQ(cursor.skipped_chunks(), 1u);
}

TEST_F(WriterTest, WhatCannotBeOpenedIsSaidEachInItsOwnWords) {
  std::ofstream(path("empty")).flush();
  std::ofstream(path("short")) << "HEAPTAPE";
  std::ofstream(path("foreign")) << std::string(1000, 'x');
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const std::pair<const char*, const char*> cases[] = {
      {"missing", "no such file"},        {"empty", "is empty"},          {"short", "ends inside its header"},
      {"foreign", "not a heaptape tape"}, {"pipe", "not a regular file"}, {"", "is a directory"}};
  for (const auto& [name, words] : cases) {
    const auto reader = TapeReader::open(path(name));
    ASSERT_FALSE(reader.ok()) << name;
    EXPECT_NE(reader.error().sentence.find(words), std::string::npos) << reader.error().sentence;
    EXPECT_NE(reader.error().sentence.find(path(name)), std::string::npos) << reader.error().sentence;
  }
}

} // namespace
} // namespace heaptape
