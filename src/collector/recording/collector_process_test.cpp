// Whole collectors, in processes of their own, for programs that are forked children of the test.
#include "collector/recording/collector_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "collector/recording/fake_program.h"
#include "tape/reader.h"
#include "wire/handshake.h"

namespace heaptape {
namespace {

class CollectorProcessTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "collector.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    options.tape = folder + "/%n.tape";
    options.tape_named = true;
    options.quiet = true;
    options.slot_count = 8;
    options.ring_records = 1024;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  // A child that runs `body` once it is let go.
  pid_t start_program(const std::function<void()>& body) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(ends[1]);
      char go = 0;
      if (::read(ends[0], &go, 1) == 1) body();
      ::_exit(0);
    }
    ::close(ends[0]);
    let_go = UniqueFd(ends[1]);
    return pid;
  }
  void release_program() {
    EXPECT_EQ(::write(let_go.get(), "g", 1), 1);
    let_go.reset();
  }

  static int wait_for(pid_t pid) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return status;
  }

  // Records one block per step, and does what `ending` says.
  static void allocate(const SharedMemory& memory, int blocks, const std::function<void()>& ending) {
    FakeProgram program(SharedMemory::map_existing(UniqueFd(::dup(memory.fd()))).value(), 0);
    FakeThread thread(program, 0, static_cast<std::uint32_t>(::getpid()), program.now());
    for (int i = 0; i < blocks; ++i) {
      while (!thread.has_room()) ::usleep(100);
      thread.malloc(program.now(), 0x10000 + static_cast<std::uint64_t>(i) * 16, 16);
    }
    ending();
  }

  Result<TapeReader> tape() const { return TapeReader::open(folder + "/prog.tape"); }

  std::string folder;
  CollectorOptions options;
  UniqueFd let_go;
};

TEST_F(CollectorProcessTest, RecordsAProgramFromStartToExit) {
  const SharedMemory memory = SharedMemory::create(options).value();
  CollectorProcess collector = CollectorProcess::start(options, memory).value();
  const pid_t program = start_program([&] { allocate(memory, 5000, [] { ::_exit(7); }); });
  EXPECT_EQ(collector.open_tape(program, "prog").value(), folder + "/prog.tape");
  release_program();
  collector.program_ended(wait_for(program));
  EXPECT_EQ(collector.wait(), 0);
  const Result<TapeReader> reader = tape();
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE(reader.value().summary().has_value());
  EXPECT_EQ(reader.value().summary()->events, 5000u);
  EXPECT_EQ(reader.value().summary()->ending, Ending::Exited);
  EXPECT_EQ(reader.value().summary()->ending_detail, 7);
  EXPECT_EQ(reader.value().event_count(), 5000u);
}

TEST_F(CollectorProcessTest, AKilledProgramLeavesAllItPublished) {
  const SharedMemory memory = SharedMemory::create(options).value();
  CollectorProcess collector = CollectorProcess::start(options, memory).value();
  const pid_t program = start_program([&] { allocate(memory, 321, [] { ::raise(SIGKILL); }); });
  ASSERT_TRUE(collector.open_tape(program, "prog").ok());
  release_program();
  collector.program_ended(wait_for(program));
  EXPECT_EQ(collector.wait(), 0);
  EXPECT_EQ(tape().value().summary()->events, 321u);
  EXPECT_EQ(tape().value().summary()->ending, Ending::Killed);
  EXPECT_EQ(tape().value().summary()->ending_detail, SIGKILL);
}

TEST_F(CollectorProcessTest, ATapeThatCannotBeCreatedIsSaidBeforeTheProgramRuns) {
  options.tape = folder + "/nowhere/%n.tape";
  const SharedMemory memory = SharedMemory::create(options).value();
  CollectorProcess collector = CollectorProcess::start(options, memory).value();
  const Result<std::string> opened = collector.open_tape(::getpid(), "prog");
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().sentence.find("nowhere"), std::string::npos);
  EXPECT_EQ(collector.wait(), 1);
}

TEST_F(CollectorProcessTest, AProgramThatNeverAttachesLeavesNoTape) {
  const SharedMemory memory = SharedMemory::create(options).value();
  CollectorProcess collector = CollectorProcess::start(options, memory).value();
  const pid_t program = start_program([] {});
  ASSERT_TRUE(collector.open_tape(program, "prog").ok());
  release_program();
  collector.program_ended(wait_for(program));
  EXPECT_EQ(collector.wait(), 1);
  EXPECT_FALSE(std::filesystem::exists(folder + "/prog.tape"));
}

TEST_F(CollectorProcessTest, ACancelledRecordingLeavesNoTape) {
  const SharedMemory memory = SharedMemory::create(options).value();
  CollectorProcess collector = CollectorProcess::start(options, memory).value();
  ASSERT_TRUE(collector.open_tape(::getpid(), "prog").ok());
  collector.cancel();
  EXPECT_EQ(collector.wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder + "/prog.tape"));
}

TEST_F(CollectorProcessTest, AProgramThatBecomesAnotherEndsItsTape) {
  const SharedMemory memory = SharedMemory::create(options).value();
  CollectorProcess collector = CollectorProcess::start(options, memory).value();
  const pid_t program = start_program([&] {
    allocate(memory, 10, [&] {
      // What was taken from its ring was taken by a collector that has looked at the program.
      while (memory.slot(0).taken.load() != memory.slot(0).reserved.load()) ::usleep(100);
      ::execl("/bin/sleep", "sleep", "60", nullptr);
    });
  });
  ASSERT_TRUE(collector.open_tape(program, "prog").ok());
  release_program();
  EXPECT_EQ(collector.wait(), 0) << "while the new program still runs";
  ::kill(program, SIGKILL);
  wait_for(program);
  EXPECT_EQ(tape().value().summary()->events, 10u);
  EXPECT_EQ(tape().value().summary()->ending, Ending::Replaced);
}

