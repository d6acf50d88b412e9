#include "collector/contents/snapshot_taker.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

#include "collector/contents/forked_child_for_test.h"
#include "collector/contents/memory_plan.h"
#include "collector/contents/page_tracker.h"
#include "collector/contents/program_memory.h"
#include "collector/contents/snapshot_tape_for_test.h"
#include "collector/observe/maps_text.h"
#include "collector/observe/proc_files.h"
#include "tape/memory_snapshot_codec.h"

namespace heaptape {
namespace {

constexpr char kSecret[] = "not for anybody else";
constexpr std::uint32_t kBecomeSecret = ~std::uint32_t{0};
constexpr std::size_t kSize = std::size_t{4} << 20;

// A child whose memory is known: at `memory` the word i * 3 + 1 at place i, and pages that were never touched behind it; and a secret. It adds 1 to the first
// word of the page whose number it is sent, and answers. At kBecomeSecret another page becomes one.
class Child {
public:
  Child() {
    memory_ = static_cast<std::uint64_t*>(
        ::mmap(nullptr, 2 * kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    secret_ =
        static_cast<char*>(::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::madvise(secret_, kPageBytes, MADV_DONTDUMP);
    late_secret_ =
        static_cast<char*>(::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(::pipe(to_), 0);
    EXPECT_EQ(::pipe(from_), 0);
    pid_ = ::fork();
    if (pid_ == 0) run();
    std::uint32_t ready = 0;
    EXPECT_EQ(::read(from_[0], &ready, sizeof ready), static_cast<ssize_t>(sizeof ready));
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    for (const int fd : {to_[0], to_[1], from_[0], from_[1]}) ::close(fd);
    ::munmap(memory_, 2 * kSize);
    ::munmap(secret_, kPageBytes);
    ::munmap(late_secret_, kPageBytes);
  }

  pid_t pid() const { return pid_; }
  std::uint64_t address(std::size_t page = 0) const {
    return reinterpret_cast<std::uint64_t>(memory_) + page * kPageBytes;
  }
  std::uint64_t secret() const { return reinterpret_cast<std::uint64_t>(secret_); }
  std::uint64_t late_secret() const { return reinterpret_cast<std::uint64_t>(late_secret_); }
  std::uint64_t untouched() const { return address() + kSize; }
  // The first word of that page is one more afterwards. Also shows that the child still runs, and that its read() was resumed.
  bool change(std::uint32_t page) {
    std::uint32_t answer = ~page;
    return ::write(to_[1], &page, sizeof page) == sizeof page &&
           ::read(from_[0], &answer, sizeof answer) == sizeof answer && answer == page;
  }

private:
  [[noreturn]] void run() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (std::size_t i = 0; i < kSize / 8; ++i) memory_[i] = i * 3 + 1;
    std::strcpy(secret_, kSecret);
    std::strcpy(late_secret_, "for everybody");
    std::uint32_t page = 0;
    (void)!::write(from_[1], &page, sizeof page);
    while (::read(to_[0], &page, sizeof page) == sizeof page) {
      if (page == kBecomeSecret) {
        ::madvise(late_secret_, kPageBytes, MADV_DONTDUMP);
        std::strcpy(late_secret_, kSecret);
      } else {
        ++memory_[page * (kPageBytes / 8)];
      }
      (void)!::write(from_[1], &page, sizeof page);
    }
    ::_exit(0);
  }

  std::uint64_t* memory_ = nullptr;
  char* secret_ = nullptr;
  char* late_secret_ = nullptr;
  int to_[2] = {-1, -1}, from_[2] = {-1, -1};
  pid_t pid_ = 0;
};

bool has_secret(const Tape& tape) {
  return std::ranges::any_of(
      tape.pages, [](const auto& page) { return std::memcmp(page.second.data(), kSecret, sizeof kSecret) == 0; });
}

class TakesSnapshots : public testing::TestWithParam<SnapshotMethod> {};

TEST_P(TakesSnapshots, WithAllTheMemoryOfTheProgramAndTheNextOneWithWhatChanged) {
  Child child;
  Tape tape;
  SnapshotTaker taker(child.pid(), tape);
  const Result<MemorySnapshot> first = taker.take({.name = "one", .method = GetParam()});
  if (!first && first.error().code == ErrorCode::Denied) GTEST_SKIP() << first.error().sentence;
  ASSERT_TRUE(first) << first.error().sentence;
  EXPECT_TRUE(tape.attended && tape.let_gone);
  EXPECT_EQ(first.value().event, 5u);
  ASSERT_FALSE(first.value().threads.empty()); // a sanitizer has one of its own
  EXPECT_TRUE(first.value().threads[0].stopped);
  const std::vector<PageRun>& runs = first.value().runs;
  for (std::size_t i = 0; i < kSize / 8; i += 511)
    ASSERT_EQ(word_at(tape, runs, child.address() + i * 8), i * 3 + 1) << i;
  ASSERT_NE(run_at(runs, child.untouched()), nullptr);
  EXPECT_EQ(run_at(runs, child.untouched())->state, PageState::Zero);
  ASSERT_NE(run_at(runs, child.secret()), nullptr);
  EXPECT_EQ(run_at(runs, child.secret())->state, PageState::LeftOut);
  EXPECT_FALSE(has_secret(tape));

  ASSERT_TRUE(child.change(3));
  ASSERT_TRUE(child.change(3));
  const Result<MemorySnapshot> second = taker.take({.name = "two", .method = GetParam()});
  ASSERT_TRUE(second) << second.error().sentence;
  EXPECT_FALSE(second.value().whole);
  EXPECT_LT(second.value().new_pages, kSanitized ? 1024u : 64u);
  const std::vector<PageRun> now = apply_page_changes(apply_page_changes({}, runs), second.value().runs);
  EXPECT_EQ(word_at(tape, now, child.address(3)), 3 * 512 * 3 + 3u);
  EXPECT_EQ(word_at(tape, now, child.address(4)), 4 * 512 * 3 + 1u);
  EXPECT_TRUE(child.change(4)) << "it runs on";
}

TEST_P(TakesSnapshots, WithoutWhatHasBecomeASecretInTheMeantime) {
  Child child;
  Tape tape;
  SnapshotTaker taker(child.pid(), tape);
  const Result<MemorySnapshot> first = taker.take({.name = "one", .method = GetParam()});
  if (!first && first.error().code == ErrorCode::Denied) GTEST_SKIP() << first.error().sentence;
  ASSERT_TRUE(first) << first.error().sentence;
  ASSERT_NE(run_at(first.value().runs, child.late_secret()), nullptr);
  EXPECT_EQ(run_at(first.value().runs, child.late_secret())->state, PageState::Stored);
  ASSERT_TRUE(child.change(kBecomeSecret));
  const Result<MemorySnapshot> second = taker.take({.name = "two", .method = GetParam()});
  ASSERT_TRUE(second) << second.error().sentence;
  const std::vector<PageRun> now = apply_page_changes(apply_page_changes({}, first.value().runs), second.value().runs);
  ASSERT_NE(run_at(now, child.late_secret()), nullptr);
  EXPECT_EQ(run_at(now, child.late_secret())->state, PageState::LeftOut);
  EXPECT_FALSE(has_secret(tape));
}

TEST_P(TakesSnapshots, OfAProgramWhoseFirstThreadHasEnded) {
  auto* const word = static_cast<std::uint64_t*>(
      ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const ForkedChild child([&](ForkedChild::Voice voice) {
    *word = 4711;
    std::thread([voice] {
      voice.say(1);
      (void)voice.listen();
      ::_exit(0);
    }).detach();
    ::syscall(SYS_exit, 0);
  });
  ASSERT_EQ(child.hear(), 1);
  child.wait_until_it_is('Z');
  Tape tape;
  SnapshotTaker taker(child.pid(), tape);
  const Result<MemorySnapshot> taken = taker.take({.name = "one", .method = GetParam()});
  if (!taken && taken.error().code == ErrorCode::Denied) GTEST_SKIP() << taken.error().sentence;
  ASSERT_TRUE(taken) << taken.error().sentence;
  EXPECT_EQ(word_at(tape, taken.value().runs, reinterpret_cast<std::uint64_t>(word)), 4711u);
  ::munmap(word, kPageBytes);
}

INSTANTIATE_TEST_SUITE_P(Methods, TakesSnapshots, testing::ValuesIn(methods()));

// A child that does nothing but allocate, fill, free, map and unmap, in two threads, so that every round of copying finds something new.
pid_t start_churn() {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto churn = [](void* seed) -> void* {
    auto random = reinterpret_cast<std::uint64_t>(seed);
    std::vector<std::pair<char*, std::size_t>> maps(16);
    std::vector<std::vector<std::uint64_t>> blocks(512);
    while (true) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t choice = random >> 33;
      blocks[choice % blocks.size()].assign(choice % 4000, random);
      if (choice % 16 != 0) continue;
      auto& [memory, size] = maps[choice / 16 % maps.size()];
      if (memory != nullptr) ::munmap(memory, size);
      size = (1 + choice % 100) * kPageBytes;
      memory = static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      std::memset(memory, static_cast<int>(choice), size / 2);
      ::madvise(memory, size / 4, MADV_DONTNEED);
    }
    return nullptr;
  };
  pthread_t other;
  if (::pthread_create(&other, nullptr, churn, reinterpret_cast<void*>(3)) != 0) ::_exit(1);
  churn(reinterpret_cast<void*>(7));
  ::_exit(0);
}

// Remembers, while the program stands still, what its pages hold.
struct Witness final : SnapshotHost {
  pid_t pid = 0;
  Tape tape;
  std::map<std::uint64_t, PageHash> seen; // by address

  bool attend() override { return true; }
  std::optional<SnapshotCut> cut() override {
    MapNames names;
    MapsText text;
    text.add(read_small_file("/proc/" + std::to_string(pid) + "/maps"), names);
    const UniqueFd pagemap(::open(("/proc/" + std::to_string(pid) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
    std::vector<PageRange> pages;
    for (const PlannedRegion& region : plan_memory(text.take(), names, {})) {
      if (region.treatment != Treatment::Anonymous) continue;
      EXPECT_TRUE(touched_pages(pagemap.get(), region.addresses(), false, pages));
    }
    ProgramMemory(pid).read(pages, [&](std::uint64_t address, std::span<const std::byte> bytes) {
      for (std::size_t at = 0; at < bytes.size(); at += kPageBytes)
        seen[address + at] = page_hash(bytes.subspan(at, kPageBytes));
    });
    return tape.cut();
  }
  void let_go() override { tape.let_go(); }
  void let_end() override {}
  bool write(std::vector<std::byte> payload) override { return tape.write(std::move(payload)); }

  std::optional<PageHash> stored(const std::vector<PageRun>& runs, std::uint64_t address) const {
    const PageRun* const run = run_at(runs, address);
    std::vector<std::byte> page(kPageBytes);
    if (run == nullptr) return std::nullopt;
    if (run->state == PageState::Stored) {
      const auto found = tape.pages.find(run->value + (address - run->begin) / kPageBytes);
      if (found == tape.pages.end()) return std::nullopt;
      page = found->second;
    } else if (run->state == PageState::Fill) {
      for (std::size_t at = 0; at < page.size(); at += 8) std::memcpy(page.data() + at, &run->value, 8);
    } else if (run->state != PageState::Zero) {
      return std::nullopt;
    }
    return page_hash(page);
  }
};

// The kernel writes the number of the processor behind the thread pointer (rseq) when it makes a thread do a call for us.
bool may_be_the_kernels(const MemorySnapshot& snapshot, std::uint64_t page) {
  return std::ranges::any_of(snapshot.threads, [&](const ThreadState& thread) {
    const std::uint64_t pointer = thread[ThreadState::FsBase];
    return page + kPageBytes > pointer && page < pointer + kPageBytes;
  });
}

TEST_P(TakesSnapshots, OfAProgramThatChangesAllTheTimeAsItStoodAtTheMoment) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory changes too";
  Witness witness;
  witness.pid = start_churn();
  while (ProcFiles(witness.pid).sample().value_or(Sample{}).anonymous_bytes < (std::uint64_t{4} << 20)) {
    ASSERT_EQ(::waitpid(witness.pid, nullptr, WNOHANG), 0) << "it has ended";
    ::usleep(1000);
  }
  SnapshotTaker taker(witness.pid, witness);
  std::vector<PageRun> runs;
  for (int round = 0; round < 2; ++round) {
    witness.seen.clear();
    const Result<MemorySnapshot> taken = taker.take({.name = "one", .method = GetParam()});
    if (!taken && taken.error().code == ErrorCode::Denied) GTEST_SKIP() << taken.error().sentence;
    ASSERT_TRUE(taken) << taken.error().sentence;
    runs =
        taken.value().whole ? apply_page_changes({}, taken.value().runs) : apply_page_changes(runs, taken.value().runs);
    ASSERT_GT(witness.seen.size(), 100u);
    std::size_t wrong = 0;
    for (const auto& [address, hash] : witness.seen) {
      const std::optional<PageHash> stored = witness.stored(runs, address);
      const bool same = stored && stored->low == hash.low && stored->high == hash.high;
      // A live one may end with a twin.
      wrong += !same && !(GetParam() != SnapshotMethod::Stop && may_be_the_kernels(taken.value(), address));
    }
    EXPECT_EQ(wrong, 0u) << "of " << witness.seen.size() << " pages, round " << round;
  }
  ::kill(witness.pid, SIGKILL);
  ::waitpid(witness.pid, nullptr, 0);
}

// Sixteen terabytes, as sanitizers and managed languages reserve them.
TEST_P(TakesSnapshots, OfAReservationThatIsHardlyUsedWithoutPageTablesForIt) {
  constexpr std::size_t kReserved = std::size_t{kSanitized ? 64 : 16384} << 30;
  auto* const memory = static_cast<char*>(
      ::mmap(nullptr, kReserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  memory[kReserved / 2] = 'x';
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) ::pause();
  }
  Tape tape;
  SnapshotTaker taker(pid, tape);
  const Result<MemorySnapshot> taken = taker.take({.name = "one", .method = GetParam()});
  const std::string status = read_small_file("/proc/" + std::to_string(pid) + "/status");
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  ::munmap(memory, kReserved);
  if (!taken && taken.error().code == ErrorCode::Denied) GTEST_SKIP() << taken.error().sentence;
  ASSERT_TRUE(taken) << taken.error().sentence;
  const PageRun* const run = run_at(taken.value().runs, reinterpret_cast<std::uint64_t>(memory) + kReserved / 2);
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->state, PageState::Stored);
  // All of it would take 32 GB of page tables.
  const std::size_t at = status.find("VmPTE:");
  ASSERT_NE(at, std::string::npos) << status;
  EXPECT_LT(std::strtoull(status.c_str() + at + 6, nullptr, 10), 64u * 1024) << status;
}

TEST(SnapshotTaker, AFullTapeEndsASnapshotAndNotTheNext) {
  Child child;
  Tape tape;
  SnapshotTaker taker(child.pid(), tape);
  tape.full = true;
  const Result<MemorySnapshot> refused = taker.take({.name = "one", .method = SnapshotMethod::Stop});
  ASSERT_FALSE(refused);
  if (refused.error().code == ErrorCode::Denied) GTEST_SKIP() << refused.error().sentence;
  tape.full = false;
  const Result<MemorySnapshot> taken = taker.take({.name = "two", .method = SnapshotMethod::Stop});
  ASSERT_TRUE(taken) << taken.error().sentence;
  EXPECT_TRUE(taken.value().whole);
  EXPECT_EQ(word_at(tape, taken.value().runs, child.address(1)), 512u * 3 + 1);
}

TEST(SnapshotTaker, AProgramThatHasEndedIsSaidToHaveEnded) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  ::waitpid(pid, nullptr, 0);
  Tape tape;
  SnapshotTaker taker(pid, tape);
  const Result<MemorySnapshot> taken = taker.take({.name = "late"});
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().sentence.find("ended"), std::string::npos) << taken.error().sentence;
}

} // namespace
} // namespace heaptape
