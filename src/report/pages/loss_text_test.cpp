#include "report/pages/loss_text.h"

#include <gtest/gtest.h>

#include "wire/loss_name.h"

namespace heaptape {
namespace {

TEST(LossText, EveryLossThereIsHasASentence) {
  std::vector<std::string> names{wire::kLossUnfinished, wire::kLossDamaged, wire::kLossStuck, wire::kLossNotWritten,
                                 wire::kLossUnknown};
  for (std::size_t i = 0; i < static_cast<std::size_t>(wire::Loss::Count); ++i) {
    names.emplace_back(wire::loss_name(static_cast<wire::Loss>(i)));
  }
  for (const std::string& name : names) {
    EXPECT_EQ(loss_sentence(name, 1).find("does not know"), std::string::npos) << name;
  }
}

TEST(LossText, CountComesFirst) {
  EXPECT_EQ(loss_sentence("ring full", 1'204),
            "1,204 events dropped because the program outran the recording (--on-full=drop)");
  EXPECT_EQ(loss_sentence("from the future", 3), "3 (a loss that this version of heaptape does not know)");
}

} // namespace
} // namespace heaptape