TEST_F(CollectorProcessTest, WithoutItsLauncherTheCollectorStillFinishesTheTape) {
  const SharedMemory memory = SharedMemory::create(options).value();
  pid_t program = 0;
  pid_t pid = 0;
  {
    CollectorProcess collector = CollectorProcess::start(options, memory).value();
    pid = collector.pid();
    program = start_program([&] { allocate(memory, 10, [] {}); });
    ASSERT_TRUE(collector.open_tape(program, "prog").ok());
  } // the link is closed, as if the launcher had been killed
  release_program();
  EXPECT_EQ(wait_for(pid), 0); // before its parent asks, the kernel still knows how the program ended
  wait_for(program);
  EXPECT_EQ(tape().value().summary()->events, 10u);
  EXPECT_EQ(tape().value().summary()->ending, Ending::Exited); // the kernel told it
}

TEST_F(CollectorProcessTest, TheProgramSeesThatItsCollectorWasKilled) {
  const SharedMemory memory = SharedMemory::create(options).value();
  CollectorProcess collector = CollectorProcess::start(options, memory).value();
  ASSERT_TRUE(collector.open_tape(::getpid(), "prog").ok());
  EXPECT_EQ(memory.header().collector_mutex[0].load() & wire::kCollectorDied, 0u);
  EXPECT_NE(memory.header().collector_mutex[0].load(), 0u);
  ::kill(collector.pid(), SIGKILL);
  EXPECT_EQ(collector.wait(), 1);
  EXPECT_NE(memory.header().collector_mutex[0].load() & wire::kCollectorDied, 0u);
}

// ------------------------------------------------------------------------------------------- without a launcher

struct Answer {
  wire::HelloReply reply{};
  UniqueFd memory;
};

wire::Hello hello(std::uint32_t version) {
  wire::Hello message{};
  message.magic = wire::kHelloMagic;
  message.version = version;
  message.pid = static_cast<std::uint32_t>(::getpid());
  return message;
}

Answer ask(int socket, const wire::Hello& hello) {
  EXPECT_EQ(::send(socket, &hello, sizeof hello, 0), static_cast<ssize_t>(sizeof hello));
  Answer answer;
  iovec part{&answer.reply, sizeof answer.reply};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  EXPECT_EQ(::recvmsg(socket, &message, 0), static_cast<ssize_t>(sizeof answer.reply));
  if (const cmsghdr* rights = CMSG_FIRSTHDR(&message); rights != nullptr) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    answer.memory.reset(fd);
  }
  return answer;
}

class CollectForTest : public CollectorProcessTest {
protected:
  void SetUp() override {
    CollectorProcessTest::SetUp();
    options.tape = folder + "/direct.tape";
  }
  // A collector at the other end of `socket_`.
  pid_t start_collector() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(ends[0]);
      ::_exit(collect_for(ends[1], options));
    }
    ::close(ends[1]);
    socket_ = UniqueFd(ends[0]);
    return pid;
  }
  UniqueFd socket_;
};

TEST_F(CollectForTest, TheMemoryComesWithTheReply) {
  const pid_t collector = start_collector();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t program = ::fork();
  if (program == 0) {
    const Answer answer = ask(socket_.get(), hello(wire::kHelloVersion));
    if (answer.reply.status != 0 || !answer.memory) ::_exit(1);
    allocate(SharedMemory::map_existing(UniqueFd(::dup(answer.memory.get()))).value(), 100, [] { ::_exit(0); });
  }
  EXPECT_EQ(wait_for(program), 0);
  EXPECT_EQ(wait_for(collector), 0);
  const Result<TapeReader> reader = TapeReader::open(folder + "/direct.tape");
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader.value().summary()->events, 100u);
  EXPECT_EQ(reader.value().header().pid, static_cast<std::uint32_t>(program));
}

TEST_F(CollectForTest, ATapeThatCannotBeCreatedIsRefusedWithASentence) {
  options.tape = folder + "/nowhere/direct.tape";
  const pid_t collector = start_collector();
  const Answer answer = ask(socket_.get(), hello(wire::kHelloVersion));
  EXPECT_NE(answer.reply.status, 0u);
  EXPECT_NE(std::string(answer.reply.message).find("nowhere"), std::string::npos);
  EXPECT_FALSE(answer.memory);
  EXPECT_EQ(WEXITSTATUS(wait_for(collector)), 1);
}

TEST_F(CollectForTest, AnotherVersionIsRefused) {
  const pid_t collector = start_collector();
  const Answer answer = ask(socket_.get(), hello(wire::kHelloVersion + 1));
  EXPECT_NE(answer.reply.status, 0u);
  EXPECT_NE(std::string(answer.reply.message).find("version"), std::string::npos);
  EXPECT_EQ(WEXITSTATUS(wait_for(collector)), 1);
}

TEST_F(CollectForTest, AProgramGoneBeforeItSpokeLeavesNothing) {
  const pid_t collector = start_collector();
  socket_.reset();
  EXPECT_EQ(WEXITSTATUS(wait_for(collector)), 1);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

} // namespace
} // namespace heaptape
