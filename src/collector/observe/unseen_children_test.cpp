#include "collector/observe/unseen_children.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace heaptape {
namespace {

std::unique_ptr<wire::Children> page() { return std::make_unique<wire::Children>(); }

void add(wire::Children& children, std::uint32_t pid, const char* name) {
  wire::ChildEntry& entry = children.entries[children.made.fetch_add(1)];
  entry.pid.store(pid);
  std::memcpy(entry.name, name, ::strnlen(name, sizeof entry.name));
}

TEST(UnseenChildren, ThoseThatBecameOtherProgramsHaveTheirNames) {
  const auto children = page();
  add(*children, 5, "cc1plus");
  add(*children, 6, "as");
  add(*children, 7, "as");
  add(*children, 8, "");
  const UnseenChildren unseen = unseen_children(*children, "g++", false);
  EXPECT_EQ(unseen_children_text(unseen, "g++"),
            std::vector<std::string>{"4 child processes were not recorded (as (2), cc1plus, g++): pass --follow"});
}

TEST(UnseenChildren, ThoseThatAreRecordedOrWereNeverMadeDoNotCount) {
  const auto children = page();
  add(*children, 0, "");
  add(*children, wire::kForking, "");
  EXPECT_TRUE(unseen_children_text(unseen_children(*children, "timeout", true), "timeout").empty());
}

TEST(UnseenChildren, AProcessThatRunsIsNamed) {
  const auto children = page();
  add(*children, static_cast<std::uint32_t>(::getpid()), "nginx");
  const UnseenChildren unseen = unseen_children(*children, "nginx", true);
  EXPECT_EQ(unseen_children_text(unseen, "nginx"),
            std::vector<std::string>{"nginx left a child running (pid " + std::to_string(::getpid()) +
                                     ", nginx) that is not recorded: pass --follow"});
  EXPECT_EQ(unseen_children_meta(unseen).at("left_running"), std::to_string(::getpid()) + " nginx");
}

TEST(UnseenChildren, APageFullOfNonsenseCostsNothing) {
  const auto children = page();
  std::memset(static_cast<void*>(children.get()), 0xff, sizeof *children);
  const UnseenChildren unseen = unseen_children(*children, "app", true);
  EXPECT_LE(unseen.count, 10'000'000u);
  EXPECT_LE(unseen.programs.size(), wire::kNotedChildren);
  EXPECT_TRUE(unseen.running.empty());
}

} // namespace
} // namespace heaptape
