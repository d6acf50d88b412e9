// Programs that do what makes a copy of their memory hard. Each must go on as if nothing had been.
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <thread>

#include "collector/contents/forked_child_for_test.h"
#include "collector/contents/snapshot_desk.h"
#include "collector/contents/snapshot_tape_for_test.h"

namespace heaptape {
namespace {

using Voice = ForkedChild::Voice;

constexpr std::size_t kMiB = std::size_t{1} << 20;

#define TAKE_OR_SKIP(name, taker, ...)                                                                                 \
  const Result<MemorySnapshot> name = (taker).take(__VA_ARGS__);                                                       \
  if (!name && name.error().code == ErrorCode::Denied) GTEST_SKIP() << name.error().sentence;                          \
  ASSERT_TRUE(name) << name.error().sentence

char* map_memory(std::size_t bytes, int protection = PROT_READ | PROT_WRITE, int flags = MAP_PRIVATE | MAP_ANONYMOUS) {
  void* const memory = ::mmap(nullptr, bytes, protection, flags, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return static_cast<char*>(memory);
}

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

void echo(Voice voice) {
  while (true) voice.say(voice.listen());
}

PageState state_at(const MemorySnapshot& snapshot, const void* pointer) {
  const PageRun* const run = run_at(snapshot.runs, address_of(pointer));
  return run == nullptr ? PageState::None : run->state;
}

// Files that the process has open, each by its number.
std::set<std::string> open_files(pid_t pid) {
  std::set<std::string> files;
  DIR* const folder = ::opendir(("/proc/" + std::to_string(pid) + "/fd").c_str());
  while (const dirent* entry = folder == nullptr ? nullptr : ::readdir(folder)) files.insert(entry->d_name);
  if (folder != nullptr) ::closedir(folder);
  return files;
}

// Calls something while the program still runs, or in its stop.
struct Meanwhile final : SnapshotHost {
  Tape tape;
  std::function<void()> before = [] {}, in_the_stop = [] {};
  std::vector<SnapshotCut> cuts{}; // given first

  bool attend() override {
    before();
    return tape.attend();
  }
  std::optional<SnapshotCut> cut() override {
    in_the_stop();
    std::optional<SnapshotCut> cut = tape.cut();
    if (cuts.empty()) return cut;
    cut->moving = cuts.front().moving;
    cuts.erase(cuts.begin());
    return cut;
  }
  void let_go() override { tape.let_go(); }
  void let_end() override {}
  bool write(std::vector<std::byte> payload) override { return tape.write(std::move(payload)); }
};

class HardCase : public testing::TestWithParam<SnapshotMethod> {};
INSTANTIATE_TEST_SUITE_P(Methods, HardCase, testing::ValuesIn(methods()));

TEST_P(HardCase, TwoHundredThreadsAllGoOn) {
  constexpr std::size_t kThreads = 200;
  auto* const rounds = reinterpret_cast<std::atomic<std::uint32_t>*>(
      map_memory(kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS));
  const ForkedChild child([&](Voice voice) {
    for (std::size_t i = 0; i < kThreads; ++i)
      std::thread([&, i] {
        while (true) {
          ++rounds[i];
          ::usleep(5000);
        }
      }).detach();
    echo(voice);
  });
  EXPECT_EQ(child.ask(1), 1);
  Tape tape;
  SnapshotTaker taker(child.pid(), tape);
  TAKE_OR_SKIP(taken, taker, {.name = "one", .method = GetParam()});
  EXPECT_GE(taken.value().threads.size(), kThreads + 1);
  std::vector<std::uint32_t> before(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) before[i] = rounds[i];
  for (std::size_t i = 0; i < kThreads; ++i)
    for (int tries = 0; rounds[i] == before[i]; ++tries) {
      ASSERT_LT(tries, 20'000) << "thread " << i << " stands still";
      ::usleep(500);
    }
  EXPECT_EQ(child.ask(2), 2);
  ::munmap(rounds, kPageBytes);
}

TEST_P(HardCase, ThreadsThatAreMadeAndEndAllTheTime) {
  const ForkedChild child([](Voice voice) {
    std::int64_t made = 0, ended = 0;
    voice.say(0);
    pollfd asked{voice.in, POLLIN, 0};
    while (::poll(&asked, 1, 0) == 0) {
      std::vector<std::thread> threads;
      std::atomic<std::int64_t> ran = 0;
      for (int i = 0; i < 32; ++i, ++made) threads.emplace_back([&] { ++ran; });
      for (std::thread& thread : threads) thread.join();
      ended += ran;
    }
    voice.say(made - ended);
    echo(voice);
  });
  EXPECT_EQ(child.hear(), 0);
  Tape tape;
  SnapshotTaker taker(child.pid(), tape);
  for (int i = 0; i < 4; ++i) {
    TAKE_OR_SKIP(taken, taker, {.name = "one", .method = GetParam()});
  }
  EXPECT_EQ(child.ask(1), 0) << "threads are missing";
}

TEST_P(HardCase, AFilterThatKillsForAnyUnknownCall) {
  const ForkedChild child([](Voice voice) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const auto allow_if = [](std::uint32_t call) -> sock_filter {
      return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
    };
    const sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
                          allow_if(SYS_read),
                          allow,
                          allow_if(SYS_write),
                          allow,
                          allow_if(SYS_exit_group),
                          allow,
                          allow_if(SYS_restart_syscall),
                          allow,
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) ::_exit(1);
    echo(voice);
  });
  EXPECT_EQ(child.ask(1), 1);
  Tape tape;
  SnapshotTaker taker(child.pid(), tape);
  TAKE_OR_SKIP(taken, taker, {.name = "one", .method = GetParam()});
  EXPECT_EQ(taken.value().method, SnapshotMethod::Stop);
  EXPECT_EQ(child.ask(2), 2);
}

TEST_P(HardCase, AProgramThatExecutesAnotherInTheMiddleIsSaidToHaveEnded) {
  const ForkedChild child([](Voice voice) {
    (void)voice.listen();
    ::execlp("sleep", "sleep", "1000", nullptr);
  });
  Meanwhile host;
  const std::string command = "/proc/" + std::to_string(child.pid()) + "/comm";
  host.before = [&] {
    child.tell(1);
    while (!read_small_file(command).starts_with("sleep")) ::usleep(500);
  };
  SnapshotTaker taker(child.pid(), host);
  const Result<MemorySnapshot> taken = taker.take({.name = "one", .method = GetParam()});
  ASSERT_FALSE(taken);
  if (taken.error().code == ErrorCode::Denied) GTEST_SKIP() << taken.error().sentence;
  EXPECT_NE(taken.error().sentence.find("ended"), std::string::npos) << taken.error().sentence;
  EXPECT_EQ(::kill(child.pid(), 0), 0);
}

TEST_P(HardCase, AProgramThatEndsInTheMiddleIsSaidToHaveEnded) {
  for (const bool in_the_stop : {false, true}) {
    const ForkedChild child([](Voice voice) { echo(voice); });
    EXPECT_EQ(child.ask(1), 1);
    Meanwhile host;
    (in_the_stop ? host.in_the_stop : host.before) = [&] {
      ::kill(child.pid(), SIGKILL);
      siginfo_t ended;
      ::waitid(P_PID, static_cast<id_t>(child.pid()), &ended, WEXITED | WNOWAIT);
    };
    SnapshotTaker taker(child.pid(), host);
    const Result<MemorySnapshot> taken = taker.take({.name = "one", .method = GetParam()});
    ASSERT_FALSE(taken);
    if (taken.error().code == ErrorCode::Denied) GTEST_SKIP() << taken.error().sentence;
    EXPECT_NE(taken.error().sentence.find("ended"), std::string::npos) << taken.error().sentence;
  }
}

TEST_P(HardCase, NoFileStaysOpenInTheProgramAndItMayCloseAll) {
  char* const memory = map_memory(4 * kPageBytes);
  const ForkedChild child([&](Voice voice) {
    ::memset(memory, 1, 4 * kPageBytes);
    voice.say(0);
    for (std::int64_t word = voice.listen();; word = voice.listen()) {
      for (int fd = 3; fd < 100; ++fd)
        if (fd != voice.in && fd != voice.out) ::close(fd);
      memory[0] = static_cast<char>(word);
      voice.say(::fork() == 0 ? (::_exit(0), 0) : ::waitpid(-1, nullptr, 0) > 0 ? 1 : 0);
    }
  });
  EXPECT_EQ(child.hear(), 0);
  const std::set<std::string> before = open_files(child.pid());
  Tape tape;
  SnapshotTaker taker(child.pid(), tape);
  std::vector<PageRun> runs;
  for (int round = 2; round < 5; ++round) {
    TAKE_OR_SKIP(taken, taker, {.name = "one", .method = GetParam()});
    if (round == 2) {
      EXPECT_EQ(open_files(child.pid()), before);
    }
    runs = apply_page_changes(taken.value().whole ? std::vector<PageRun>() : runs, taken.value().runs);
    const std::uint64_t wanted = 0x0101010101010100 + static_cast<std::uint64_t>(round == 2 ? 1 : round - 1);
    const PageRun* const run = run_at(runs, address_of(memory));
    ASSERT_NE(run, nullptr);
    EXPECT_EQ(run->state == PageState::Fill ? run->value : word_at(tape, runs, address_of(memory)), wanted);
    EXPECT_EQ(child.ask(round), 1) << "its children";
  }
  ::munmap(memory, 4 * kPageBytes);
}

TEST_P(HardCase, MemoryThatMayNotBeReadIsNamedAsSuchAndNeverAsZeros) {
  char* const forbidden = map_memory(kPageBytes, PROT_NONE);
  char* const guarded = map_memory(4 * kPageBytes);
  ::memset(guarded, 1, 4 * kPageBytes);
  char* const shared = map_memory(80 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
  char* const little = map_memory(kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
  ::memset(shared, 1, 80 * kMiB);
  std::strcpy(little, "shared");
  const int secret_file = static_cast<int>(::syscall(SYS_memfd_secret, 0));
  char* secret = nullptr;
  if (secret_file >= 0 && ::ftruncate(secret_file, kPageBytes) == 0) {
    secret = static_cast<char*>(::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, secret_file, 0));
    if (secret == MAP_FAILED) secret = nullptr;
    if (secret != nullptr) secret[0] = 1;
  }
  constexpr int kGuard = 102; // MADV_GUARD_INSTALL of Linux 6.13
  auto* const has_guards =
      reinterpret_cast<std::atomic<int>*>(map_memory(kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS));
  const ForkedChild child([&](Voice voice) {
    *has_guards = ::madvise(guarded + kPageBytes, kPageBytes, kGuard) == 0;
    guarded[0] = 2;
    little[0] = 'S'; // pages of others are not its own
    echo(voice);
  });
  EXPECT_EQ(child.ask(1), 1);
  Tape tape;
  SnapshotTaker taker(child.pid(), tape);
  TAKE_OR_SKIP(taken, taker, {.name = "one", .method = GetParam()});
  EXPECT_EQ(state_at(taken.value(), forbidden), PageState::Refused);
  EXPECT_EQ(state_at(taken.value(), shared), PageState::Shared);
  EXPECT_EQ(state_at(taken.value(), little), PageState::Stored);
  EXPECT_EQ(state_at(taken.value(), guarded), PageState::Stored);
  if (*has_guards != 0) {
    EXPECT_NE(state_at(taken.value(), guarded + kPageBytes), PageState::Stored);
  }
  if (secret != nullptr) {
    EXPECT_NE(state_at(taken.value(), secret), PageState::Stored);
    EXPECT_NE(state_at(taken.value(), secret), PageState::Zero);
    ::munmap(secret, kPageBytes);
  }
  EXPECT_EQ(child.ask(2), 2);
  if (secret_file >= 0) ::close(secret_file);
  ::munmap(shared, 80 * kMiB);
}

TEST_P(HardCase, AProgramThatHasJustForkedAndOneThatSharesItsMemory) {
  char* const memory = map_memory(kMiB);
  const ForkedChild child([&](Voice voice) {
    ::memset(memory, 1, kMiB);
    const auto wait_for_end = [](void*) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (true) ::pause();
      return 0;
    };
    if (::fork() == 0) wait_for_end(nullptr);
    memory[0] = 2;
    static char stack[65536];
    const pid_t sharing = ::clone(wait_for_end, stack + sizeof stack, CLONE_VM | SIGCHLD, nullptr);
    voice.say(sharing > 0 ? 1 : 0);
    echo(voice);
  });
  EXPECT_EQ(child.hear(), 1);
  Tape tape;
  SnapshotTaker taker(child.pid(), tape);
  TAKE_OR_SKIP(taken, taker, {.name = "one", .method = GetParam()});
  EXPECT_EQ(word_at(tape, taken.value().runs, address_of(memory)), 0x0101010101010102u);
  EXPECT_EQ(child.ask(2), 2);
  ::munmap(memory, kMiB);
}

TEST_P(HardCase, AThreadInTheMiddleOfAReallocRunsOnUntilItIsThrough) {
  const ForkedChild child([](Voice voice) { echo(voice); });
  EXPECT_EQ(child.ask(1), 1);
  for (const std::size_t cuts : {std::size_t{1}, std::size_t{100'000}}) {
    Meanwhile host;
    host.cuts.assign(cuts, {.event = 5, .time_us = 6, .moving = {{.thread = child.pid(), .block = 0x1230}}});
    SnapshotTaker taker(child.pid(), host);
    TAKE_OR_SKIP(taken, taker, {.name = "one", .method = GetParam()});
    if (cuts == 1) {
      EXPECT_EQ(host.tape.cuts, 2);
      EXPECT_TRUE(taken.value().in_flight.empty());
    } else {
      EXPECT_EQ(taken.value().in_flight, std::vector<std::uint64_t>{0x1230}) << "it takes too long";
    }
    EXPECT_EQ(child.ask(2), 2);
  }
}

TEST(HardCases, HugePagesStayHuge) {
  constexpr std::size_t kHuge = 2 * kMiB;
  char* const memory = map_memory(5 * kHuge);
  char* const first = memory + (kHuge - address_of(memory) % kHuge);
  const auto huge_kb = [](pid_t pid) {
    const std::string text = read_small_file("/proc/" + std::to_string(pid) + "/smaps_rollup");
    const std::size_t at = text.find("AnonHugePages:");
    return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + 14, nullptr, 10);
  };
  const ForkedChild child([&](Voice voice) {
    ::madvise(first, 4 * kHuge, MADV_HUGEPAGE);
    ::memset(first, 1, 4 * kHuge);
    for (std::size_t at = 0; at < 4 * kHuge; at += kPageBytes) first[at] = static_cast<char>(at / kPageBytes);
    echo(voice);
  });
  EXPECT_EQ(child.ask(1), 1);
  const auto before = huge_kb(child.pid());
  if (before == 0 || kSanitized) GTEST_SKIP() << "there are none";
  Tape tape;
  SnapshotTaker taker(child.pid(), tape);
  for (int round = 0; round < 2; ++round) {
    TAKE_OR_SKIP(taken, taker, {.name = "one", .method = SnapshotMethod::Live});
    EXPECT_EQ(huge_kb(child.pid()), before);
  }
  EXPECT_EQ(child.ask(2), 2);
  ::munmap(memory, 5 * kHuge);
}

// What the recording does, without one.
struct Recorder final : SnapshotWork {
  std::uint64_t written = 0;
  bool has_room = true;
  void drain_a_little() override {}
  SnapshotCut cut() override { return {.event = 1, .time_us = 2}; }
  void is_copied(const SnapshotTaker::Request&, std::uint64_t) override {}
  void moment_is_over(const std::string&, const std::optional<SnapshotCut>&) override {}
  bool write_pages(std::vector<std::byte> payload) override {
    written += payload.size();
    return has_room;
  }
};

// Once the taker waited for the recording to write pages, which waited for the program to go on.
TEST(HardCases, MoreMemoryThanIsKeptInTheStopIsWrittenMeanwhile) {
  constexpr std::size_t kBytes = 40 * kMiB;
  auto* const memory = reinterpret_cast<std::uint64_t*>(map_memory(kBytes));
  std::mt19937_64 random(1); // so that it cannot be packed
  for (std::size_t i = 0; i < kBytes / 8; ++i) memory[i] = random();
  const ForkedChild child([&](Voice voice) { echo(voice); });
  EXPECT_EQ(child.ask(1), 1);
  const wire::Header header{};
  for (const bool has_room : {true, false}) {
    Recorder recorder;
    recorder.has_room = has_room;
    SnapshotDesk desk(
        child.pid(), [] {}, header);
    ASSERT_TRUE(desk.ask({.name = "one", .method = SnapshotMethod::Stop, .most_copied = kMiB}));
    std::optional<SnapshotDesk::Ended> ended;
    while (!(ended = desk.take_ended())) {
      desk.serve(recorder);
      ::usleep(100);
    }
    if (!ended->snapshot && ended->snapshot.error().code == ErrorCode::Denied)
      GTEST_SKIP() << ended->snapshot.error().sentence;
    EXPECT_EQ(static_cast<bool>(ended->snapshot), has_room);
    EXPECT_GT(recorder.written, has_room ? kBytes : 0);
    EXPECT_EQ(child.ask(2), 2);
  }
  ::munmap(memory, kBytes);
}

} // namespace
} // namespace heaptape
