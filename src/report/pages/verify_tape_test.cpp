#include "report/pages/verify_tape.h"

#include <gtest/gtest.h>

#include "base/number_text.h"
#include "tape/sample_tape.h"

namespace heaptape {
namespace {

using Bytes = std::vector<std::byte>;

TapeReader read(const Bytes& bytes) {
  Result<TapeReader> reader = TapeReader::from_bytes(bytes, "sample.tape");
  HT_CHECK(reader.ok());
  return std::move(reader).value();
}

// What was skipped of the tape; that random events are odd is another matter.
std::vector<std::string> skipped(const Bytes& bytes) {
  std::vector<std::string> sentences;
  for (const Problem& problem : verify_tape(read(bytes)).problems)
    if (problem.sentence.find(" skipped ") != std::string::npos) sentences.push_back(problem.sentence);
  return sentences;
}

TEST(VerifyTape, ReadsEveryPageOfSnapshots) {
  Bytes bytes = SampleTape(100).bytes(25, SampleTape::With::Memory);
  EXPECT_EQ(skipped(bytes), std::vector<std::string>());
  const PagesChunk chunk = read(bytes).pages_chunks()[0];
  bytes[static_cast<std::size_t>(chunk.offset + chunk.bytes - 3)] ^= std::byte{0x55};
  EXPECT_EQ(skipped(bytes),
            std::vector<std::string>{count_of(chunk.bytes, "byte") + " skipped at offset " +
                                     std::to_string(chunk.offset) + ": 2 pages of snapshots cannot be read"});
}

// Also in a chunk that only some command asks for.
TEST(VerifyTape, NoFlippedByteOfAPayloadGoesUnnoticed) {
  const Bytes whole = SampleTape(100).bytes(25, SampleTape::With::Memory);
  for (std::size_t at = 64; at < whole.size(); at += 7) {
    Bytes bytes = whole;
    bytes[at] ^= std::byte{0x08};
    EXPECT_FALSE(skipped(bytes).empty()) << "byte " << at;
  }
}

} // namespace
} // namespace heaptape
