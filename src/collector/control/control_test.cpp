// A collector's control socket: messages, folder, server and client.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "collector/control/control_client.h"
#include "collector/control/control_folder.h"
#include "collector/control/control_server.h"

namespace heaptape {
namespace {

LiveRecording sample_recording() {
  return {.pid = ::getpid(),
          .collector = 4712,
          .parent = 4710,
          .started_realtime_ns = 1'700'000'000'000'000'000,
          .elapsed_us = 12'500'000,
          .events = 1'234'567,
          .live_bytes = 4096,
          .live_blocks = 3,
          .peak_bytes = 8192,
          .tape_bytes = 777,
          .program = "/usr/bin/server",
          .tape = "/tmp/server.tape",
          .command = std::string("./server\0--port\0", 16)};
}

TEST(ControlMessage, ARequestReadsBackAsItWasSent) {
  const ControlRequest request{ControlAsk::Mark, MarkKind::Snapshot, "loaded, 100 %"};
  EXPECT_EQ(parse_control_request(encode_control(request)), request);
}

TEST(ControlMessage, AReplyReadsBackAsItWasSent) {
  const ControlReply reply{"no", sample_recording()};
  EXPECT_EQ(parse_control_reply(encode_control(reply)), reply);
}

TEST(ControlMessage, WhatIsCutOffOrTooLongIsRefused) {
  std::vector<std::byte> bytes = encode_control(ControlRequest{.ask = ControlAsk::Mark, .name = "here"});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(parse_control_request(std::span(bytes).first(size))) << size;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(parse_control_request(bytes));
}

TEST(ControlMessage, UnknownQuestionsAndMarksAreRefused) {
  std::vector<std::byte> bytes = encode_control(ControlRequest{});
  bytes[5] = std::byte{9};
  EXPECT_FALSE(parse_control_request(bytes));
  bytes = encode_control(ControlRequest{});
  bytes[6] = std::byte{200};
  EXPECT_FALSE(parse_control_request(bytes));
}

class ControlTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "control.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    ::setenv("HEAPTAPE_RUNTIME_DIR", folder.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("HEAPTAPE_RUNTIME_DIR");
    std::filesystem::remove_all(folder);
  }

  UniqueFd connect(const std::string& path) const {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto address = socket_address(path);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address), 0);
    return socket;
  }

  std::string folder;
};

