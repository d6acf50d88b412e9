// The collector's side of wire/contents_question.h: the program asks for snapshots of its memory, and a thread of it waits for the answer.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tape/memory_snapshot.h"
#include "wire/layout.h"

namespace heaptape {

// The thread that asked. While it waits it is in the recorder, whose stack and registers are none of the program's: its snapshot is to show it
// as it was when it left the program's own code.
struct AskingThread {
  std::uint64_t question = 0; // counted from 1
  std::uint32_t tid = 0;      // as the program sees it
  std::array<std::uint64_t, wire::kAskerRegisters> registers{};
  std::uint64_t vectors = 0; // where in its memory the vector registers are; 0: they hold nothing
  std::uint32_t signal = 0;  // that it has crashed of; 0: it has not

  // Makes the state of the thread what it was; the others stay as they are. The program must stand still.
  void put_into(std::vector<ThreadState>& threads, pid_t pid) const;
};

class AskedContents {
public:
  // The header must outlive it, and may say anything at any time.
  explicit AskedContents(wire::Header& header) : header_(header) {}

  struct Question {
    std::string name;
    wire::ContentsReason reason = wire::ContentsReason::Call;
    AskingThread thread{};
  };
  // A new question. It is open until it is answered, or the program has a new one.
  std::optional<Question> take();
  // The signal that the program got last, if it got one for which a snapshot is due since the last call.
  std::optional<int> take_signal();
  // The open one is being worked at: the program goes on waiting.
  void beat();
  // With the number of the snapshot; 0: there is none. Nobody waits any more for the answer to an older question.
  void answer(const AskingThread& asker, std::uint64_t number);
  // All that is open, and all to come: there are no more snapshots.
  void refuse();

private:
  wire::Header& header_;
  std::uint64_t questions_ = 0;
  std::uint64_t open_ = 0; // of these; 0: none
  std::uint32_t signals_seen_ = 0;
};

} // namespace heaptape
