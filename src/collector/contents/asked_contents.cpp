#include "collector/contents/asked_contents.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

namespace heaptape {

namespace {

using wire::AskerRegister;
using State = ThreadState;

struct SameRegister {
  AskerRegister asked;
  State::Register known;
};
constexpr SameRegister kSame[] = {
    {AskerRegister::R8, State::R8},   {AskerRegister::R9, State::R9},   {AskerRegister::R10, State::R10},
    {AskerRegister::R11, State::R11}, {AskerRegister::R12, State::R12}, {AskerRegister::R13, State::R13},
    {AskerRegister::R14, State::R14}, {AskerRegister::R15, State::R15}, {AskerRegister::Rdi, State::Rdi},
    {AskerRegister::Rsi, State::Rsi}, {AskerRegister::Rbp, State::Rbp}, {AskerRegister::Rbx, State::Rbx},
    {AskerRegister::Rdx, State::Rdx}, {AskerRegister::Rax, State::Rax}, {AskerRegister::Rcx, State::Rcx},
    {AskerRegister::Rsp, State::Rsp}, {AskerRegister::Rip, State::Rip},
};
static_assert(std::size(kSame) + 1 == wire::kAskerRegisters); // and the flags

// What the kernel put on the stack when the signal came has the form of NT_X86_XSTATE, but for these bytes.
constexpr std::size_t kSoftwareBytes = 464, kSoftwareEnd = 512;

// The bytes that the kernel says it has saved there, as many as we know of.
void read_vectors(pid_t pid, std::uint64_t address, std::vector<std::byte>& extended) {
  if (extended.size() < kSoftwareEnd) return;
  std::vector<std::byte> saved(extended.size());
  const iovec here{saved.data(), saved.size()};
  const iovec there{reinterpret_cast<void*>(address), saved.size()};
  const ssize_t size = ::process_vm_readv(pid, &here, 1, &there, 1, 0);
  if (size < static_cast<ssize_t>(kSoftwareEnd)) return;
  std::uint32_t magic = 0, bytes = 0;
  std::memcpy(&magic, saved.data() + kSoftwareBytes, sizeof magic);
  std::memcpy(&bytes, saved.data() + kSoftwareBytes + 16, sizeof bytes);
  constexpr std::uint32_t kExtended = 0x46505853; // FP_XSTATE_MAGIC1; else x87 and SSE only
  const std::size_t count =
      std::min<std::size_t>(static_cast<std::size_t>(size), magic == kExtended ? bytes : kSoftwareEnd);
  std::copy_n(extended.begin() + kSoftwareBytes, kSoftwareEnd - kSoftwareBytes, saved.begin() + kSoftwareBytes);
  std::fill(saved.begin() + static_cast<std::ptrdiff_t>(std::max(count, kSoftwareEnd)), saved.end(), std::byte{0});
  extended = std::move(saved);
}

} // namespace

void AskingThread::put_into(std::vector<ThreadState>& threads, pid_t pid) const {
  const auto asker = std::find_if(threads.begin(), threads.end(),
                                  [&](const ThreadState& thread) { return thread.stopped && thread.tid == tid; });
  if (asker == threads.end()) return;
  for (const SameRegister& same : kSame) asker->registers[same.known] = registers[static_cast<std::size_t>(same.asked)];
  asker->registers[State::OrigRax] = ~std::uint64_t{0}; // it is in no system call
  if (signal != 0) asker->signal = signal;
  if (vectors != 0)
    read_vectors(pid, vectors, asker->extended);
  else
    asker->extended.clear();
}

std::optional<AskedContents::Question> AskedContents::take() {
  wire::ContentsQuestion& asked = header_.contents;
  auto state = static_cast<std::uint32_t>(wire::Question::Asked);
  if (asked.state.load(std::memory_order_acquire) != state) return std::nullopt; // pairs with the recorder's asking
  Question question;
  question.name.assign(asked.name, ::strnlen(asked.name, sizeof asked.name));
  question.reason = static_cast<wire::ContentsReason>(asked.reason.load(std::memory_order_relaxed));
  question.thread.tid = asked.asker.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < wire::kAskerRegisters; ++i)
    question.thread.registers[i] = asked.registers[i].load(std::memory_order_relaxed);
  question.thread.vectors = asked.vectors.load(std::memory_order_relaxed);
  if (question.reason == wire::ContentsReason::Crash)
    question.thread.signal = asked.signal.load(std::memory_order_relaxed);
  if (!asked.state.compare_exchange_strong(state, static_cast<std::uint32_t>(wire::Question::Taken)))
    return std::nullopt;
  question.thread.question = open_ = ++questions_;
  return question;
}

std::optional<int> AskedContents::take_signal() {
  const std::uint32_t signals = header_.contents.signals.load(std::memory_order_acquire);
  if (signals == signals_seen_) return std::nullopt;
  signals_seen_ = signals;
  return static_cast<int>(header_.contents.last_signal.load(std::memory_order_relaxed));
}

void AskedContents::beat() {
  if (open_ != 0) header_.contents.beat.fetch_add(1, std::memory_order_relaxed);
}

void AskedContents::answer(const AskingThread& asker, std::uint64_t number) {
  if (asker.question != open_ || open_ == 0) return;
  open_ = 0;
  wire::ContentsQuestion& asked = header_.contents;
  asked.number.store(number, std::memory_order_relaxed);
  auto taken = static_cast<std::uint32_t>(wire::Question::Taken);
  if (asked.state.compare_exchange_strong(taken, static_cast<std::uint32_t>(wire::Question::Answered),
                                          std::memory_order_release))
    ::syscall(SYS_futex, &asked.state, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void AskedContents::refuse() {
  answer({.question = open_}, 0);
  if (const std::optional<Question> question = take()) answer(question->thread, 0);
}

} // namespace heaptape
