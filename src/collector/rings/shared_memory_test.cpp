#include "collector/rings/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace heaptape {
namespace {

CollectorOptions small_options() {
  CollectorOptions options;
  options.slot_count = 4;
  options.ring_records = 64;
  return options;
}

Result<SharedMemory> map_again(const SharedMemory& memory) {
  return SharedMemory::map_existing(UniqueFd(::dup(memory.fd())));
}

TEST(SharedMemory, CarriesTheOptionsToTheProgram) {
  CollectorOptions options = small_options();
  options.max_depth = 77;
  options.free_stacks = false;
  options.on_full = wire::OnFull::Drop;
  const SharedMemory memory = SharedMemory::create(options).value();
  EXPECT_EQ(memory.header().magic, wire::kMagic);
  EXPECT_EQ(memory.header().version, wire::kVersion);
  EXPECT_EQ(memory.header().config.max_depth, 77u);
  EXPECT_EQ(memory.header().config.free_stacks, 0u);
  EXPECT_EQ(memory.header().config.on_full, wire::OnFull::Drop);
  EXPECT_EQ(memory.header().collector_state.load(), wire::kCollectorAlive);
  EXPECT_NE(memory.key(), 0u);
  EXPECT_EQ(memory.slot(3).state.load(), static_cast<std::uint32_t>(wire::SlotState::Free));
  EXPECT_NE(::fcntl(memory.fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(SharedMemory, NoticesThatTheProgramWroteWhereItMustNot) {
  const SharedMemory memory = SharedMemory::create(small_options()).value();
  wire::Header& header = memory.header();
  header.losses[0] = 3;
  header.attached = header.pid = 1;
  EXPECT_FALSE(memory.is_written_over()) << "what a program writes";
  header.losses[wire::kLossCapacity - 1] = 1;
  EXPECT_TRUE(memory.is_written_over());
  header.losses[wire::kLossCapacity - 1] = 0;
  header.config.ring_records ^= 1;
  EXPECT_TRUE(memory.is_written_over());
}

TEST(SharedMemory, ALimitOnTheSizeOfFilesMakesItSmallOrIsASentence) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto limited = [&](rlim_t bytes) {
    const rlimit limit{bytes, before.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    Result<SharedMemory> memory = SharedMemory::create({});
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    return memory;
  };
  for (const rlim_t bytes : {2'000'000'000u, 100'000'000u, 10'000'000u}) {
    const Result<SharedMemory> memory = limited(bytes);
    ASSERT_TRUE(memory.ok()) << bytes << ": " << memory.error().sentence;
    EXPECT_LE(memory.value().config().total_bytes, bytes);
  }
  const Result<SharedMemory> none = limited(1'000'000);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::Exhausted);
}

TEST(SharedMemory, BothSidesSeeTheSameMemory) {
  const SharedMemory memory = SharedMemory::create(small_options()).value();
  const Result<SharedMemory> other = map_again(memory);
  ASSERT_TRUE(other.ok());
  memory.slot(2).tid = 42;
  EXPECT_EQ(other.value().slot(2).tid.load(), 42u);
  EXPECT_EQ(other.value().key(), memory.key());
}

TEST(SharedMemory, ALayoutThatDoesNotFitIsRefused) {
  const auto refused = [](auto&& spoil) {
    const SharedMemory memory = SharedMemory::create(small_options()).value();
    spoil(memory.header());
    return !map_again(memory).ok();
  };
  EXPECT_FALSE(refused([](wire::Header&) {}));
  EXPECT_TRUE(refused([](wire::Header& header) { header.magic = 1; }));
  EXPECT_TRUE(refused([](wire::Header& header) { header.version += 1; }));
  EXPECT_TRUE(refused([](wire::Header& header) { header.config.slot_count = 5000; }));
  EXPECT_TRUE(refused([](wire::Header& header) { header.config.ring_records = 63; }));
  EXPECT_TRUE(refused([](wire::Header& header) { header.config.rings += 8; }));
}

TEST(SharedMemory, AnotherFileIsRefused) {
  UniqueFd empty(::memfd_create("empty", MFD_CLOEXEC));
  EXPECT_FALSE(SharedMemory::map_existing(std::move(empty)).ok());
  EXPECT_FALSE(SharedMemory::map_existing(UniqueFd()).ok());
}

} // namespace
} // namespace heaptape