// A collector that does nothing but answer.
class Answering {
public:
  Answering() : server(ControlServer::open(::getpid(), [this] { wakes.fetch_add(1); }).value()) {
    thread = std::thread([this] {
      while (!done) {
        if (server->has_requests()) {
          server->answer([this](const ControlRequest& request) {
            asked.push_back(request);
            if (request.ask == ControlAsk::Stop) done = true;
            return ControlReply{refusal, sample_recording()};
          });
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  ~Answering() { finish(); }
  void finish() {
    done = true;
    if (thread.joinable()) thread.join();
    server.reset();
  }

  std::unique_ptr<ControlServer> server;
  std::vector<ControlRequest> asked; // of the thread, until finish()
  std::string refusal;
  std::atomic<int> wakes{0};
  std::atomic<bool> done{false};
  std::thread thread;
};

TEST_F(ControlTest, ARecordingIsListedAndFoundByItsPid) {
  Answering collector;
  const auto all = live_recordings();
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all.value(), std::vector{sample_recording()});
  EXPECT_EQ(live_recording(::getpid()).value(), sample_recording());
  EXPECT_GE(collector.wakes, 2);
}

TEST_F(ControlTest, AMarkArrivesWithNameAndKind) {
  Answering collector;
  EXPECT_TRUE(mark_now(::getpid(), "loaded", MarkKind::Snapshot).ok());
  EXPECT_TRUE(flush_tape(::getpid()).ok());
  collector.finish();
  ASSERT_EQ(collector.asked.size(), 2u);
  EXPECT_EQ(collector.asked[0], (ControlRequest{ControlAsk::Mark, MarkKind::Snapshot, "loaded"}));
  EXPECT_EQ(collector.asked[1].ask, ControlAsk::Flush);
}

TEST_F(ControlTest, ANameThatIsTooLongIsRefusedBeforeItIsSent) {
  const Result<LiveRecording> marked = mark_now(::getpid(), std::string(241, 'x'), MarkKind::Mark);
  ASSERT_FALSE(marked.ok());
  EXPECT_EQ(marked.error().code, ErrorCode::Usage);
}

TEST_F(ControlTest, ARefusalIsTheUsersSentence) {
  Answering collector;
  collector.refusal = "the tape takes no more";
  const Result<LiveRecording> flushed = flush_tape(::getpid());
  ASSERT_FALSE(flushed.ok());
  EXPECT_NE(flushed.error().sentence.find("the tape takes no more"), std::string::npos);
}

TEST_F(ControlTest, WhoAsksToStopWaitsUntilTheTapeIsFinished) {
  Answering collector;
  std::atomic<bool> returned{false};
  std::thread asker([&] {
    EXPECT_TRUE(stop_recording(::getpid()).ok());
    returned = true;
  });
  collector.thread.join(); // it has answered
  collector.server->close("over");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(returned);
  collector.server.reset();
  asker.join();
  EXPECT_TRUE(returned);
}

TEST_F(ControlTest, AProgramThatIsNotRecordedAndOneThatIsNotThereAreToldApart) {
  const Result<LiveRecording> not_recorded = flush_tape(::getpid());
  ASSERT_FALSE(not_recorded.ok());
  EXPECT_NE(not_recorded.error().sentence.find("is running but not being recorded"), std::string::npos);
  const Result<LiveRecording> not_there = flush_tape(0x7fff'fffe);
  ASSERT_FALSE(not_there.ok());
  EXPECT_NE(not_there.error().sentence.find("there is no process"), std::string::npos);
  EXPECT_FALSE(flush_tape(0).ok());
  EXPECT_FALSE(flush_tape(-1).ok());
}

TEST_F(ControlTest, TheSocketIsGoneWithTheServer) {
  std::string path;
  {
    Answering collector;
    path = collector.server->path();
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(live_recordings().value().empty());
}

TEST_F(ControlTest, ASocketThatACrashedCollectorLeftIsRemoved) {
  const std::string path = folder + "/12.13";
  {
    const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    const auto address = socket_address(path);
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address), 0);
  }
  EXPECT_TRUE(live_recordings().value().empty());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ControlTest, OtherFilesInTheFolderAreLeftAlone) {
  for (const char* name : {"/notes", "/12", "/12.x", "/12.13.14"}) std::ofstream(folder + name) << "mine";
  std::ofstream(folder + "/12.13") << "no socket";
  EXPECT_TRUE(live_recordings().value().empty());
  EXPECT_EQ(control_sockets(0), std::vector{folder + "/12.13"});
  EXPECT_TRUE(std::filesystem::exists(folder + "/12.13"));
}

TEST_F(ControlTest, GarbageIsAnsweredWithARefusalAndNobodyElseNotices) {
  Answering collector;
  for (int i = 0; i < 100; ++i) {
    const UniqueFd socket = connect(collector.server->path());
    const std::string garbage(static_cast<std::size_t>(i * 37 % 5000 + 1), static_cast<char>(i));
    (void)!::send(socket.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
  }
  EXPECT_TRUE(flush_tape(::getpid()).ok());
}

TEST_F(ControlTest, SilentConnectionsAreDroppedForOthers) {
  Answering collector;
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(connect(collector.server->path()));
  EXPECT_TRUE(flush_tape(::getpid()).ok());
}

// A collector that was stopped (SIGSTOP, a debugger): its program was said not to be recorded.
TEST_F(ControlTest, ACollectorThatDoesNotAnswerIsNotTakenForNone) {
  const auto server = ControlServer::open(::getpid(), [] {});
  ASSERT_TRUE(server.ok());
  constexpr int kPatienceMs = 20;
  const Result<LiveRecording> nobody = flush_tape(::getpid(), kPatienceMs);
  ASSERT_FALSE(nobody.ok());
  EXPECT_NE(nobody.error().sentence.find("is being recorded, but its collector does not answer"), std::string::npos)
      << nobody.error().sentence;
  std::size_t silent = 0;
  const auto all = live_recordings(&silent, kPatienceMs);
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(all.value().empty());
  EXPECT_EQ(silent, 1u);
}

TEST_F(ControlTest, AReplyThatNobodyReadsIsDropped) {
  Answering collector;
  for (int i = 0; i < 50; ++i) {
    const UniqueFd socket = connect(collector.server->path());
    const std::vector<std::byte> bytes = encode_control(ControlRequest{});
    ASSERT_GT(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
  }
  EXPECT_TRUE(flush_tape(::getpid()).ok());
}

TEST_F(ControlTest, AFolderThatOthersMayEnterIsRefused) {
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  const auto opened = ControlServer::open(::getpid(), [] {});
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().sentence.find("700"), std::string::npos);
}

TEST_F(ControlTest, WhoFindsNothingInAFolderThatIsNotPrivateIsToldWhy) {
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  const auto all = live_recordings();
  ASSERT_FALSE(all.ok());
  EXPECT_NE(all.error().sentence.find("mode 755"), std::string::npos) << all.error().sentence;
  const auto one = flush_tape(::getpid());
  ASSERT_FALSE(one.ok());
  EXPECT_NE(one.error().sentence.find("mode 755"), std::string::npos) << one.error().sentence;
}

TEST_F(ControlTest, APathThatIsTooLongForASocketIsRefused) {
  const std::string deep = folder + "/" + std::string(120, 'd');
  ::setenv("HEAPTAPE_RUNTIME_DIR", deep.c_str(), 1);
  EXPECT_FALSE(ControlServer::open(::getpid(), [] {}).ok());
  EXPECT_TRUE(live_recordings().value().empty());
}

} // namespace
} // namespace heaptape
