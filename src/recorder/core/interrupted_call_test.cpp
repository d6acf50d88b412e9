#include "recorder/core/interrupted_call.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>

// As libc's wrappers have it: poll (7), close (3), and a call whose number comes from elsewhere. Never run.
asm(".text\n"
    "heaptape_test_poll: movl $7, %eax\n\tsyscall\n"
    "heaptape_test_after_poll: ret\n"
    "heaptape_test_close: movl $3, %eax\n\tsyscall\n"
    "heaptape_test_after_close: ret\n"
    "heaptape_test_other: movq %rdi, %rax\n\tnop\n\tnop\n\tsyscall\n"
    "heaptape_test_after_other: ret\n");
extern "C" {
extern const char heaptape_test_after_poll[], heaptape_test_after_close[], heaptape_test_after_other[];
}

namespace heaptape::recorder {
namespace {

constexpr int kSignal = 32;

ucontext_t returned_to(const char* code, long result) {
  ucontext_t context{};
  context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(code);
  context.uc_mcontext.gregs[REG_RAX] = result;
  return context;
}

bool is_begun_again(ucontext_t context) {
  const greg_t before = context.uc_mcontext.gregs[REG_RIP];
  repeat_interrupted_call(context, kSignal);
  return context.uc_mcontext.gregs[REG_RIP] == before - 2;
}

// What the test's own runtime handles, a sanitizer's or none.
class NoHandlers {
public:
  NoHandlers() {
    for (int signal = 1; signal <= 64; ++signal)
      ::sigaction(signal, nullptr, &before_[signal]), ::signal(signal, SIG_DFL);
  }
  ~NoHandlers() {
    for (int signal = 1; signal <= 64; ++signal) ::sigaction(signal, &before_[signal], nullptr);
  }

private:
  struct sigaction before_[65]{};
};

TEST(InterruptedCall, ThatTheKernelDoesNotRestartIsBegunAgain) {
  const NoHandlers none;
  ucontext_t context = returned_to(heaptape_test_after_poll, -EINTR);
  repeat_interrupted_call(context, kSignal);
  EXPECT_EQ(context.uc_mcontext.gregs[REG_RIP], reinterpret_cast<greg_t>(heaptape_test_after_poll) - 2);
  EXPECT_EQ(context.uc_mcontext.gregs[REG_RAX], SYS_poll);
}

TEST(InterruptedCall, ThatSucceededOrFailedOtherwiseIsLeftAlone) {
  const NoHandlers none;
  EXPECT_FALSE(is_begun_again(returned_to(heaptape_test_after_poll, 1)));
  EXPECT_FALSE(is_begun_again(returned_to(heaptape_test_after_poll, -EINVAL)));
}

TEST(InterruptedCall, ThatMayHaveHadAnEffectIsLeftAlone) {
  const NoHandlers none;
  EXPECT_FALSE(is_begun_again(returned_to(heaptape_test_after_close, -EINTR)));
}

TEST(InterruptedCall, WhoseNumberIsNotKnownIsLeftAlone) {
  const NoHandlers none;
  EXPECT_FALSE(is_begun_again(returned_to(heaptape_test_after_other, -EINTR)));
  EXPECT_FALSE(is_begun_again(returned_to(reinterpret_cast<const char*>(16), -EINTR)));
}

TEST(InterruptedCall, OfAProgramWithHandlersIsLeftAloneForItMayBeMeantForThem) {
  const NoHandlers none;
  ::signal(SIGALRM, [](int) {});
  EXPECT_FALSE(is_begun_again(returned_to(heaptape_test_after_poll, -EINTR)));
  ::signal(SIGALRM, SIG_IGN);
  EXPECT_TRUE(is_begun_again(returned_to(heaptape_test_after_poll, -EINTR)));
}

} // namespace
} // namespace heaptape::recorder
