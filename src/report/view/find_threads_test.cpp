#include "report/view/find_threads.h"

#include <gtest/gtest.h>

namespace heaptape {
namespace {

TEST(FindThreads, TapesNumberComesBeforeTheKernels) {
  std::vector<Thread> threads(3);
  threads[0] = {.id = ThreadId(1), .tid = 2, .name = {}};
  threads[1] = {.id = ThreadId(2), .tid = 700, .name = {}};
  threads[2] = {.id = ThreadId(3), .tid = 700, .name = {}};
  EXPECT_EQ(find_threads(threads, "2").value(), (std::vector{ThreadId(2)}));
  EXPECT_EQ(find_threads(threads, "700").value(), (std::vector{ThreadId(2), ThreadId(3)}))
      << "the kernel reuses its ids";
  EXPECT_EQ(find_threads(threads, "9").error().code, ErrorCode::NotFound);
  EXPECT_EQ(find_threads(threads, "main").error().code, ErrorCode::Usage);
}

} // namespace
} // namespace heaptape
