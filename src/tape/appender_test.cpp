#include "tape/appender.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "tape/sample_tape.h"

namespace heaptape {
namespace {

using Bytes = std::vector<std::byte>;

class TapeFile {
public:
  explicit TapeFile(const Bytes& bytes) {
    const int fd = ::mkstemp(path_.data());
    HT_CHECK(fd >= 0);
    ::close(fd);
    write(bytes);
  }
  ~TapeFile() { ::unlink(path_.c_str()); }
  void write(const Bytes& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  std::uint64_t size() const {
    struct stat status {};
    HT_CHECK(::stat(path_.c_str(), &status) == 0);
    return static_cast<std::uint64_t>(status.st_size);
  }
  TapeReader open() const {
    auto tape = TapeReader::open(path_);
    HT_CHECK(tape.ok());
    return std::move(tape).value();
  }
  const std::string& path() const { return path_; }

private:
  std::string path_ = "/tmp/heaptape-appender-XXXXXX";
};

const Bytes kPayload(100, std::byte{7});

ErrorCode refusal_of(const std::string& path) {
  const auto appender = TapeAppender::open(path);
  HT_CHECK(!appender.ok());
  return appender.error().code;
}

TEST(TapeAppender, WhatIsAddedIsReadBackAndTheRestStays) {
  const Bytes bytes = SampleTape(100).bytes(25);
  const TapeFile file(bytes);
  std::uint64_t offset = 0;
  {
    auto appender = TapeAppender::open(file.path());
    ASSERT_TRUE(appender.ok());
    const auto part = appender.value().add(format::ChunkType::IndexPart, kPayload);
    ASSERT_TRUE(part.ok());
    offset = part.value();
    ASSERT_TRUE(appender.value().add(format::ChunkType::Index, Bytes(5, std::byte{9})).ok());
  }
  EXPECT_EQ(offset, bytes.size());
  const TapeReader tape = file.open();
  EXPECT_TRUE(tape.damage().empty());
  EXPECT_EQ(tape.event_count(), 100u);
  EXPECT_EQ(tape.index(), Bytes(5, std::byte{9}));
  EXPECT_EQ(tape.read_index_part(offset), kPayload);
  EXPECT_EQ(tape.read_index_part(offset + 1), std::nullopt);
  EXPECT_EQ(tape.read_index_part(64), std::nullopt); // a chunk of another type
  EXPECT_EQ(tape.read_index_part(~std::uint64_t{0} - 8), std::nullopt);
}

TEST(TapeAppender, OpeningWritesNothing) {
  Bytes bytes = SampleTape(100).bytes(25);
  bytes.resize(bytes.size() + 20); // torn
  const TapeFile file(bytes);
  ASSERT_TRUE(TapeAppender::open(file.path()).ok());
  EXPECT_EQ(file.size(), bytes.size());
}

TEST(TapeAppender, CutsOffATornTail) {
  const Bytes whole = SampleTape(100).bytes(25);
  const TapeFile file(whole);
  {
    auto appender = TapeAppender::open(file.path());
    ASSERT_TRUE(appender.ok());
    ASSERT_TRUE(appender.value().add(format::ChunkType::Index, kPayload).ok());
  }
  std::ifstream stream(file.path(), std::ios::binary);
  const std::vector<char> text((std::istreambuf_iterator<char>(stream)), {});
  for (std::size_t size = whole.size() + 1; size < text.size(); ++size) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    file.write(Bytes(first, first + size));
    auto appender = TapeAppender::open(file.path());
    ASSERT_TRUE(appender.ok());
    const auto offset = appender.value().add(format::ChunkType::Index, kPayload);
    ASSERT_TRUE(offset.ok());
    ASSERT_EQ(offset.value(), whole.size()) << size;
    ASSERT_EQ(file.size(), text.size()) << size;
  }
}

TEST(TapeAppender, LeavesDamageThatIsNoTornTailAlone) {
  Bytes bytes = SampleTape(100).bytes(25);
  bytes.resize(bytes.size() + 1000); // zeros, as after a power cut: who knows what they were
  const TapeFile file(bytes);
  auto appender = TapeAppender::open(file.path());
  ASSERT_TRUE(appender.ok());
  const auto offset = appender.value().add(format::ChunkType::Index, kPayload);
  ASSERT_TRUE(offset.ok());
  EXPECT_EQ(offset.value(), bytes.size());
  EXPECT_EQ(file.open().index(), kPayload);
}

TEST(TapeAppender, TakesTheOnesBeforeAwayWhenTheirIndexNeverCame) {
  const Bytes bytes = SampleTape(100).bytes(25);
  const TapeFile file(bytes);
  for (int i = 0; i < 3; ++i) {
    auto appender = TapeAppender::open(file.path());
    ASSERT_TRUE(appender.ok());
    const auto offset = appender.value().add(format::ChunkType::IndexPart, kPayload);
    ASSERT_TRUE(offset.ok());
    EXPECT_EQ(offset.value(), bytes.size());
  }
}

TEST(TapeAppender, CanTakeBackWhatItAdded) {
  const Bytes bytes = SampleTape(100).bytes(25);
  const TapeFile file(bytes);
  auto appender = TapeAppender::open(file.path());
  ASSERT_TRUE(appender.ok());
  ASSERT_TRUE(appender.value().add(format::ChunkType::Index, kPayload).ok());
  EXPECT_GT(file.size(), bytes.size());
  appender.value().undo();
  EXPECT_EQ(file.size(), bytes.size());
}

TEST(TapeAppender, OneAtATime) {
  const TapeFile file(SampleTape(100).bytes(25));
  const auto first = TapeAppender::open(file.path());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(refusal_of(file.path()), ErrorCode::Exists);
}

TEST(TapeAppender, ARenamedTapeIsReachedByItsDescriptorAndWhatTookItsPlaceIsNot) {
  const Bytes bytes = SampleTape(100).bytes(25);
  const TapeFile file(bytes), other(bytes);
  const UniqueFd fd(::open(file.path().c_str(), O_RDWR | O_CLOEXEC));
  const std::string moved = file.path() + ".moved";
  ASSERT_EQ(::rename(file.path().c_str(), moved.c_str()), 0);
  ASSERT_EQ(::symlink(other.path().c_str(), file.path().c_str()), 0);
  {
    auto appender = TapeAppender::open({file.path(), fd.get()});
    ASSERT_TRUE(appender.ok());
    ASSERT_TRUE(appender.value().add(format::ChunkType::Index, Bytes(5, std::byte{9})).ok());
  }
  EXPECT_EQ(other.size(), bytes.size());
  EXPECT_EQ(TapeReader::open(moved).value().index(), Bytes(5, std::byte{9}));
  ::unlink(moved.c_str());
}

TEST(TapeAppender, RefusesWhatIsNoFinishedTape) {
  Bytes bytes = SampleTape(100).bytes(25);
  EXPECT_EQ(refusal_of("/nonexistent/x.tape"), ErrorCode::NotFound);
  EXPECT_EQ(refusal_of(TapeFile(Bytes(1000)).path()), ErrorCode::NotATape);
  bytes[16] ^= std::byte{1};
  EXPECT_EQ(refusal_of(TapeFile(bytes).path()), ErrorCode::Malformed); // its header is damaged
  bytes[16] ^= std::byte{1};
  bytes.resize(bytes.size() - 10);
  EXPECT_EQ(refusal_of(TapeFile(bytes).path()), ErrorCode::Unsupported); // its summary is torn
}

} // namespace
} // namespace heaptape
